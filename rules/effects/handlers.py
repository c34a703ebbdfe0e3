"""What a `try` statement waits for, and what it guards."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Try)


def caught(node: ast.Try) -> frozenset[str]:
    """Return the last names of the exceptions whose handlers go on; "" for a bare `except:`.

    A handler that raises hands the error on: the code doesn't live with the failure.
    """
    names: set[str] = set()
    for handler in node.handlers:
        if any(isinstance(part, ast.Raise) for stmt in handler.body for part in ast.walk(stmt)):
            continue
        if handler.type is None:
            names.add("")
            continue
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        for kind in kinds:
            if isinstance(kind, ast.Name):
                names.add(kind.id)
            elif isinstance(kind, ast.Attribute):
                names.add(kind.attr)
    return frozenset(names)


def guarded(node: ast.Try) -> Iterator[ast.AST]:
    """Yield the nodes of the `try` block in source order, nested functions and tries left out."""
    stack: list[ast.AST] = list(reversed(node.body))
    while stack:
        part = stack.pop()
        yield part
        if not isinstance(part, _NESTED):
            stack.extend(reversed(list(ast.iter_child_nodes(part))))
