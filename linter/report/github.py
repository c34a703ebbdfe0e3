"""Workflow commands that GitHub Actions turns into annotations."""

from __future__ import annotations

from ...rules.base.finding import Severity
from ..outcome import Outcome
from .concise import place

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_github(outcome: Outcome) -> str:
    """Return one `::error file=…` command a finding, and one for what couldn't be linted."""
    lines = []
    for problem in outcome.diagnostics:
        line = "" if problem.line is None else f",line={problem.line}"
        file = _property(problem.path)
        lines.append(f"::error title=compile-lint,file={file}{line}::{_data(problem.message)}")
    for finding in outcome.findings:
        span = finding.span
        # Lines within a notebook's cell mean nothing to the file as a whole.
        where = f"line={span.line},col={span.column},endLine={span.end_line}"
        if span.line == span.end_line:
            where += f",endColumn={span.end_column}"
        where = "" if finding.cell is not None else f",{where}"
        title = _property(f"compile-lint ({finding.code})")
        head = f"::{_COMMANDS[finding.severity]} title={title},file={_property(finding.path)}"
        message = _data(f"{place(finding)}: {finding.code} {finding.message}")
        lines.append(f"{head}{where}::{message}")
    return "".join(line + "\n" for line in lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
