"""One line a finding."""

from __future__ import annotations

from ...rules.base.finding import Finding
from ..outcome import Outcome


def place(finding: Finding) -> str:
    """Return `path:line:column`, with the cell for notebooks."""
    cell = "" if finding.cell is None else f"cell {finding.cell}:"
    return f"{finding.path}:{cell}{finding.span.line}:{finding.span.column}"


def render_concise(outcome: Outcome) -> str:
    """Return `path:line:column: CODE [severity] message` lines."""
    lines = [
        f"{place(finding)}: {finding.code} [{finding.severity.value}] {one_line(finding.message)}"
        for finding in outcome.findings
    ]
    return "".join(f"{line}\n" for line in lines)


def one_line(message: str) -> str:
    """Return the message without line breaks and what would steer a terminal."""
    text = "".join(char if char.isprintable() else " " for char in message)
    return " ".join(text.split())
