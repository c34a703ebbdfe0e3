"""CL422: resize_, set_."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Rule, Sighting
from ..base.reading import shown
from .data import METHOD, certainty, held

_NAMES = frozenset({"resize_", "resize_as_", "set_", "sparse_resize_", "sparse_resize_and_clear_"})


class ResizeInPlace(Rule):
    """`resize_`, `resize_as_` and `set_` change a tensor's memory in place.

    ## What it does
    Flags these methods on a tensor.

    ## Why it matters
    A captured tensor keeps its storage and shape: Dynamo refuses to trace them, in every mode.

    ## Example
    See the bad and good modules below.

    ## Fix
    Make a new tensor: `x.new_empty(shape)`, `x[:n]`, `torch.nn.functional.pad`. To give a
    parameter other contents, `copy_` into it.

    ## When it is safe
    Outside of the compiled region.
    """

    code = "CL422"
    name = "resize-in-place"
    summary = "`resize_`, `resize_as_` or `set_` on a tensor"
    nodes = (ast.Call,)
    callees = tuple(METHOD + name for name in sorted(_NAMES))
    graph_breaks = ("GB0148", "GB0126")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    y = x.clone()
    y.resize_(2, 2)  # error: CL422
    return y + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x.clone().flatten()[:4].view(2, 2) + 1
""",
            inputs="[(torch.randn(3, 4),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call on a tensor."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.receiver is None or not callee.name.startswith(METHOD):
            return
        if callee.name[len(METHOD) :] in _NAMES:
            text = f"`{shown(node)}` changes a tensor's memory, which isn't traced"
            fact = held(callee.receiver) or callee.receiver
            yield Sighting(node, text, fact, certainty=certainty(callee))
