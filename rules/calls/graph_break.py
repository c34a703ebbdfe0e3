"""CL317: an explicit graph break."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from .seen import call_seen, shown


class GraphBreak(Rule):
    """`torch._dynamo.graph_break()` in the code.

    ## What it does
    Flags calls of `torch._dynamo.graph_break`.

    ## Why it matters
    It is a break on purpose, for debugging or as a remedy for something that has since been fixed.
    Under `fullgraph=True` it raises.

    ## Example
    See the bad and good modules below.

    ## Fix
    Remove it; if the break is wanted, `torch.compiler.disable` on the function that must not be
    captured says why.

    ## When it is safe
    When you want two graphs, for instance to keep compile times of a long function down.
    """

    code = "CL317"
    name = "explicit-graph-break"
    summary = "torch._dynamo.graph_break() is called"
    nodes = (ast.Call,)
    callees = ("torch._dynamo.graph_break", "torch._dynamo.decorators.graph_break")
    graph_breaks = ("GB0025",)
    examples = (
        Example(
            bad="""
import torch

def f(x):
    y = x.relu()
    torch._dynamo.graph_break()  # error: CL317
    return y + 1
""",
            good="""
import torch

def f(x):
    y = x.relu()
    return y + 1
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call of graph_break."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.name in ("torch._dynamo.graph_break", "torch._dynamo.decorators.graph_break"):
            yield call_seen(node, callee, f"`{shown(node)}` asks for a graph break", "GB0025")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the code without the break."""
        from ..rewrites.autograd import removed

        yield from removed(sighting.node, ctx, code, "break the graph nowhere on purpose")
