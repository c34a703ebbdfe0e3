"""New lines of a text that got too long, or that a formatter would join, are laid out anew."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ...rules.rewrites.formatting import Layout
from ..layout import Placed, line_width, statements, step

Lines = tuple[int, int]  # the first and the last one, counted from 1


def reflowed(
    before: str, old: Sequence[Lines], after: str, new: Sequence[Lines], path: str = ""
) -> str:
    """Return a text after edits, its new lines broken as in the width of the text before them.

    `old` are the lines that the edits replaced, `new` those that they made. What is longer than the
    width is broken; what fits on fewer lines is joined if `old` was as a formatter would have it.
    """
    tree = ast.parse(after)
    layout = Layout(line_width(before, path), step(tree, after))
    lines = after.split("\n")
    joins: bool | None = None
    for placed in sorted(_of(after, tree, new), key=lambda one: -one.first):
        own = lines[placed.first - 1 : placed.last]
        over = _over(own, layout)
        made = placed.lines(layout) if over or len(own) > 1 else None
        if made is None or made == own:
            continue
        wanted = _over(made, layout) < over
        if not over and not placed.has_strings_side_by_side:
            joins = _is_tidy(before, old, layout) if joins is None else joins
            wanted = joins
        if wanted:
            lines[placed.first - 1 : placed.last] = made
    return "\n".join(lines)


def _over(lines: Sequence[str], layout: Layout) -> int:
    return sum(len(line) > layout.width for line in lines)


def _is_tidy(text: str, ranges: Sequence[Lines], layout: Layout) -> bool:
    """Say whether statements of several lines are as a formatter would have them."""
    lines = text.split("\n")
    for placed in _of(text, ast.parse(text), ranges):
        own = lines[placed.first - 1 : placed.last]
        if len(own) > 1 and placed.lines(layout) not in (None, own):
            return False
    return True


def _of(text: str, tree: ast.Module, ranges: Sequence[Lines]) -> Iterable[Placed]:
    """Return the statements that share a line with one of the ranges."""
    return [
        placed
        for placed in statements(text, tree)
        if any(first <= placed.last and placed.first <= last for first, last in ranges)
    ]
