"""CL404: apply_, map_."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Rule, Sighting
from ..base.reading import shown
from .data import METHOD, certainty, held

_NAMES = frozenset({"apply_", "map_", "map2_"})


class ElementFunction(Rule):
    """`apply_` and `map_` call a Python function for every element.

    ## What it does
    Flags these tensor methods.

    ## Why it matters
    Every element is read into Python and written back: the graph breaks in every mode, and the
    methods work on the CPU only.

    ## Example
    See the bad and good modules below.

    ## Fix
    Write the function with tensor operations, which also run on a GPU.

    ## When it is safe
    Outside of compiled code, on small CPU tensors.
    """

    code = "CL404"
    name = "element-function"
    summary = "`apply_` or `map_` on a tensor"
    nodes = (ast.Call,)
    callees = tuple(METHOD + name for name in sorted(_NAMES))
    graph_breaks = ("GB0055",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return x.apply_(lambda v: v * 2 if v > 0 else v)  # error: CL404
""",
            good="""
import torch

def f(x: torch.Tensor):
    return torch.where(x > 0, x * 2, x)
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call on a tensor."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.receiver is None or not callee.name.startswith(METHOD):
            return
        if callee.name[len(METHOD) :] in _NAMES:
            text = f"`{shown(node)}` calls Python for every element"
            fact = held(callee.receiver) or callee.receiver
            yield Sighting(node, text, fact, certainty=certainty(callee))
