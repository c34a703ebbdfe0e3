"""The JSON contract: a list of objects, one a finding."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...rules.base.finding import Finding, Fix
from ..outcome import Outcome

if TYPE_CHECKING:
    from ..fix.model import Judged


def render_json(
    outcome: Outcome, verdicts: Mapping[tuple[object, ...], Judged] | None = None
) -> str:
    """Return the findings as a JSON list, in the order of the report.

    verdicts  what became of rewrites that were tried, by the finding's `sort_key`
    """
    rows = []
    for finding in outcome.findings:
        row = to_dict(finding)
        judged = (verdicts or {}).get(finding.sort_key)
        if judged is not None:
            row["fix"] = {**_fix(judged.change.fix), "verdict": verdict_to_dict(judged)}
        rows.append(row)
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


def verdict_to_dict(judged: Judged) -> dict[str, Any] | None:
    """Return a verdict as JSON values, None where nothing was compiled."""
    verdict = judged.verdict
    if verdict is None:
        return None
    return {
        "status": verdict.status.value,
        "reason": verdict.reason,
        "applied": judged.applied,
        "source": verdict.source,
        "inputs": verdict.inputs,
        "arms": {"seen": verdict.arms[0], "all": verdict.arms[1]},
        "graph_breaks": {"before": verdict.breaks[0], "after": verdict.breaks[1]},
        "graphs": {"before": verdict.graphs[0], "after": verdict.graphs[1]},
        "gradients": verdict.gradients,
        "kernels": dict(zip(("generated", "interpreted", "built"), verdict.kernels)),
        "seconds": dict(zip(("eager", "before", "after"), verdict.seconds)),
    }


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
