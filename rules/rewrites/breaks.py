"""`break` and `continue` under a tensor test: the loop around them is what is rewritten."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base.context import Context
from ..base.facts import Const
from ..base.finding import Fix
from ..base.rewriting import Code, Declined
from .empties import unguarded_fix
from .frozen import masked_for
from .iteration import counted
from .jumps import jump_of
from .while_loop import as_while_loop, attempt, while_fixes

FEW = 16  # rounds up to which running all of them costs less than asking after each


def leaves_round(stmt: ast.stmt) -> bool:
    """Say whether a statement is an `if` that ends with `break` or `continue` in one arm."""
    return jump_of(stmt) is not None


def break_fixes(stmt: ast.If, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the rewrites of the loop that an `if` leaves or cuts short. Raises Declined."""
    yield from attempt(unguarded_fix, stmt, ctx, code.anew())
    loop = ctx.loop(stmt)
    if isinstance(loop, ast.While):
        yield from while_fixes(loop, ctx, code)
        return
    if loop is None:
        raise Declined("the loop that is left here isn't known")
    early = list(attempt(_as_counted, loop, ctx, code.anew()))
    if early and _rounds(loop, ctx) > FEW:
        yield from early
        yield from attempt(masked_for, loop, ctx, code)
        return
    yield masked_for(loop, ctx, code)
    yield from early


def _as_counted(loop: ast.For, ctx: Context, code: Code) -> Fix:
    return as_while_loop(loop, ctx, code, counted(loop, ctx, code))


def _rounds(loop: ast.For, ctx: Context) -> int:
    """Return how often a loop turns, as far as constants tell; a large number where they don't."""
    assert isinstance(loop.iter, ast.Call)
    bounds = [ctx.fact(arg) for arg in loop.iter.args]
    if not all(isinstance(fact, Const) for fact in bounds):
        return FEW + 1
    return len(range(*(fact.value for fact in bounds)))  # type: ignore[attr-defined]
