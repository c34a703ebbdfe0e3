"""Loops that a tensor ends early → loops of a fixed number of rounds that freeze their values.

`for i in range(n): …; if t: break` and `while t and i < n: …; i += 1` run all `n` rounds; once the
loop would have ended, `torch.where` keeps what there is. It costs the rounds that were skipped, has
gradients, and captures in every mode.

Declined: what `carries` and `rounds` decline, and loops whose index is read behind them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.context import Context
from ..base.facts import Const, ShapeInt, Static, options
from ..base.finding import Fix
from ..base.rewriting import Code, Declined
from .carries import Carry, carries, loop_of
from .jumps import jump_inside
from .layout import flat, operand, statement
from .loop_effects import check_body
from .rounds import Round, not_done, test_text
from .truths import is_static, negated

_TITLE = "run every round, and keep values once the loop is done"


@dataclass(frozen=True, slots=True)
class Bound:
    """`while test and i < stop: …; i += 1`: what else is tested, the index and its last step."""

    tests: tuple[ast.expr, ...]
    index: str
    stop: str
    step: ast.stmt


def bounded(stmt: ast.While, ctx: Context, code: Code) -> Bound | None:
    """Return the bound that Python knows of a `while` loop, None without one."""
    test = stmt.test
    if not (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)):
        return None
    for value in test.values:
        if not (isinstance(value, ast.Compare) and len(value.ops) == 1):
            continue
        name, op, stop = value.left, value.ops[0], value.comparators[0]
        if not isinstance(name, ast.Name) or not isinstance(op, (ast.Lt, ast.LtE)):
            continue
        step = _increment(name.id, stmt)
        if step is None or not _known(name, ctx) or not _known(stop, ctx):
            continue
        end = flat(code.text(stop)) + (" + 1" if isinstance(op, ast.LtE) else "")
        rest = tuple(other for other in test.values if other is not value)
        return Bound(rest, name.id, end, step)
    return None


def _increment(name: str, stmt: ast.While) -> ast.stmt | None:
    """Return the `i += 1` that ends every round, None where the index changes otherwise."""
    stores = [
        node
        for node in ast.walk(stmt)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    last = stmt.body[-1]
    if len(stores) != 1 or jump_inside(stmt, ast.Continue):
        return None
    if not (isinstance(last, ast.AugAssign) and last.target is stores[0]):
        return None
    one = isinstance(last.value, ast.Constant) and last.value.value == 1
    return last if one and isinstance(last.op, ast.Add) else None


def _known(node: ast.expr, ctx: Context) -> bool:
    return all(isinstance(o, (Const, Static, ShapeInt)) for o in options(ctx.fact(node)))


def masked_while(stmt: ast.While, bound: Bound, ctx: Context, code: Code) -> Fix:
    """Return a bounded `while` loop as a `for` loop that freezes. Raises Declined."""
    if bound.index in code.live_after(stmt):
        raise Declined(f"`{bound.index}` is read behind the loop")
    header = f"for {bound.index} in range({bound.index}, {bound.stop}):"
    body = [other for other in stmt.body if other is not bound.step]
    if not body:
        raise Declined("the loop does nothing")
    if any(is_static(test, ctx) for test in bound.tests):
        raise Declined("the test also asks something else in Python")
    return _frozen(stmt, header, body, bound.tests, bound.index, ctx, code)


def masked_for(stmt: ast.For, ctx: Context, code: Code) -> Fix:
    """Return a `for` loop that is left early as one that freezes. Raises Declined."""
    targets = {n.id for n in ast.walk(stmt.target) if isinstance(n, ast.Name)}
    behind = sorted(targets & code.live_after(stmt))
    if behind:
        raise Declined(f"`{behind[0]}` is read behind the loop")
    header = f"for {flat(code.text(stmt.target))} in {flat(code.text(stmt.iter))}:"
    return _frozen(stmt, header, stmt.body, (), "", ctx, code)


def _frozen(
    stmt: ast.While | ast.For,
    header: str,
    body: Sequence[ast.stmt],
    tests: Sequence[ast.expr],
    index: str,
    ctx: Context,
    code: Code,
) -> Fix:
    loop = loop_of(stmt)
    check_body(loop, ctx, code)
    if stmt.orelse:
        raise Declined("the loop has an `else`")
    own = frozenset({index} if index else ())
    carried = carries(loop, ctx, code, own)
    indent = code.indent(stmt)
    inner = indent + code.step
    names = tuple(carry.name for carry in carried)
    numbers = frozenset(carry.name for carry in carried if carry.number)
    round_ = Round(ctx, code, loop, names, numbers, frozenset(), unrolled=True)
    text = [line for carry in carried for line in _promoted(carry, indent, code)]
    lines: list[str] = []
    going = " & ".join(
        operand(part) if tests[1:] else part
        for part in (test_text(test, ctx, code) for test in tests)
    )
    if jump_inside(stmt, ast.Break):
        round_.done = code.fresh("done")
        text.append(f"{indent}{round_.done} = {not_done(carried, code)}")
        if going:
            ended = f"{round_.done} | {negated(going)}"
            lines += statement(f"{round_.done} = ", ended, inner, code.width, code.step)
        lines += round_.lines(body, inner, round_.done)
    elif not tests:
        lines += round_.lines(body, inner)
    else:
        flag = code.fresh("going")
        lines += statement(f"{flag} = ", going, inner, code.width, code.step)
        lines += round_.lines(body, inner, f"~{flag}")
    return code.fix(_TITLE, [code.lines(stmt, [*text, indent + header, *lines])])


def _promoted(carry: Carry, indent: str, code: Code) -> list[str]:
    if not carry.number:
        return []
    return statement(f"{carry.name} = ", carry.start, indent, code.width, code.step)
