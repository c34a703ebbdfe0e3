"""CL709: a while_loop body whose results don't fit what the loop carries."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from ..base.hops import HOPS
from .arms import arm_of, arms, operator
from .carries import carried, grows, handed_on, misfit
from .writes import writes


class WhileLoopCarry(Rule):
    """A `while_loop` body returns a carry unchanged, of another kind, or too few of them.

    ## What it does
    Flags `while_loop` calls whose body returns another number of values than the loop carries, a
    carry as it came (or a view of one), a carry of another dtype or rank, or one that grows by
    `torch.cat`; also Python floats, bools and `None` among the carried values.

    ## Why it matters
    The body is compiled once and runs any number of times, so what comes out must have the
    dtype, shape and strides of what went in, in memory of its own. Anything else raises while
    tracing, in every mode and without torch.compile too.

    ## Example
    `while_loop(more, lambda i, x, w: (i + 1, x @ w, w), (i, x, w))` carries `w` only to read it.

    ## Fix
    Don't carry what doesn't change: the body may close over it. Copy with `.clone()` where a
    carry must be handed on as it is. For results that grow, carry a buffer of full size and an
    index, and write with `torch.where` or `scatter`.

    ## When it is safe
    Never, except under a predicate that is false at once.
    """

    code = "CL709"
    name = "while-loop-carry"
    summary = "while_loop body whose results don't fit the carried values"
    nodes = (ast.Call,)
    callees = HOPS
    graph_breaks = ("GB0040",)
    examples = (
        Example(
            bad="""
import torch
from torch._higher_order_ops.while_loop import while_loop

def f(x, w):
    def more(i, x, w):
        return i < 3

    def body(i, x, w):
        return i + 1, x @ w, w

    return while_loop(more, body, (torch.tensor(0), x, w))[1]  # error: CL709
""",
            good="""
import torch
from torch._higher_order_ops.while_loop import while_loop

def f(x, w):
    def more(i, x):
        return i < 3

    def body(i, x):
        return i + 1, x @ w

    return while_loop(more, body, (torch.tensor(0), x))[1]
""",
            inputs="[(torch.randn(3, 3), torch.randn(3, 3))]",
        ),
        Example(
            bad="""
import torch

def f(x, n):
    def body(i, out):
        return i + 1, torch.cat([out, out[-1:] * 2])

    return torch.while_loop(lambda i, out: i < n, body, (torch.tensor(0), x))  # error: CL709
""",
            good="""
import torch

def f(x, n):
    size = 8
    out = torch.nn.functional.pad(x, (0, size - x.shape[0]))

    def body(i, out):
        at = torch.arange(size) == i + 1
        return i + 1, torch.where(at, out.roll(1) * 2, out)

    return torch.while_loop(lambda i, out: i < n, body, (torch.tensor(0), out))
""",
            inputs="[(torch.ones(1), torch.tensor(3))]",
            note="A result that grows needs a buffer of its final size.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the first result that doesn't fit."""
        assert isinstance(node, ast.Call)
        given = ctx.argument(node, 1, "body_fn")
        if operator(node, ctx) != "while_loop" or given is None:
            return
        before = carried(node, ctx)
        arm = arm_of(given, ctx)
        if before is None:
            return
        for fact in before:
            if getattr(fact, "kind", "int") in ("float", "bool", "NoneType", "str"):
                yield Sighting(node, f"`while_loop` carries a Python value ({fact.kind})")  # type: ignore[attr-defined]
                return
        after = ctx.apply(node, ctx.fact(given), before)
        if arm is None or any(w.inplace for w in writes(arm, ctx)):
            return
        what = misfit(arm, before, after, ctx)
        if what is not None:
            yield Sighting(node, f"body `{arm.text}` of `while_loop` returns {what}")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the call with tensors for numbers, or its body with clones."""
        from ..rewrites.carried_calls import copies_fix, numbers_fix

        call = sighting.node
        assert isinstance(call, ast.Call)
        given, body = (ctx.argument(call, 2, "carried_inputs"), ctx.argument(call, 1, "body_fn"))
        arm = None if body is None else arm_of(body, ctx)
        if arm is None or arm.path != ctx.path or not isinstance(given, (ast.Tuple, ast.List)):
            raise Declined("the body and the carried values aren't written in this file")
        numbers = [
            part
            for part in given.elts
            if getattr(ctx.fact(part), "kind", "int") in ("float", "bool")
        ]
        if numbers:
            yield numbers_fix(numbers, [a.node for a in arms(call, ctx)], code)
            return
        again = handed_on(arm, ctx)
        if grows(arm):
            raise Declined("a carry grows, and no bound is known that a buffer could have")
        if not again:
            raise Declined("a carry changes its dtype, rank or number from round to round")
        yield copies_fix(again, code)
