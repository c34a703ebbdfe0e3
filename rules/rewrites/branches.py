"""An `if` or a conditional expression on a tensor → its rewrites, best first.

Cheap arms are both computed (`where`, then `where` with operands made safe, then `torch.cond`);
arms that call modules, products or project functions run only when they are taken. Arms that can't
be one tensor (`None`, other shapes) are left to eager runs where one arm does for both.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from ..base.context import Context
from ..base.finding import Fix
from ..base.rewriting import Code, Declined
from .arms import Branch, Unalike, branch_of, heavy
from .cond import cond_fix
from .empties import unguarded_fix
from .ownership import written_behind
from .predicates import tensor_test
from .shortcuts import one_way
from .where import where_fix

Build = Callable[[Code], Fix]


def branch_fixes(stmt: ast.If, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the rewrites of an `if` on a tensor. Raises Declined when there is none."""
    try:
        yield from _chosen(stmt, ctx, code)
    except Unalike as why:
        yield from one_way(stmt, why, ctx, code)


def _chosen(stmt: ast.If, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the rewrites that choose between the arms of an `if`."""
    if not stmt.orelse:
        dropped = attempt(lambda fresh: unguarded_fix(stmt, ctx, fresh), code)
        if isinstance(dropped, Fix):
            yield dropped
            return
    branch = branch_of(stmt, ctx, code)
    if branch.values is None:
        _only_bound(branch, ctx, code)

    def where(fresh: Code) -> Fix:
        return where_fix(branch, tensor_test(stmt.test, ctx, fresh), ctx, fresh)

    def guarded(fresh: Code) -> Fix:
        return where_fix(branch, tensor_test(stmt.test, ctx, fresh), ctx, fresh, guarded=True)

    def cond(fresh: Code) -> Fix:
        return cond_fix(branch, tensor_test(stmt.test, ctx, fresh), ctx, fresh)

    costly = heavy(branch.expressions, ctx)
    yield from alternatives([cond, where, guarded] if costly else [where, guarded, cond], code)


def _only_bound(branch: Branch, ctx: Context, code: Code) -> None:
    """Decline where a name that an arm binds is written in place behind the branch.

    What is picked is a new tensor: the write would no more be seen by who holds the old one.
    """
    arms = (node for arm in (branch.then, branch.other) for part in arm for node in ast.walk(part))
    bound = {n.id for n in arms if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for name in sorted(bound):
        if written_behind(name, branch.stmt, ctx, code):
            raise Declined(f"`{name}` is written in place behind it, and seen elsewhere")


def size_fixes(stmt: ast.If, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the rewrites of an `if` on a size that depends on data. Raises Declined."""
    dropped = attempt(lambda fresh: unguarded_fix(stmt, ctx, fresh), code)
    if isinstance(dropped, Fix):
        yield dropped
        return
    try:
        yield from branch_fixes(stmt, ctx, code)
    except Declined as declined:
        raise dropped from declined


def attempt(build: Build, code: Code) -> Fix | Declined:
    """Return what a builder makes, or why it declines."""
    try:
        return build(code.anew())
    except Declined as declined:
        return declined


def alternatives(builders: list[Build], code: Code) -> Iterator[Fix]:
    """Yield what the builders make; raises the first one's Declined when all of them decline."""
    reason: Declined | None = None
    found = False
    for build in builders:
        made = attempt(build, code)
        if isinstance(made, Fix):
            found = True
            yield made
        else:
            reason = reason or made
    if not found and reason is not None:
        raise reason
