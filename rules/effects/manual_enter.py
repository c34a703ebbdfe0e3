"""CL516: `__enter__` and `__exit__` called by hand."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from ..base.reading import shown

_CLASSES = ("torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.set_grad_enabled")


class ManualEnter(Rule):
    """A grad mode of torch is entered by calling `__enter__` rather than with `with`.

    ## What it does
    Flags `guard.__enter__()` and `guard.__exit__(...)` on `torch.no_grad()` and its like.

    ## Why it matters
    Dynamo models these as blocks, entered by a `with` statement, so that it can undo them when a
    graph ends in the middle. The bare method calls aren't modelled: each one is a graph break.

    ## Example
    `ctx = torch.no_grad(); ctx.__enter__()` under a flag, with the `__exit__` further down.

    ## Fix
    Use a `with` statement; for a condition, `with torch.no_grad() if flag else nullcontext():` or
    `with torch.set_grad_enabled(not flag):`.

    ## When it is safe
    On your own classes made inside the region the two methods are traced as any other.
    """

    code = "CL516"
    name = "manual-enter"
    summary = "`__enter__` or `__exit__` of a grad mode called by hand"
    nodes = (ast.Call,)
    callees = _CLASSES
    graph_breaks = ("GB0156", "GB0008")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    guard = torch.no_grad()
    guard.__enter__()  # error: CL516
    y = x + 1
    guard.__exit__(None, None, None)  # error: CL516
    return y
""",
            good="""
import torch

def f(x):
    with torch.no_grad():
        y = x + 1
    return y
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a method call that enters or leaves a grad mode."""
        assert isinstance(node, ast.Call)
        owner, _, method = ctx.callee(node).name.rpartition(".")
        if method in ("__enter__", "__exit__") and owner in _CLASSES:
            yield Sighting(node, f"`{shown(node)}` changes the grad mode outside a `with`")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the `with` statement."""
        from ..rewrites.managers import entered

        assert isinstance(sighting.node, ast.Call)
        yield from entered(sighting.node, ctx, code)
