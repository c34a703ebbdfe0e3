"""Statements of a source: which one a line belongs to, and which ones a run went through."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

Lines = tuple[int, int]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# A body that may not have ended when what follows it runs.
_REPEATED_OR_GUARDED = (
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.Try,
    getattr(ast, "TryStar", ast.Try),  # since Python 3.11
)
_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom)


def statement_lines(tree: ast.AST) -> dict[int, Lines]:
    """Return, for every line, first and last line of the innermost statement over it.

    A statement with a body is its header. Lines that no statement covers are left out.
    """
    found: dict[int, Lines] = {}
    # ast.walk is breadth first, so inner statements overwrite outer ones.
    for node in ast.walk(tree):
        span = header(node)
        if span is not None:
            found.update(dict.fromkeys(range(span[0], span[1] + 1), span))
    return found


def header(node: ast.AST) -> Lines | None:
    """Return the lines of a statement, cut before its body; None for other nodes."""
    if isinstance(node, ast.match_case):
        start, end = node.pattern.lineno, node.body[0].lineno - 1
    elif isinstance(node, (ast.stmt, ast.excepthandler)):
        start = _first_line(node)
        end = node.end_lineno or start
        inner = getattr(node, "body", None) or getattr(node, "cases", None)
        if inner:
            end = _first_line(inner[0]) - 1
    else:
        return None
    return start, max(start, end)  # `if x: y` on one line: header and body share it


def before(tree: ast.AST, line: int) -> Iterator[Lines]:
    """Yield the statements that must have run in a function that has come to this line.

    The line's own is among them. Nothing for lines outside of functions.
    """
    for block, index in _path(tree, line):
        for statement in block[:index]:
            yield from _certain(statement)
        own = header(block[index])
        if own is not None:
            yield own


def after(tree: ast.AST, line: int, resumed: bool) -> Iterator[Lines]:
    """Yield the statements that must run in a function that goes on from here to its end.

    resumed  the line is where it goes on; otherwise it is the first line of the function
    """
    if not resumed:
        for node in ast.walk(tree):
            if isinstance(node, _FUNCTIONS[:2]) and line in (_first_line(node), node.lineno):
                yield from _until_left(node.body)
        return
    path = _path(tree, line)
    for depth, (block, index) in enumerate(reversed(path)):
        statement, rest = block[index], block[index + 1 :]
        if _leaves(statement) or (depth and isinstance(statement, _REPEATED_OR_GUARDED)):
            return
        yield from _until_left(rest)
        if any(map(_leaves, rest)):
            return


def _until_left(block: Iterable[ast.stmt]) -> Iterator[Lines]:
    for statement in block:
        yield from _certain(statement)
        if _leaves(statement):
            return


def _certain(statement: ast.AST) -> Iterator[Lines]:
    """Yield what has run once a statement has: its header, of `with` also the body."""
    own = header(statement)
    if own is not None:
        yield own
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        yield from _until_left(statement.body)


def _leaves(statement: ast.AST) -> bool:
    """Say whether a statement may leave the block that it stands in."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, _LEAVES):
            return True
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            stack += ast.iter_child_nodes(node)
    return False


def _path(tree: ast.AST, line: int) -> list[tuple[Sequence[ast.stmt], int]]:
    """Return the blocks around a line within its innermost function, outermost first.

    Each comes with the position of the statement that holds the line.
    """
    path: list[tuple[Sequence[ast.stmt], int]] = []
    node: ast.AST | None = tree
    inside = False
    while node is not None:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            path, inside = [], not isinstance(node, ast.ClassDef)
        node, step = _step(node, line)
        if step is not None:
            path.append(step)
    return path if inside else []


def _step(node: ast.AST, line: int) -> tuple[ast.AST | None, tuple[Sequence[ast.stmt], int] | None]:
    """Return the statement (or clause) of a node's blocks that holds a line."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        block = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        for index, inner in enumerate(block):
            if _first_line(inner) <= line <= _last_line(inner):
                clause = name in ("handlers", "cases")
                return inner, None if clause else (block, index)
    return None, None


def _first_line(node: ast.AST) -> int:
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(d.lineno for d in decorators)])  # type: ignore[attr-defined]


def _last_line(node: ast.AST) -> int:
    if isinstance(node, ast.match_case):
        return node.body[-1].end_lineno or node.body[-1].lineno
    return node.end_lineno or node.lineno  # type: ignore[attr-defined]
