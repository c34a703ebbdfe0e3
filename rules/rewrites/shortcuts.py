"""An `if` whose arms can't be one tensor → in compiled runs, the arm that does for both cases.

`if kept.all(): return None` saves the caller a mask that keeps everything; `if w.any(): …` saves
rows that are all zero. The longer way gives the same in the end, only slower, and compiled code has
to go one way: `not torch.compiler.is_compiling() and …` leaves the shortcut to eager runs, which
stay as they are. Whether callers get the same values either way can't be seen in one function: the
proof measures it, and each arm is a rewrite of its own.

Declined: arms that write to what others see, draw random numbers or raise; loops left by an arm.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base.context import Context
from ..base.finding import Fix
from ..base.rewriting import Code
from .arms import Unalike
from .breaks import leaves_round
from .guards import IS_COMPILING
from .layout import flat


def one_way(stmt: ast.If, why: Unalike, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fixes that go one way in compiled runs: past the arm, then always through it."""
    found = code.effects([*stmt.body, *stmt.orelse])
    if found.mutates or found.stores or found.random or found.raises or leaves_round(stmt):
        raise why
    yield from _answered(stmt.test, code)


def one_value(node: ast.IfExp, why: Unalike, code: Code) -> Iterator[Fix]:
    """Yield the fixes that take one value of a conditional expression in compiled runs."""
    found = code.effects([node.body, node.orelse])
    if found.mutates or found.stores or found.random or found.raises:
        raise why
    yield from _answered(node.test, code)


def _answered(test: ast.expr, code: Code) -> Iterator[Fix]:
    """Yield the fixes that take a test as False, and as True, in compiled runs."""
    text = flat(code.text(test))
    loose = (ast.IfExp, ast.Lambda, ast.NamedExpr)
    either = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)
    for answer in (False, True):
        fresh = code.anew()
        asked = f"{fresh.spell(IS_COMPILING)}()"
        torn = isinstance(test, loose) or (either and not answer)
        inner = f"({text})" if torn else text
        new = f"{asked} or {inner}" if answer else f"not {asked} and {inner}"
        title = f"take `{text}` as {answer} in compiled runs: both ways give the same"
        yield fresh.fix(title, [fresh.replace(test, new)])
