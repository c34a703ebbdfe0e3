"""What ordinary code around a compiled call shows: does an argument differ in every round?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..base import Context
from ..base.scopes import dotted, own


def arguments(call: ast.Call, ctx: Context) -> Iterator[tuple[str, ast.expr]]:
    """Yield (parameter, expression) of a call to a project function; nothing behind `*args`.

    The parameter is "" where it isn't known (a module, or a function of unknown source).
    """
    function = ctx.callee(call).project
    names = positional(function) if function is not None else []
    for index, arg in enumerate(call.args):
        if isinstance(arg, ast.Starred):
            return
        yield (names[index] if index < len(names) else ""), arg
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value


def positional(function: Any) -> list[str]:
    """Return the positional parameters of a FunctionInfo as its callers see them."""
    spec = function.node.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    static = any(getattr(d, "id", "") == "staticmethod" for d in function.decorators)
    return names[1:] if function.cls is not None and not static else names


def rounds(node: ast.AST, ctx: Context) -> list[ast.For]:
    """Return the `for` loops whose bodies hold the node, innermost first."""
    found = []
    child = node
    for parent in ctx.ancestors(node):
        if isinstance(parent, ast.For) and child in parent.body:
            found.append(parent)
        child = parent
    return found


def counter_of(loop: ast.For, ctx: Context) -> str:
    """Return the name of the int that takes another value in every round, "" when there is none.

    `for i in range(n)` with more than two rounds, and the index of `enumerate`.
    """
    call = loop.iter
    if not isinstance(call, ast.Call):
        return ""
    name = ctx.callee(call).name
    if name == "builtins.range" and isinstance(loop.target, ast.Name):
        bounds = [a.value for a in call.args if isinstance(a, ast.Constant)]
        few = len(call.args) == 1 and bounds and isinstance(bounds[0], int) and bounds[0] <= 2
        return "" if few else loop.target.id
    if name == "builtins.enumerate" and isinstance(loop.target, ast.Tuple):
        first = loop.target.elts[0]
        return first.id if isinstance(first, ast.Name) else ""
    return ""


def varies(node: ast.expr, loop: ast.For, counter: str) -> bool:
    """Say whether an expression is the counter, or arithmetic on it and on constants."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    if counter not in names or not _arithmetic(node):
        return False
    return not any(
        isinstance(part, ast.Name) and part.id == counter and isinstance(part.ctx, ast.Store)
        for stmt in loop.body
        for part in ast.walk(stmt)
    )


def _arithmetic(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, (ast.Mod, ast.FloorDiv, ast.MatMult)):
            return False
        return _arithmetic(node.left) and _arithmetic(node.right)
    if isinstance(node, ast.UnaryOp):
        return _arithmetic(node.operand)
    return isinstance(node, (ast.Name, ast.Constant, ast.Attribute))


def uses(function: Any, parameter: str) -> Iterator[ast.Name]:
    """Yield the reads of a parameter in a FunctionInfo that never assigns to it."""
    found = []
    for node in own(function.node):
        if isinstance(node, ast.Name) and node.id == parameter:
            if not isinstance(node.ctx, ast.Load):
                return
            found.append(node)
    yield from found


def assigned_in(loop: ast.For | ast.While, path: str) -> Iterator[ast.Assign]:
    """Yield the plain assignments to a name or path in a loop's body."""
    for stmt in loop.body:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Assign) and any(dotted(t) == path for t in node.targets):
                yield node
