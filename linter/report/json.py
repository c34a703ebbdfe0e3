"""The JSON contract: a list of objects, one a finding."""

from __future__ import annotations

import json
from typing import Any

from ...rules.base.finding import Finding, Fix
from ..outcome import Outcome


def render_json(outcome: Outcome) -> str:
    """Return the findings as a JSON list, in the order of the report."""
    rows = [to_dict(finding) for finding in outcome.findings]
    return json.dumps(rows, indent=2) + "\n"


def to_dict(finding: Finding) -> dict[str, Any]:
    """Return a finding as JSON values. Lines and columns are 1-based.

    `cell` is there for notebooks only; lines then count from the top of the cell.
    """
    span = finding.span
    row: dict[str, Any] = {
        "code": finding.code,
        "name": finding.name,
        "path": finding.path,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "message": finding.message,
        "severity": finding.severity.value,
        "breaks": [mode.value for mode in finding.breaks],
        "graph_breaks": list(finding.graph_breaks),
        "certainty": finding.certainty.value,
        "trail": [
            {"path": note.path, "line": note.line, "message": note.message}
            for note in finding.trail
        ],
        "region": finding.region,
        "fix": _fix(finding.fixes[0]) if finding.fixes else None,
    }
    if finding.cell is not None:
        row["cell"] = finding.cell
    return row


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "safety": fix.safety.value,
        "edits": [
            {
                "line": edit.span.line,
                "column": edit.span.column,
                "end_line": edit.span.end_line,
                "end_column": edit.span.end_column,
                "text": edit.text,
            }
            for edit in fix.edits
        ],
    }
