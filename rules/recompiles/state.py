"""State that outlives a call, and writes that make it different each time."""

from __future__ import annotations

import ast

from ..base import Const, Context, Fact, ShapeInt, Static, Unknown, options
from ..base.scopes import dotted, outlives, own


def whole_number(fact: Fact, loose: bool = False) -> bool:
    """Say whether a fact is surely a Python int: a constant, configuration or a size.

    With `loose`, what isn't known of it may be left out: an attribute that starts as an int, and
    to which something of unknown type is added elsewhere.
    """
    found = [o for o in options(fact) if not (isinstance(o, Const) and o.value is None)]
    if loose:
        found = [o for o in found if not isinstance(o, Unknown)]
    return bool(found) and all(
        isinstance(o, (Const, Static, ShapeInt)) and o.kind == "int" for o in found
    )


def counts(node: ast.AST, ctx: Context) -> tuple[ast.expr, ast.expr] | None:
    """Return (target, step) when a statement moves a number on from its old value.

    The step is an int that isn't 0. Numbers that are brought back by `%` take few values, and
    don't count.
    """
    moved = moved_by(node)
    if moved is None:
        return None
    fact = ctx.fact(moved[1])
    if not whole_number(fact) or (isinstance(fact, Const) and not fact.value):
        return None
    return moved


def moved_by(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return (target, step) of `n += step`, `n = n + step` and `n = n - step`, else None."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
        return node.target, node.value
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    target, value = node.targets[0], node.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return None
    if _alike(value.left, target):
        return target, value.right
    if isinstance(value.op, ast.Add) and _alike(value.right, target):
        return target, value.left
    return None


def _alike(node: ast.expr, target: ast.expr) -> bool:
    if isinstance(node, ast.Name) and isinstance(target, ast.Name):
        return node.id == target.id
    return type(node) is type(target) and ast.unparse(node) == ast.unparse(target)


def kept(node: ast.expr, ctx: Context, filled: bool = False) -> bool:
    """Say whether an attribute or global holds state from call to call.

    The object it is on must have been there before, and the function must not start it afresh
    (`self.outputs = []` at the top of forward), unless that is how it is `filled`.
    """
    if isinstance(node, ast.Name):
        return declared_global(node.id, ctx)
    if not isinstance(node, ast.Attribute) or not outlives(node.value, ctx, arguments=False):
        return False
    return filled or not restarted(dotted(node), ctx)


def declared_global(name: str, ctx: Context) -> bool:
    """Say whether the function declares a name global."""
    nodes = ctx.inside(ctx.function)
    return any(isinstance(part, ast.Global) and name in part.names for part in nodes)


def restarted(path: str, ctx: Context) -> bool:
    """Say whether the function assigns a plain new value to the path (not from its old one)."""
    return _restarts(ctx.function, path)


def _restarts(function: ast.AST, path: str) -> bool:
    for part in own(function):
        if isinstance(part, ast.Assign) and any(_is(t, path) for t in part.targets):
            if not any(_is(n, path) for n in ast.walk(part.value)):
                return True
        elif isinstance(part, ast.AnnAssign) and part.value is not None and _is(part.target, path):
            return True
    return False


def shrunk(path: str, ctx: Context) -> bool:
    """Say whether the function also takes elements out of the container, or starts it afresh."""
    return shrinks(ctx.function, path)


def shrinks(function: ast.AST, path: str) -> bool:
    """Say so of a function's node; a path ".name" means that attribute of any object."""
    for part in own(function):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            if part.func.attr in _SHRINK and _is(part.func.value, path):
                return True
        elif isinstance(part, ast.Delete):
            for target in part.targets:
                if isinstance(target, ast.Subscript) and _is(target.value, path):
                    return True
    return _restarts(function, path)


def _is(node: ast.AST, path: str) -> bool:
    text = dotted(node)
    return text == path or (path.startswith(".") and text.endswith(path))


_SHRINK = frozenset({"pop", "popleft", "clear", "remove", "popitem", "discard"})
