"""For people: source excerpt, reason trail, advice. Plain text, coloured on a terminal."""

from __future__ import annotations

from functools import cache

from ...rules.base.finding import Certainty, Finding, Mode, Severity
from ..docs import advice
from ..outcome import Outcome
from .concise import place

_WIDEST = 160
_MOST_LINES = 4
_COLORS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.INFO: "36"}
_BOLD, _DIM, _BLUE, _GREEN = "1", "2", "34", "32"


def render_full(outcome: Outcome, color: bool) -> str:
    """Return the report; with `color` the same text holds ANSI colours."""
    blocks = []
    excerpts = outcome.excerpts or ((),) * len(outcome.findings)
    for finding, lines in zip(outcome.findings, excerpts):
        blocks.append("\n".join(_finding(finding, lines, color)) + "\n\n")
    return "".join(blocks)


def _finding(finding: Finding, lines: tuple[str, ...], color: bool) -> list[str]:
    tint = _COLORS[finding.severity]
    head = f"{_style(place(finding), _BOLD, color)}: "
    head += f"{_style(finding.code, tint + ';1', color)} {finding.name}"
    head += f" {_style(f'[{_traits(finding)}]', _DIM, color)}"
    block = [head, *(f"  {_printable(line)}" for line in finding.message.split("\n"))]
    block += _excerpt(finding, lines, tint, color)
    for note in finding.trail:
        where = _style(f"{note.path}:{note.line}", _BLUE, color)
        block.append(f"  note: {where}: {_printable(note.message)}")
    if finding.region:
        block.append(f"  {_style('region:', _DIM, color)} {finding.region}")
    help_text = _advice(finding.code)
    if help_text:
        block.append(f"  {_style('help:', _GREEN, color)} {help_text}")
    return block


def _traits(finding: Finding) -> str:
    """Return severity, the modes it breaks in, certainty: `error, breaks fullgraph, likely`."""
    traits = [finding.severity.value]
    if Mode.FULLGRAPH in finding.breaks and Mode.DEFAULT in finding.breaks:
        traits.append("breaks the graph")
    elif finding.breaks:
        traits.append(f"breaks under {finding.breaks[0].value} only")
    if finding.certainty is Certainty.LIKELY:
        traits.append("likely")
    return ", ".join(traits)


def _excerpt(finding: Finding, lines: tuple[str, ...], tint: str, color: bool) -> list[str]:
    span = finding.span
    width = len(str(span.end_line))
    block = []
    for offset, text in enumerate(lines[:_MOST_LINES]):
        first = span.column - 1 if offset == 0 else len(text) - len(text.lstrip())
        last = span.end_column - 1 if span.line + offset == span.end_line else len(text.rstrip())
        text, first, last = _window(text, first, last)
        bar = _style(f"{span.line + offset:>{width}} |", _BLUE, color)
        block.append(f"  {bar} {text}")
        marks = " " * first + _style("^" * max(last - first, 1), tint + ";1", color)
        block.append(f"  {' ' * width} {_style('|', _BLUE, color)} {marks}")
    if len(lines) > _MOST_LINES:
        block.append(f"  {' ' * width} {_style('|', _BLUE, color)} ...")
    return block


def _window(text: str, first: int, last: int) -> tuple[str, int, int]:
    """Cut a long line down to the part around the underlined one; tabs and controls to spaces."""
    text = _printable(text[: last + _WIDEST])
    start = 0
    if len(text) > _WIDEST:
        start = max(0, first - _WIDEST // 4)
        cut = text[start : start + _WIDEST]
        head = "..." if start else ""
        tail = "..." if start + _WIDEST < len(text) else ""
        shift = start - len(head)
        text = head + cut + tail
        return text, first - shift, min(last - shift, len(text))
    return text, first, min(last, len(text))


def _printable(text: str) -> str:
    """Return the text with a space for tabs and for what would steer a terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


@cache
def _advice(code: str) -> str:
    return advice(code)


def _style(text: str, codes: str, color: bool) -> str:
    return f"\x1b[{codes}m{text}\x1b[0m" if color else text
