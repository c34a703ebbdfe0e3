"""The words that a module's code uses, and the names that it declares global."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...rules.base.walking import all_nodes

_GLOBAL = re.compile(r"global\s")


def identifiers_in(tree: ast.AST) -> Iterator[str]:
    """Yield the words that code uses: names, attributes, imports, definitions, quoted words."""
    for node in all_nodes(tree):
        kind = type(node)
        if kind is ast.Name:
            yield node.id  # type: ignore[attr-defined]
        elif kind is ast.Attribute:
            yield node.attr  # type: ignore[attr-defined]
        elif kind is ast.Constant:
            value = node.value  # type: ignore[attr-defined]
            if isinstance(value, str) and value.isidentifier():
                yield value
        elif isinstance(node, (ast.alias, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.arg, ast.keyword)):
            yield node.arg or ""


def global_names(tree: ast.AST, text: str) -> set[str]:
    """Return the names that are declared global; the tree is walked where a line starts so."""
    starts = [found.start() for found in _GLOBAL.finditer(text)]  # fast, and mostly in comments
    if all(text[text.rfind("\n", 0, start) + 1 : start].strip() for start in starts):
        return set()
    return {n for node in all_nodes(tree) if isinstance(node, ast.Global) for n in node.names}


__all__ = ["global_names", "identifiers_in"]
