"""CL710: a while_loop condition that gives no bool tensor of one element."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Certainty, Code, Const, Context, Declined, Example, Fix, Rule, Sighting, Tensor
from ..base.hops import HOPS
from .arms import arm_of, operator
from .carries import carried


class WhileLoopPredicate(Rule):
    """The condition of `while_loop` returns a number, several values, or `True`.

    ## What it does
    Flags `while_loop` calls whose condition function returns a tensor that isn't boolean, a
    tensor with dimensions, or the constant `True`.

    ## Why it matters
    The condition is compiled into a test of one bool. Python would call `bool()` on a number;
    the operator doesn't, and raises while tracing, in every mode and without torch.compile too.
    A condition that is always true never ends.

    ## Example
    `while_loop(lambda r: r.abs().sum(), …)` where Python's `while r.abs().sum():` would work.

    ## Fix
    Compare, and reduce: `lambda r: r.abs().sum() > 0`, `lambda done: ~done.all()`.

    ## When it is safe
    A comparison of Python ints is evaluated while tracing, and isn't reported.
    """

    code = "CL710"
    name = "while-loop-predicate"
    summary = "while_loop condition that isn't one bool"
    nodes = (ast.Call,)
    callees = HOPS
    graph_breaks = ("GB0308", "GB0339")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    return torch.while_loop(lambda r: r.abs().mean(), lambda r: (r * 0.5,), (x,))  # error: CL710
""",
            good="""
import torch

def f(x):
    return torch.while_loop(lambda r: r.abs().mean() > 0.1, lambda r: (r * 0.5,), (x,))
""",
            inputs="[(torch.ones(3),)]",
        ),
        Example(
            bad="""
import torch

def f(x):
    def body(i, r):
        return i + 1, r * 0.5

    return torch.while_loop(lambda i, r: True, body, (torch.tensor(0), x))  # error: CL710
""",
            good="""
import torch

def f(x):
    def body(i, r):
        return i + 1, r * 0.5

    return torch.while_loop(lambda i, r: i < 9, body, (torch.tensor(0), x))
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the condition surely gives something else than one bool."""
        assert isinstance(node, ast.Call)
        given = ctx.argument(node, 0, "cond_fn")
        if operator(node, ctx) != "while_loop" or given is None:
            return
        before = carried(node, ctx)
        if before is None:
            return
        fact = ctx.apply(node, ctx.fact(given), before)
        what = None
        if isinstance(fact, Const) and fact.value is True:
            what = "is always true"
        elif isinstance(fact, Tensor) and fact.dtype in ("int", "float", "complex"):
            what = f"gives a number ({fact.dtype} tensor), not a bool"
        elif isinstance(fact, Tensor) and fact.rank:
            what = f"gives a tensor of {fact.rank} dimensions, not one bool"
        if what is not None:
            certainty = Certainty.CERTAIN if fact.sure else Certainty.LIKELY
            yield Sighting(node, f"the condition of `while_loop` {what}", certainty=certainty)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the condition as a comparison."""
        from ..rewrites.carried_calls import predicate_fix

        assert isinstance(sighting.node, ast.Call)
        given = ctx.argument(sighting.node, 0, "cond_fn")
        arm = None if given is None else arm_of(given, ctx)
        before = carried(sighting.node, ctx)
        if arm is None or given is None or before is None or arm.path != ctx.path:
            raise Declined("the condition isn't a function of this file")
        fact = ctx.apply(sighting.node, ctx.fact(given), before)
        yield predicate_fix(arm.returned(), fact, ctx, code)
