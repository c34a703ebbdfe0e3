"""CL110: `if t: raise`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import BOTH, Code, Context, Example, Fix, Rule, Sighting
from ..base.reading import shown
from ..torch_facts import TorchFacts
from .conditions import first, holding_if, raises, reads


class TensorRaise(Rule):
    """Validation that raises when a tensor's value is bad.

    ## What it does
    Flags `if t: raise …` (and `else: raise …`) whose condition reads a tensor or a value taken
    out of one.

    ## Why it matters
    The check is a branch like any other: it ends the graph and makes the host wait for the
    device, on every call, for an error that normally never comes.

    ## Example
    See the bad and good modules below.

    ## Fix
    `torch._assert_async(ok, "message")` checks on the device, inside the graph. `assert ok,
    "message"` with a constant message is captured too. For a Python number read with `.item()`
    use `torch._check(n >= 0)`, which also tells the compiler its range. Validation of a whole
    batch belongs before the compiled function.

    ## When it is safe
    Checks of shapes, dtypes and types are evaluated once, while capturing.
    """

    code = "CL110"
    name = "tensor-raise"
    summary = "`if` on a tensor that only raises"
    nodes = (ast.If,)
    graph_breaks = ("GB0170",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    if (x > 99).any():  # error: CL110
        raise ValueError(f"values up to {99} are allowed")
    return x + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    if x.ndim != 1:
        raise ValueError(f"expected one dimension, got {x.ndim}")
    torch._assert_async((x <= 99).all(), "values up to 99 are allowed")
    return x + 1
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, check=True):
    if not check or torch.isfinite(x).all():  # error: CL110
        x = x + 1
    else:
        raise ValueError("not finite")
    return x
""",
            good="""
import torch

def f(x: torch.Tensor, check=True):
    if check:
        assert torch.isfinite(x).all(), "not finite"
    return x + 1
""",
            note="An assert with a constant message is captured as a check in the graph.",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether an arm only raises."""
        return isinstance(node, ast.If) and (raises(node.body) or raises(node.orelse))

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when an arm only raises and tensor data decides about it."""
        assert isinstance(node, ast.If)
        if not raises(node.body) and not raises(node.orelse):
            return
        read = first(list(reads(node.test, ctx)))
        if read is not None:
            instead = "`torch._assert_async`" if read.modes == BOTH else "`torch._check`"
            yield Sighting(
                read.node,
                f"`raise` depends on `{shown(read.node)}`: {instead} keeps the check in the graph",
                read.fact,
                breaks=read.modes,
                graph_breaks=None if read.modes == BOTH else (),
            )

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the check as one that stays in the graph."""
        from ..rewrites.checks import raise_fixes

        return raise_fixes(holding_if(sighting.node, ctx), ctx, code)
