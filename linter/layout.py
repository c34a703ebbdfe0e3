"""How wide the lines of a file are: as its formatter is told, else as its code shows."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..rules.rewrites.formatting import Layout, statement_lines
from .config import ConfigError, read_toml
from .lexical import lexical

_WIDTHS = (88, 100, 119)
_ELSE = 120
_PRAGMA = re.compile(r"#\s*(noqa|type:|pyright:|pylint:|flake8:|ruff:|isort:|nosec|ty:)")
_SIDE_BY_SIDE = re.compile(r"""["']\s+[A-Za-z]{0,2}["']""")
_HEADS = (ast.If, ast.While, ast.For, ast.With)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr, ast.Raise, ast.Assert)


@dataclass(frozen=True, slots=True)
class Placed:
    """A simple statement, or the head of a compound one, that has its lines for itself.

    first, last  its lines, counted from 1
    comment      the comment behind it
    """

    first: int
    last: int
    indent: str
    source: str
    comment: str

    def lines(self, layout: Layout) -> list[str] | None:
        """Return its lines as a formatter would have them, None where that isn't known."""
        behind = f"  {self.comment}" if self.comment else ""
        reserved = 0 if _PRAGMA.match(self.comment) else len(behind)
        made = statement_lines(self.source, self.indent, layout, reserved)
        return made if made is None else [*made[:-1], made[-1] + behind]

    @property
    def has_strings_side_by_side(self) -> bool:
        """Say whether it holds strings that a formatter may join where they fit on a line."""
        return _SIDE_BY_SIDE.search(self.source) is not None


def statements(text: str, tree: ast.Module) -> Iterator[Placed]:
    """Yield the statements of a text that a formatter may break, and the heads of others."""
    lines = text.split("\n")
    comments = lexical(text).comments
    for node in ast.walk(tree):
        if not isinstance(node, (*_SIMPLE, *_HEADS)):
            continue
        first = node.lineno
        start = len(lines[first - 1].encode()[: node.col_offset].decode())
        last = _head_end(node, lines, comments) if isinstance(node, _HEADS) else node.end_lineno
        if lines[first - 1][:start].strip() or last is None:
            continue
        code, comment = lines[first - 1 : last], comments.get(last, "")
        if comment:
            code[-1] = code[-1][: code[-1].rindex(comment)].rstrip()
        if not isinstance(node, _HEADS):
            end = len(lines[last - 1].encode()[: node.end_col_offset].decode())
            if code[-1].rstrip() != lines[last - 1][:end]:
                continue  # another statement stands behind it
        source = "\n".join([code[0][start:], *code[1:]])
        if not source.endswith("\\") and "\\\n" not in source:
            yield Placed(first, last, lines[first - 1][:start], source, comment)


def _head_end(
    node: ast.If | ast.While | ast.For | ast.With, lines: list[str], comments: Mapping[int, str]
) -> int | None:
    """Return the line in which the head of a statement ends, None where its body starts in it."""
    if isinstance(node, ast.With):
        line = node.items[-1].context_expr.end_lineno or 0
    else:
        line = (node.iter if isinstance(node, ast.For) else node.test).end_lineno or 0
    while line < node.body[0].lineno:
        code = lines[line - 1]
        if line in comments:
            code = code[: code.rindex(comments[line])]
        if code.rstrip().endswith(":"):
            return line
        line += 1
    return None


def step(tree: ast.Module, text: str) -> str:
    """Return one level of indentation as a text writes it, such as four spaces."""
    for stmt in tree.body:
        body = getattr(stmt, "body", None)
        if body and body[0].lineno > stmt.lineno:
            line = text.split("\n")[body[0].lineno - 1]
            return line[: len(line) - len(line.lstrip())]
    return "    "


@lru_cache(maxsize=16)
def line_width(text: str, path: str) -> int:
    """Return how wide a formatter makes the lines of a file: 88, 100, 119, 120, or as configured.

    Of several widths it is the first one at which what is longer can't be broken.
    """
    told = _configured(os.path.dirname(path)) if os.path.isabs(path) else None
    if told is not None:
        return told
    lines = text.split("\n")
    long = {number for number, line in enumerate(lines, 1) if len(line) > _WIDTHS[0]}
    long -= lexical(text).strings
    if not long:
        return _WIDTHS[0]
    found = [
        placed
        for placed in statements(text, ast.parse(text))
        if any(number in long for number in range(placed.first, placed.last + 1))
    ]
    for width in _WIDTHS:
        layout = Layout(width, "    ")
        over = [p for p in found if any(len(x) > width for x in lines[p.first - 1 : p.last])]
        made = ((p, p.lines(layout)) for p in over)
        if all(new in (None, lines[p.first - 1 : p.last]) for p, new in made):
            return width
    return _ELSE


@lru_cache(maxsize=64)
def _configured(folder: str) -> int | None:
    """Return the line length that the nearest configuration of Ruff or Black states."""
    while True:
        for name in ("ruff.toml", ".ruff.toml", "pyproject.toml"):
            table = _table(os.path.join(folder, name))
            length = table.get("line-length", table.get("line_length"))
            if isinstance(length, int):
                return length
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = parent


def _table(path: str) -> dict[str, Any]:
    if not os.path.isfile(path):
        return {}
    try:
        document = read_toml(path)
    except ConfigError:
        return {}  # the run tells of it, if the file is its own configuration
    if os.path.basename(path) != "pyproject.toml":
        return document
    tools = document.get("tool", {})
    return {**tools.get("black", {}), **tools.get("ruff", {})}
