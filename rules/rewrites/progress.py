"""Progress bars around what is looped over are put on only outside of compiled runs.

`for x in tqdm(xs):` iterates over `steps`, which is `xs`, with the bar around it when nothing is
compiled. A bar with a name of its own keeps it; calls of its methods are left out, too.

Declined: bars that are used for anything else, and bars without something to iterate over that
aren't only reported to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Fix, Safety
from ..base.scopes import own
from .guards import IS_COMPILING, guarded, left_out

_RANGES = frozenset({"trange"})
_ITERABLE = ("iterable", "sequence")


def unbarred(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that takes a progress bar off what compiled code loops over."""
    stmt = ctx.statement(call)
    if isinstance(stmt, ast.Expr):
        yield from guarded(call, ctx, code, "the progress bar")
        return
    items = _items(call, code)
    if isinstance(stmt, (ast.For, ast.AsyncFor)) and _in(call, stmt.iter):
        name = code.fresh("steps")
        edits = [
            code.insert(stmt, _made(name, items, call, stmt, code)),
            code.replace(call, name),
        ]
        yield code.fix(_TITLE, edits, Safety.SAFE)
        return
    if not isinstance(stmt, ast.Assign) or stmt.value is not call:
        raise Declined("the bar is part of a larger statement")
    if not items:
        yield from guarded(call, ctx, code, "the progress bar")
        return
    (target,) = stmt.targets
    if not isinstance(target, ast.Name):
        raise Declined("the bar is stored on an object")
    told = list(_told(target.id, ctx, code))
    edits, _ = left_out(told, ctx, code) if told else ((), True)
    lines = _made(target.id, items, call, stmt, code)
    yield code.fix(_TITLE, [*edits, code.lines(stmt, lines)], Safety.SAFE)


_TITLE = "leave the progress bar out of compiled runs"


def _items(call: ast.Call, code: Code) -> str:
    """Return the source of what a bar goes around, "" without it."""
    arguments = ", ".join(code.text(arg) for arg in call.args)
    if ast.unparse(call.func).rpartition(".")[2] in _RANGES:
        return f"range({arguments})"
    if call.args:
        return code.text(call.args[0])
    return next((code.text(k.value) for k in call.keywords if k.arg in _ITERABLE), "")


def _made(name: str, items: str, call: ast.Call, stmt: ast.stmt, code: Code) -> list[str]:
    indent = code.indent(stmt)
    if ast.unparse(call.func).rpartition(".")[2] in _RANGES:
        bar = code.text(call)
    elif call.args:
        bar = code.text(call, {call.args[0]: name})
    else:
        bar = code.text(call, {k.value: name for k in call.keywords if k.arg in _ITERABLE})
    return [
        f"{indent}{name} = {items}",
        f"{indent}if not {code.spell(IS_COMPILING)}():",
        f"{indent}{code.step}{name} = {bar}",
    ]


def _told(name: str, ctx: Context, code: Code) -> Iterator[ast.stmt]:
    """Yield the statements that call methods of a bar. Raises Declined for any other use."""
    inside = set(own(ctx.function))
    for use in code.uses(name):
        stmt = ctx.statement(use) if use in inside else None
        if isinstance(stmt, ast.For) and _in(use, stmt.iter):
            continue
        if not isinstance(stmt, ast.Expr):
            raise Declined(f"`{name}` is more than looped over")
        yield stmt


def _in(node: ast.AST, holder: ast.AST) -> bool:
    return any(part is node for part in ast.walk(holder))


__all__ = ["unbarred"]
