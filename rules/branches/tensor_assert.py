"""CL111: an assert on a tensor that torch.compile can't turn into a check in the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import BOTH, Code, Context, Example, Fix, Rule, Sighting
from ..base.reading import data_in, modes_of, shown
from .conditions import reads


class TensorAssert(Rule):
    """`assert` on a tensor in a form that breaks the graph.

    ## What it does
    Flags asserts on tensor data whose message isn't a plain string, or whose condition is more
    than one test: `assert ok.all(), f"bad {name}"`, `assert not bad.any()`, `assert 0 < x.min()
    < 1`, `assert a.all() and b.all()`. `torch._assert` of a tensor breaks in any form.

    ## Why it matters
    torch.compile turns `assert t` and `assert t, "constant"` into a check inside the graph. It
    recognises exactly that shape; every other form is an ordinary branch on a tensor.

    ## Example
    See the bad and good modules below.

    ## Fix
    Make the message a literal and the condition one tensor: `(~bad).all()`, `(a & b).all()`, two
    asserts instead of `and`. Or call `torch._assert_async(condition, "message")`.

    ## When it is safe
    Asserts about shapes, types and `None` may have any message: they are settled while capturing.
    """

    code = "CL111"
    name = "tensor-assert"
    summary = "assert on a tensor that can't be captured"
    nodes = (ast.Assert, ast.Call)
    callees = ("torch._assert",)
    graph_breaks = ("GB0170", "GB0033")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, name="x"):
    assert (x < 99).all(), f"{name} is too big"  # error: CL111
    return x + 1
""",
            good="""
import torch

def f(x: torch.Tensor, name="x"):
    assert x.ndim == 1, f"{name} has {x.ndim} dimensions"
    assert (x < 99).all(), "x is too big"
    return x + 1
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    assert not torch.isnan(x).any(), "NaN"  # error: CL111
    return x + 1
""",
            good="""
import torch

def f(x: torch.Tensor, mask=None):
    assert mask is None or mask.any(), "empty mask"
    assert (~torch.isnan(x)).all(), "NaN"
    return x + 1
""",
            note="`not` must be a tensor operation; the last operand of `or` may be a tensor.",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    assert (x > -99).all() and (x < 99).all()  # error: CL111
    return x + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    assert ((x > -99) & (x < 99)).all()
    return x + 1
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the assert isn't one test with a constant message."""
        if isinstance(node, ast.Call):
            yield from _function(node, ctx)
            return
        assert isinstance(node, ast.Assert)
        found = list(reads(node.test, ctx))
        if not found:
            return
        if not _constant(node.msg):
            read, why = found[0], "with a message that isn't a plain string"
        else:
            early = [read for read in found if read.node is not _last(node.test)]
            if not early:
                return
            read, why = early[0], "in more than one plain test"
        yield Sighting(
            read.node,
            f"`assert` asks for `{shown(read.node)}`, tensor data, {why}",
            read.fact,
            breaks=read.modes,
            graph_breaks=None if read.modes == BOTH else (),
        )

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the assert in a form that is captured."""
        from ..rewrites.checks import assert_call_fixes, assert_fixes

        if (
            isinstance(sighting.node, ast.Call)
            and ctx.callee(sighting.node).name == "torch._assert"
        ):
            return assert_call_fixes(sighting.node, ctx, code)
        stmt = ctx.statement(sighting.node)
        assert isinstance(stmt, ast.Assert)
        return assert_fixes(stmt, ctx, code)


def _function(node: ast.Call, ctx: Context) -> Iterator[Sighting]:
    """`torch._assert(t, message)` asks for the value, unlike `torch._assert_async`."""
    condition = ctx.argument(node, 0, "condition")
    if ctx.callee(node).name == "torch._assert" and condition is not None:
        fact = data_in(ctx.fact(condition))
        if fact is not None and modes_of(fact) == BOTH:
            text = f"`torch._assert` asks for `{shown(condition)}`, tensor data: `_assert_async`"
            yield Sighting(node, f"{text} keeps it in the graph", fact)


def _constant(message: ast.expr | None) -> bool:
    """Say whether Dynamo takes the message: none, or a string known when compiling the source."""
    if message is None:
        return True
    if isinstance(message, ast.Constant):
        return isinstance(message.value, str)
    return isinstance(message, ast.JoinedStr) and all(
        isinstance(part, ast.Constant) for part in message.values
    )


def _last(test: ast.expr) -> ast.expr | None:
    """The operand whose test decides the assert and may be a tensor; None in other forms."""
    while isinstance(test, (ast.BoolOp, ast.NamedExpr)):
        test = test.values[-1] if isinstance(test, ast.BoolOp) else test.value
    if isinstance(test, ast.Compare) and len(test.ops) > 1:
        return None
    negation = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return None if negation or isinstance(test, ast.IfExp) else test
