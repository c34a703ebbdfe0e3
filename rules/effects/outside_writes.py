"""What a function that becomes a graph of its own writes outside itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..base import (
    Context,
    Fact,
    Function,
    Instance,
    Mapping,
    Origin,
    Sequence,
    Sighting,
    options,
)
from ..base.scopes import bound, dotted, own, parameters, root

_GROW = frozenset({"append", "extend", "insert", "appendleft", "setdefault"})


@lru_cache(maxsize=8)  # one function is often checkpointed many times in a row
def written_outside(
    function: Any, holders: frozenset[str] = frozenset()
) -> tuple[tuple[ast.stmt, str], ...]:
    """Return (statement, target) for writes of a FunctionInfo to what it didn't make itself.

    Writes to attributes of `self` and of captured objects, items of captured dicts and lists
    (those among `holders`, others where the key is a string), lists that grow, and names declared
    global or nonlocal. In-place writes to tensors are part of the graph, and not meant here.
    """
    return tuple(_written(function, holders))


def _written(function: Any, holders: frozenset[str]) -> Iterator[tuple[ast.stmt, str]]:
    node = function.node
    inner = set(bound(node)) | set(parameters(node))
    if function.cls is not None and parameters(node) and not _static(function):
        inner.discard(parameters(node)[0])  # `self` was there before
    outside: set[str] = set()
    parts = list(own(node))
    for part in parts:
        if isinstance(part, (ast.Global, ast.Nonlocal)):
            outside.update(part.names)
    for part in sorted(parts, key=lambda n: getattr(n, "lineno", 0)):
        if isinstance(part, (ast.Assign, ast.AugAssign)):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            for target in targets:
                if _is_write(target, inner, outside, holders):
                    yield part, ast.unparse(target)
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            if _grows(part.value.func, inner):
                yield part, ast.unparse(part.value.func)
    if isinstance(node, ast.Lambda) and isinstance(node.body, ast.Call):
        if _grows(node.body.func, inner):
            yield ast.copy_location(ast.Expr(node.body), node.body), ast.unparse(node.body.func)


def _static(function: Any) -> bool:
    return any(getattr(deco, "id", "") == "staticmethod" for deco in function.decorators)


def _is_write(
    target: ast.expr, inner: set[str], outside: set[str], holders: frozenset[str]
) -> bool:
    if isinstance(target, ast.Name):
        return target.id in outside
    if root(target) in inner:
        return False
    if isinstance(target, ast.Attribute):
        return bool(dotted(target))
    if not isinstance(target, ast.Subscript):
        return False
    named = isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str)
    return named or dotted(target.value) in holders


def _grows(function: ast.expr, inner: set[str]) -> bool:
    if not isinstance(function, ast.Attribute) or function.attr not in _GROW:
        return False
    name = root(function.value)
    return bool(name) and name not in inner


def first_write(fact: Fact, call: ast.Call, why: str, ctx: Context) -> Iterator[Sighting]:
    """Yield a sighting at the first outside write of a function that `call` is given."""
    for option in options(fact):
        info = option.function if isinstance(option, Function) else _forward(option)
        if info is None:
            continue
        for stmt, target in written_outside(info, _holders(option)):
            message = f"`{target}` is written by a function that {why}"
            if info.module.path == ctx.path:
                yield Sighting(stmt, message)
            else:
                origin = Origin(info.module.path, stmt.lineno, stmt.col_offset + 1, "the write")
                yield Sighting(call, message, origin=origin)
            return


def _holders(function: Fact) -> frozenset[str]:
    """Return the names of dicts and lists that a function takes from around it."""
    closure = function.closure if isinstance(function, Function) else ()
    return frozenset(
        name
        for name, fact in closure
        if all(
            isinstance(o, Mapping) or (isinstance(o, Sequence) and o.kind == "list")
            for o in options(fact)
        )
    )


def _forward(fact: Fact) -> Any:
    if isinstance(fact, Instance) and fact.module and not isinstance(fact.cls, str):
        return fact.cls.methods.get("forward")
    return None
