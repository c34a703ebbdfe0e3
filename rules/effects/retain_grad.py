"""CL508: `retain_grad()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Safety, Sighting
from ..base.reading import shown


class RetainGrad(Rule):
    """`retain_grad()` in code that is captured.

    ## What it does
    Flags `h.retain_grad()` on any tensor.

    ## Why it matters
    It asks autograd to keep the gradient of an intermediate. Inside a compiled graph that
    intermediate may not exist as a tensor at all (it may be fused away), so Dynamo refuses, and
    the graph ends.

    ## Example
    Keeping the gradient of an attention map to look at it later.

    ## Fix
    Return the tensor from the region and call `retain_grad()` on what was returned, or use
    `register_hook`, which is traced for hooks without side effects.

    ## When it is safe
    In debugging code that isn't compiled; guard it with `if not torch.compiler.is_compiling()`.
    """

    code = "CL508"
    name = "retain-grad"
    summary = "`retain_grad()` inside the region"
    nodes = (ast.Call,)
    callees = ("torch.Tensor.retain_grad",)
    graph_breaks = ("GB0108",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    h = x * 2
    h.retain_grad()  # error: CL508
    return h.sin()
""",
            good="""
import torch

def f(x: torch.Tensor):
    h = x * 2
    if not torch.compiler.is_compiling():
        h.retain_grad()
    return h.sin()
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the call on a tensor."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.name == "torch.Tensor.retain_grad":
            what = f"`{shown(node)}` keeps the gradient of a tensor inside the graph"
            yield Sighting(node, what, callee.receiver)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the guard that keeps the gradient only in eager runs."""
        from ..rewrites.guards import guarded

        yield from guarded(sighting.node, ctx, code, "`retain_grad`", Safety.NEEDS_PROOF)
