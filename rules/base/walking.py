"""Walking syntax trees.

Written out rather than with ast.walk: the linter spends much of its time here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

SCOPES = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef})
_SIMPLE = frozenset({ast.Assign, ast.Expr, ast.Return, ast.AnnAssign, ast.AugAssign, ast.Assert})
# Fields that never hold nodes worth a visit: contexts, operators, plain strings and numbers.
_PLAIN = frozenset(
    "ctx op ops id attr arg asname module level type_comment kind conversion is_async simple "
    "rest kwd_attrs name tag lineno str".split()
)
# Lists that hold None beside nodes, or names.
_MIXED = frozenset({"keys", "kw_defaults", "names"})
# What is left of a node's fields holds nodes, lists of them, or None.
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: (), ast.MatchSingleton: ()}
if hasattr(ast, "TypeAlias"):  # since 3.12: the one name that is a node
    _FIELDS[ast.TypeAlias] = ("name", "type_params", "value")  # type: ignore[attr-defined]
# Where statements hold statements; the order is that of `_fields`.
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    found = _FIELDS[kind] = tuple(name for name in kind._fields if name not in _PLAIN)
    return found


def own_nodes(function: ast.AST) -> list[ast.AST]:
    """Return the nodes of a function's body, not those of functions and classes nested in it."""
    body = getattr(function, "body", [])
    return _below(list(body) if isinstance(body, list) else [body], SCOPES)


def own_statements(function: ast.AST) -> list[ast.AST]:
    """Return the statements among `own_nodes`, in the same order; a tenth of them all."""
    body = getattr(function, "body", [])
    stack: list[ast.AST] = list(body) if isinstance(body, list) else []
    found: list[ast.AST] = []
    while stack:
        node = stack.pop()
        found.append(node)
        if type(node) in _SIMPLE or type(node) in SCOPES:
            continue
        for name in _BLOCKS:
            stack += getattr(node, name, ())
    return found


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
            if type(value) is not list:
                if value is not None:
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
            for item in getattr(node, "decorator_list", ()):
                found[item] = node  # it runs in the function around
            continue
        fields = known.get(kind)
        for name in _fields(kind) if fields is None else fields:
            value = getattr(node, name, None)
            if type(value) is not list:
                if value is not None:
                    found[value] = node
            elif name in _MIXED:
                found.update((item, node) for item in value if isinstance(item, ast.AST))
            else:
                for item in value:
                    found[item] = node
    return found


__all__ = ["all_nodes", "own_nodes", "own_statements", "parents_of"]
