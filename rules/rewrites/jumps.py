"""Where a loop is left or cut short: `break` and `continue` under a test."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

JUMPS = (ast.Break, ast.Continue)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)


@dataclass(frozen=True, slots=True)
class Jump:
    """`if test: before…; break` with what else stands in its other arm."""

    test: ast.expr
    kind: ast.stmt
    before: tuple[ast.stmt, ...]
    other: tuple[ast.stmt, ...]
    inverse: bool = False


def jump_of(stmt: ast.stmt) -> Jump | None:
    if not isinstance(stmt, ast.If):
        return None
    if isinstance(stmt.body[-1], JUMPS):
        return Jump(stmt.test, stmt.body[-1], tuple(stmt.body[:-1]), tuple(stmt.orelse))
    if stmt.orelse and isinstance(stmt.orelse[-1], JUMPS):
        other = tuple(stmt.orelse[:-1])
        return Jump(stmt.test, stmt.orelse[-1], other, tuple(stmt.body), True)
    return None


def jump_inside(loop: ast.While | ast.For, kind: type[ast.stmt]) -> bool:
    """Say whether a loop has a `break` (or `continue`) of its own."""
    return leaves(loop.body, (kind,))


def leaves(body: Sequence[ast.stmt], kinds: tuple[type[ast.stmt], ...] = JUMPS) -> bool:
    """Say whether statements leave or cut short the loop around them."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, kinds):
            return True
        if not isinstance(node, (*_LOOPS, *SCOPES)):
            stack.extend(ast.iter_child_nodes(node))
    return False


def statements(stmt: ast.stmt) -> Iterator[ast.stmt]:
    yield stmt
    for child in ast.iter_child_nodes(stmt):
        if isinstance(child, ast.stmt) and not isinstance(child, SCOPES):
            yield from statements(child)
        elif isinstance(child, ast.match_case):
            for inner in child.body:
                yield from statements(inner)


def needs_space(stmt: ast.stmt, block: Sequence[ast.stmt]) -> bool:
    """Say whether a function written in place of a statement needs an empty line before it."""
    place = list(block).index(stmt)
    return place > 0 and stmt.lineno - (block[place - 1].end_lineno or 0) == 1
