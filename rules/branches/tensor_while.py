"""CL102: `while` on a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from .conditions import of_value


class TensorWhile(Rule):
    """`while` on a value that a tensor decides.

    ## What it does
    Flags `while` loops whose condition reads a tensor: `while x.norm() > tol`,
    `while not done.all()`, also as one operand of `and` or `or`.

    ## Why it matters
    torch.compile unrolls Python loops while it captures them. How often this one turns is known
    only when the tensor is computed, so capture stops before the loop; and because a graph can't
    be resumed in the middle of a loop, the whole function runs eagerly, iteration by iteration,
    each with a device synchronisation.

    ## Example
    See the bad and good modules below.

    ## Fix
    Run a fixed number of steps and freeze finished elements with `torch.where`; or carry the loop
    state through `torch.while_loop`, whose condition may be a tensor. Shapes of what is carried
    must stay the same from step to step.

    ## When it is safe
    A condition on Python values (`while i < self.steps`) is evaluated during capture. A solver
    that has to stop early on the host can stay outside the compiled function and call a compiled
    step.
    """

    code = "CL102"
    name = "tensor-while"
    summary = "`while` on a tensor's value"
    nodes = (ast.While,)
    graph_breaks = ("GB0170",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    while x.sum() < 10:  # error: CL102
        x = x.abs() + 1
    return x
""",
            good="""
import torch

def f(x: torch.Tensor):
    for _ in range(8):
        x = torch.where(x.sum() < 10, x.abs() + 1, x)
    return x
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    steps = 0
    while steps < 5 and not (x < 1).all():  # error: CL102
        x = x / 2
        steps += 1
    return x
""",
            good="""
import torch

def f(x: torch.Tensor):
    steps = 0
    while steps < 5:
        x = torch.where((x < 1).all(), x, x / 2)
        steps += 1
    return x
""",
            note="The counter is a Python int and costs nothing; the tensor is what breaks.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the condition is decided by tensor data."""
        assert isinstance(node, ast.While)
        yield from of_value(node.test, ctx, "`while`")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the loop as `torch.while_loop`."""
        from ..rewrites.twins import twin_asked
        from ..rewrites.while_loop import while_fixes

        loop = ctx.statement(sighting.node)
        assert isinstance(loop, ast.While)
        twin = twin_asked(loop.test, ctx, code)
        yield from (twin,) if twin is not None else while_fixes(loop, ctx, code)
