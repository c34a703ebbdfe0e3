"""Walking syntax trees.

Written out rather than with ast.walk: the linter spends much of its time here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

SCOPES = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef})
# Fields that never hold nodes worth a visit: contexts, operators, plain strings and numbers.
_PLAIN = frozenset(
    "ctx op ops id attr arg asname module level type_comment kind conversion is_async simple "
    "rest kwd_attrs".split()
)
# Lists that hold None beside nodes, or names.
_MIXED = frozenset({"keys", "kw_defaults", "names"})
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    found = _FIELDS[kind] = tuple(name for name in kind._fields if name not in _PLAIN)
    return found


def own_nodes(function: ast.AST) -> list[ast.AST]:
    """Return the nodes of a function's body, not those of functions and classes nested in it."""
    body = getattr(function, "body", [])
    return _below(list(body) if isinstance(body, list) else [body], SCOPES)


def all_nodes(tree: ast.AST) -> list[ast.AST]:
    """Return every node of a tree, in no order."""
    return _below([tree], frozenset())


def _below(stack: list[ast.AST], closed: frozenset[type[ast.AST]]) -> list[ast.AST]:
    known = _FIELDS
    found: list[ast.AST] = []
    while stack:
        node = stack.pop()
        found.append(node)
        kind = type(node)
        if kind in closed:
            continue
        fields = known.get(kind)
        for name in _fields(kind) if fields is None else fields:
            value = getattr(node, name, None)
            if value is None:
                continue
            if type(value) is not list:
                if isinstance(value, ast.AST):
                    stack.append(value)
            elif name in _MIXED:
                stack += [item for item in value if isinstance(item, ast.AST)]
            else:
                stack += value
    return found


def parents_of(nodes: Iterable[ast.AST]) -> dict[ast.AST, ast.AST]:
    """Map nodes of a function to their parents; nested functions and classes are not entered."""
    found: dict[ast.AST, ast.AST] = {}
    known = _FIELDS
    for node in nodes:
        kind = type(node)
        if kind in SCOPES:
            continue
        fields = known.get(kind)
        for name in _fields(kind) if fields is None else fields:
            value = getattr(node, name, None)
            if type(value) is list:
                for item in value:
                    if isinstance(item, ast.AST):
                        found[item] = node
            elif isinstance(value, ast.AST):
                found[value] = node
    return found


__all__ = ["all_nodes", "own_nodes", "parents_of"]
