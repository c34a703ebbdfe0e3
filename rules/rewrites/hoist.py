"""What a function makes anew on every call is made once, at the top of the module.

Classes (and `make_dataclass(...)` and the like) move in front of the statement that holds the
function. An optional import moves behind the module's imports, as `try: import …` with None where
it fails, and the function tests for None.

Declined: what reads variables of the function or names that the module binds later; names that
something else in the module has; a `try` that does more than import and catches more than that.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence

from ..base import Code, Context, Declined, Edit, Fix, Safety, Span
from ..base.scopes import bound, dotted, parameters
from .moved import bare

# Fixes that name something at module level wait for each other: each needs a name of its own.
CLAIM = Edit(Span(1, 1, 1, 1), "")


def to_module(stmt: ast.stmt, name: str, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that moves a statement, which binds `name`, to module level."""
    top = holder(ctx.function, code.module)
    _closed(stmt, name, top, ctx, code)
    mine = list(ast.walk(stmt))
    if any(other not in mine for other in _binders(name, code.module)):
        raise Declined(f"`{name}` is bound elsewhere in the module, too")
    moved = bare(code.block([stmt], ""))
    block = code.block_of(stmt)
    place = block.index(stmt) + 1
    if place < len(block):  # with the blank lines between
        after = block[place]
        gone = code.lines(stmt, code.block([after], code.indent(after)), after)
    else:
        raise Declined("the block would be empty")
    edits = [code.insert(top, [*moved, "", ""], above=True), gone]
    yield code.fix(f"move `{name}` to module level", edits)


def holder(function: ast.AST, module: ast.Module) -> ast.stmt:
    """Return the statement of the module that holds a function. Raises Declined."""
    for stmt in module.body:
        if any(part is function for part in ast.walk(stmt)):
            return stmt
    raise Declined("the code stands at module level")


def _closed(stmt: ast.stmt, name: str, top: ast.stmt, ctx: Context, code: Code) -> None:
    """Raise Declined unless a statement means the same in front of `top`."""
    if any(isinstance(part, (ast.Nonlocal, ast.Global)) for part in ast.walk(stmt)):
        raise Declined(f"`{name}` writes to variables outside of it")
    mine = {*bound(ctx.function), *parameters(ctx.function)} - {name}
    for read in sorted(code.boundary([stmt]).reads - {name}):
        if read in mine or not (ctx.is_global(read) or hasattr(builtins, read)):
            raise Declined(f"`{name}` needs `{read}`, a variable of the function")
        if ctx.is_global(read) and not _before(read, top, code.module):
            raise Declined(f"`{name}` needs `{read}`, which the module binds further down")


def _before(name: str, top: ast.stmt, module: ast.Module) -> bool:
    return any(getattr(node, "lineno", 0) < top.lineno for node in _binders(name, module))


def _binders(name: str, module: ast.Module) -> Iterator[ast.AST]:
    """Yield every node of a module that binds a name, in whatever scope."""
    for node in ast.walk(module):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name == name:
                yield node
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if node.id == name:
                yield node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if name in _names(node):
                yield node


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the names that an import binds."""
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    return [alias.asname or alias.name.partition(".")[0] for alias in node.names]


# -- optional imports ----------------------------------------------------------------------------


def optional_import(node: ast.Import | ast.ImportFrom, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that tries an import once, at module level, and tests for None inside."""
    guard = ctx.parent(node)
    if not isinstance(guard, ast.Try) or guard.body[0] is not node:
        raise Declined("the import isn't what its `try` starts with")
    if len(guard.handlers) != 1 or guard.finalbody:
        raise Declined("the `try` has several ways out")
    (handler,) = guard.handlers
    name, *others = _names(node)
    if others:
        raise Declined("several names are imported at once")
    more = [stmt for stmt in guard.body[1:] if not _sets_constant(stmt)]
    caught = dotted(handler.type) if handler.type is not None else ""
    if more and caught not in ("ImportError", "ModuleNotFoundError"):
        raise Declined("the `try` does more than import, and may catch what that raises")
    if handler.name and any(getattr(p, "id", "") == handler.name for p in ast.walk(guard)):
        raise Declined("the error is used")
    inside = list(ast.walk(guard))
    elsewhere = [binder for binder in _binders(name, code.module) if binder not in inside]
    if elsewhere and not all(_optional(binder, code.module) for binder in elsewhere):
        raise Declined(f"`{name}` is bound elsewhere in the module, too")
    edits = [code.lines(guard, _tested(guard, handler, name, code))]
    if not elsewhere:
        edits.append(_tried(node, handler, name, code))
    safety = Safety.NEEDS_PROOF if more else Safety.SAFE
    yield code.fix(f"import `{name}` once, at module level", edits, safety)


def _sets_constant(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Constant)


def _optional(binder: ast.AST, module: ast.Module) -> bool:
    """Say whether a name is bound by a `try: import` of the module itself."""
    return any(
        isinstance(stmt, ast.Try)
        and any(part is binder for part in ast.walk(stmt))
        and any(isinstance(part, ast.Constant) and part.value is None for part in ast.walk(stmt))
        for stmt in module.body
    )


def _tested(guard: ast.Try, handler: ast.ExceptHandler, name: str, code: Code) -> list[str]:
    """Return the lines of the function: what a failed import did, under a test for None."""
    indent = code.indent(guard)
    inner = indent + code.step
    failed = [stmt for stmt in handler.body if not _unset(stmt, name)]
    passed = [*guard.body[1:], *guard.orelse]
    if not failed:
        return [f"{indent}if {name} is not None:", *code.block(passed, inner)] if passed else []
    lines = [f"{indent}if {name} is None:", *code.block(failed, inner)]
    if not passed:
        return lines
    if isinstance(failed[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return [*lines, *code.block(passed, indent)]
    return [*lines, f"{indent}else:", *code.block(passed, inner)]


def _unset(stmt: ast.stmt, name: str) -> bool:
    """Say whether a statement is `name = None`, or nothing."""
    if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Constant):
        return stmt.value.value is None and [ast.unparse(t) for t in stmt.targets] == [name]
    return isinstance(stmt, ast.Pass)


def _tried(
    node: ast.Import | ast.ImportFrom, handler: ast.ExceptHandler, name: str, code: Code
) -> Edit:
    """Return the edit that adds the optional import behind the others of the module."""
    last = _last_import(code.module.body)
    caught = f"except {code.text(handler.type)}:" if handler.type is not None else "except:"
    lines = ["try:", code.step + code.text(node), caught, f"{code.step}{name} = None"]
    if last is None:
        raise Declined("the module has no imports to put it behind")
    return code.append(last, ["", *lines])


def _last_import(body: Sequence[ast.stmt]) -> ast.stmt | None:
    found = None
    for stmt in body:
        if isinstance(stmt, (ast.Import, ast.ImportFrom)):
            found = stmt
        elif isinstance(stmt, (ast.ClassDef, ast.FunctionDef)):
            break
    return found


__all__ = ["CLAIM", "holder", "optional_import", "to_module"]
