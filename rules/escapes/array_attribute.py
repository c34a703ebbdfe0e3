"""CL404: attributes of NumPy arrays that Dynamo doesn't trace."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Array, Context, Example, Rule, Sighting, options
from .data import shown


class ArrayAttribute(Rule):
    """An attribute or method of a NumPy array that Dynamo can't trace.

    ## What it does
    Flags `array.dtype`, `.flags`, `.base`, `.tobytes()`, `.tofile()`, `.partition()` and others of
    arrays that are made inside the compiled region, such as `x.numpy()`.

    ## Why it matters
    Dynamo traces NumPy arrays as tensors that behave like arrays. What a tensor has no answer for
    breaks the graph, in every mode.

    ## Example
    See the bad and good modules below.

    ## Fix
    Use the tensor: `x.dtype`, `x.is_contiguous()`. Serialise outside of the compiled function.

    ## When it is safe
    In code that runs before or after the compiled region.
    """

    code = "CL404"
    name = "array-attribute"
    summary = "an attribute of a NumPy array that isn't traced"
    nodes = (ast.Attribute,)
    graph_breaks = ("GB0157", "GB0158", "GB4315")
    examples = (
        Example(
            bad='''
import numpy as np
import torch

def f(x: torch.Tensor):
    a = x.numpy()
    if a.dtype == np.float32:  # error: CL404
        return x + 1
    return x
''',
            good='''
import torch

def f(x: torch.Tensor):
    if x.dtype == torch.float32:
        return x + 1
    return x
''',
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when measured tables say that the array's attribute breaks."""
        assert isinstance(node, ast.Attribute)
        if node.attr == "tolist":  # a rule of its own
            return
        for option in options(ctx.fact(node.value)):
            if isinstance(option, Array) and not option.constant:
                verdict = ctx.torch.ndarray(node.attr)
                if verdict is not None and verdict != "ok":
                    text = f"`{shown(node)}`: Dynamo can't trace `{node.attr}` of a NumPy array"
                    yield Sighting(node, text, option, graph_breaks=(verdict,))
