"""Fixes → text: edits are applied all together or not at all, imports once."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

import libcst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, RemoveImportsVisitor

from ...rules.base.finding import Edit, Fix, Span
from .reflow import reflowed


def apply_fixes(text: str, fixes: Sequence[Fix], path: str = "") -> str:
    """Return the text with all edits made and missing imports added.

    The text, of the file at a path, has "\\n" line ends; lines that get too long are broken as a
    formatter breaks them. Raises ValueError when edits overlap, or when the result isn't Python any
    more.
    """
    edits = sorted((edit for fix in fixes for edit in fix.edits), key=lambda edit: edit.span)
    starts = line_starts(text)
    parts, done = [], 0
    old, new = [], []
    shift = 0
    for edit in edits:
        first, last = offsets(starts, edit.span, len(text))
        if first < done:
            raise ValueError("edits overlap")
        parts += [text[done:first], edit.text]
        done = last
        old.append((edit.span.line, edit.span.end_line))
        begin = edit.span.line + shift
        new.append((begin, begin + edit.text.count("\n")))
        shift += edit.text.count("\n") - (edit.span.end_line - edit.span.line)
    result = "".join([*parts, text[done:]])
    missing = tuple(dict.fromkeys(line for fix in fixes for line in fix.imports))
    try:
        ast.parse(result)
    except SyntaxError as error:
        raise ValueError(f"the result isn't Python: {error.msg}, line {error.lineno}") from error
    result = reflowed(text, old, result, new, path)
    unused = tuple(dict.fromkeys(line for fix in fixes for line in fix.unused))
    result = add_imports(result, missing) if missing else result
    return remove_imports(result, unused) if unused else result


def line_starts(text: str) -> list[int]:
    """Return the offset of every line."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


def offsets(starts: Sequence[int], span: Span, size: int) -> tuple[int, int]:
    """Return the offsets of a span; past the last line is the end of the text."""

    def place(line: int, column: int) -> int:
        return min(starts[line - 1] + column - 1, size) if line <= len(starts) else size

    return place(span.line, span.column), place(span.end_line, span.end_column)


def overlap(one: Iterable[Edit], other: Iterable[Edit]) -> bool:
    """Say whether two sets of edits touch the same text (or insert at the same place)."""
    others = list(other)
    return any(_touch(a.span, b.span) for a in one for b in others)


def _touch(a: Span, b: Span) -> bool:
    first, second = sorted((a, b))
    end = (first.end_line, first.end_column)
    start = (second.line, second.column)
    return start < end or (first.line, first.column) == start


def add_imports(text: str, statements: Sequence[str]) -> str:
    """Return the text with module-level imports ("import torch") that it doesn't have yet.

    They go where a sorted file has them: among their like, in the order of their names.
    """
    for statement in statements:
        text = _added(text, statement.split()[1])
    return text


def _added(text: str, name: str) -> str:
    body = ast.parse(text).body
    held = (alias.name for s in body if isinstance(s, ast.Import) for alias in s.names)
    if name in held:
        return text
    lines = text.split("\n")
    head = _leading_imports(body)
    if not head or any(_shares_line(stmt, lines) for stmt in head):
        context = CodemodContext()
        AddImportsVisitor.add_needed_import(context, name)
        return AddImportsVisitor(context).transform_module(libcst.parse_module(text)).code
    kinds = [_section(stmt) for stmt in head]
    mine = _section_of(name)
    new = [f"import {name}"]
    like = [stmt for stmt, kind in zip(head, kinds) if kind == mine]
    smaller = [s for s in like if isinstance(s, ast.Import) and s.names[0].name < name]
    if smaller:
        place = smaller[-1].end_lineno or 0
    elif like:
        place = _above(like[0], lines)
    elif lower := [stmt for stmt, kind in zip(head, kinds) if kind < mine]:
        place = lower[-1].end_lineno or 0
        new = ["", *new]
        if place < len(lines) and lines[place].strip():
            new.append("")
    else:
        place = _above(head[0], lines)
        new.append("")
    return "\n".join([*lines[:place], *new, *lines[place:]])


def _leading_imports(body: Sequence[ast.stmt]) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports that a module starts with, behind its docstring."""
    head: list[ast.Import | ast.ImportFrom] = []
    for number, stmt in enumerate(body):
        if isinstance(stmt, (ast.Import, ast.ImportFrom)):
            head.append(stmt)
        elif number or not (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)):
            break
    return head


def _section(stmt: ast.Import | ast.ImportFrom) -> int:
    if isinstance(stmt, ast.ImportFrom):
        return 3 if stmt.level else _section_of(stmt.module or "")
    return _section_of(stmt.names[0].name)


def _section_of(name: str) -> int:
    top = name.partition(".")[0]
    if top == "__future__":
        return 0
    return 1 if top in sys.stdlib_module_names else 2


def _shares_line(stmt: ast.stmt, lines: Sequence[str]) -> bool:
    behind = lines[(stmt.end_lineno or 1) - 1].encode()[stmt.end_col_offset :].strip()
    return stmt.col_offset > 0 or (bool(behind) and not behind.startswith(b"#"))


def _above(stmt: ast.stmt, lines: Sequence[str]) -> int:
    """Return how many lines stand above a statement and the comments that belong to it."""
    place = stmt.lineno - 1
    while place and lines[place - 1].startswith("#") and not lines[place - 1].startswith("#!"):
        place -= 1
    return place if any(not line.startswith("#") for line in lines[:place]) else stmt.lineno - 1


def remove_imports(text: str, statements: Sequence[str]) -> str:
    """Return the text without those of some imports that nothing in it uses any more."""
    context = CodemodContext()
    for statement in statements:
        node = ast.parse(statement).body[0]
        assert isinstance(node, (ast.Import, ast.ImportFrom))
        (alias,) = node.names
        if isinstance(node, ast.Import):
            RemoveImportsVisitor.remove_unused_import(context, alias.name, asname=alias.asname)
        else:
            RemoveImportsVisitor.remove_unused_import(
                context, node.module or "", alias.name, alias.asname
            )
    result = RemoveImportsVisitor(context).transform_module(libcst.parse_module(text)).code
    return _without_gaps(text, result)


def _without_gaps(before: str, after: str) -> str:
    """Return the text after lines are gone, with blank lines only where there were some."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    parts: list[str] = []
    skip = 0
    for kind, first, last, begin, end in SequenceMatcher(None, old, new, False).get_opcodes():
        parts += new[begin + skip : end]
        skip = 0
        if kind == "delete" and first and last < len(old) and old[last].strip():
            parts += [line for line in old[first:last] if not line.strip()][:1]
        elif kind == "delete" and last < len(old):
            above = first == 0 or not old[first - 1].strip()
            skip = int(above and not old[last].strip())
    return "".join(parts)
