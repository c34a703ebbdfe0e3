"""Whose variable is it: names and dotted paths of a function, and what outlives a call."""

from __future__ import annotations

import ast
from functools import lru_cache

from .context import Context
from .facts import Instance, options
from .walking import own_nodes as own

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def dotted(node: ast.AST) -> str:
    """Return "a.b.c" for a name or a chain of attributes on a name, else ""."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def root(node: ast.AST) -> str:
    """Return the name that a chain of attributes and items starts at, else ""."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def assignments(name: str, function: ast.AST) -> list[ast.Assign]:
    """Return the statements `name = …` of a function's body, those with other targets left out."""
    return [
        stmt
        for stmt in own(function)
        if isinstance(stmt, ast.Assign) and [ast.unparse(t) for t in stmt.targets] == [name]
    ]


def parameters(function: ast.AST) -> tuple[str, ...]:
    """Return the names of a function's parameters, in order."""
    spec = getattr(function, "args", None)
    if not isinstance(spec, ast.arguments):
        return ()
    plain = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    return tuple(a.arg for a in (*plain, spec.vararg, spec.kwarg) if a is not None)


@lru_cache(maxsize=4096)
def bound(function: ast.AST) -> frozenset[str]:
    """Return the names and dotted paths that a function's own body binds, parameters left out.

    Names it declares global or nonlocal belong to another scope.
    """
    found: set[str] = set()
    outside: set[str] = set()
    for node in own(function):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            found.add(dotted(node))
        elif isinstance(node, _NESTED) and not isinstance(node, ast.Lambda):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update((a.asname or a.name).partition(".")[0] for a in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            outside.update(node.names)
    return frozenset(found - outside - {""})


def outlives(node: ast.expr, ctx: Context, arguments: bool = True) -> bool:
    """Say whether a name or attribute surely holds an object that was there before the call.

    Globals, attributes of nn.Module objects, and parameters of the compiled entry (unless
    `arguments` is False: the next call may bring new ones) are; what the function binds itself
    isn't, nor what an enclosing function or a traced caller may have made.
    """
    path = dotted(node)
    name = path.partition(".")[0]
    made = bound(ctx.function)
    if not path or name in made or path in made:
        return False
    names = parameters(ctx.function)
    if name not in names and ctx.is_global(name):
        return True
    if name in names[1:] and ctx.entry:
        return arguments
    base = node
    while isinstance(base, ast.Attribute):
        base = base.value
    return any(isinstance(o, Instance) and o.module for o in options(ctx.fact(base)))
