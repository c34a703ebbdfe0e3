"""GitLab's Code Quality report."""

from __future__ import annotations

import json

from ...rules.base.finding import Severity
from ..outcome import Outcome
from .concise import one_line
from .identity import fingerprints

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render_gitlab(outcome: Outcome) -> str:
    """Return a JSON list of issues."""
    rows = []
    for finding, digest in zip(outcome.findings, fingerprints(outcome.findings)):
        span = finding.span
        rows.append(
            {
                "description": f"{finding.code}: {one_line(finding.message)}",
                "check_name": finding.name,
                "fingerprint": digest,
                "severity": _SEVERITIES[finding.severity],
                "location": {
                    "path": finding.path,
                    "positions": {
                        "begin": {"line": span.line, "column": span.column},
                        "end": {"line": span.end_line, "column": span.end_column},
                    },
                },
            }
        )
    return json.dumps(rows, indent=2) + "\n"
