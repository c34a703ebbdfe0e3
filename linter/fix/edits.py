"""Fixes → text: edits are applied all together or not at all, imports once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

import libcst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, RemoveImportsVisitor

from ...rules.base.finding import Edit, Fix, Span


def apply_fixes(text: str, fixes: Sequence[Fix]) -> str:
    """Return the text with all edits made and missing imports added.

    The text has "\\n" line ends. Raises ValueError when edits overlap, or when the result isn't
    Python any more.
    """
    edits = sorted((edit for fix in fixes for edit in fix.edits), key=lambda edit: edit.span)
    starts = line_starts(text)
    parts, done = [], 0
    for edit in edits:
        first, last = offsets(starts, edit.span, len(text))
        if first < done:
            raise ValueError("edits overlap")
        parts += [text[done:first], edit.text]
        done = last
    result = "".join([*parts, text[done:]])
    missing = tuple(dict.fromkeys(line for fix in fixes for line in fix.imports))
    try:
        ast.parse(result)
    except SyntaxError as error:
        raise ValueError(f"the result isn't Python: {error.msg}, line {error.lineno}") from error
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
    """Return the text with module-level imports ("import torch") that it doesn't have yet."""
    context = CodemodContext()
    for statement in statements:
        AddImportsVisitor.add_needed_import(context, statement.split()[1])
    return AddImportsVisitor(context).transform_module(libcst.parse_module(text)).code


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
