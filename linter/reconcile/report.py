"""A reconciliation as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...rules.base.finding import Finding
from ..report.concise import one_line, place
from ..report.json import to_dict
from .model import Prediction, Reconciliation, RunLog

_FEW_RULES = 6


def render_text(result: Reconciliation, with_summary: bool) -> str:
    """Return the report for people: predicted, missed, over-reported, and a line of sums."""
    lines: list[str] = []
    for item in result.predicted:
        lines.append(f"predicted{' at the call' if item.at_call else ''}: {_break(item)}")
        lines += [f"    {_finding(finding)}" for finding in item.findings]
    for item in result.missed:
        lines.append(f"missed: {_break(item)}")
        lines += [f"    {text}" for text in _why(item)]
    for finding in result.over_reported:
        lines.append(f"over-reported: {_finding(finding)}")
    if with_summary:
        lines.append(_summary(result))
    return "".join(f"{line}\n" for line in lines)


def render_json(result: Reconciliation, log: RunLog, target_torch: str) -> str:
    """Return the JSON object that docs/reconcile.md describes."""
    document = {
        "torch": log.torch or None,
        "target_torch": target_torch,
        "predicted": [_row(item) for item in result.predicted],
        "missed": [_row(item) for item in result.missed],
        "over_reported": [to_dict(finding) for finding in result.over_reported],
        "not_exercised": result.not_exercised,
        "outside": result.outside,
        "changed": [{"path": frame.file, "line": frame.line} for frame in result.changed],
    }
    return json.dumps(document, indent=2) + "\n"


def _break(item: Prediction) -> str:
    logged = item.logged
    ids = f" [{', '.join(logged.ids)}]" if logged.ids else ""
    name = f" in {item.frame.name}" if item.frame.name else ""
    times = f", {logged.count} times" if logged.count > 1 else ""
    eager = "; the function runs eagerly" if logged.eager else ""
    where = f"{item.path}:{item.frame.line}{name}"
    return one_line(f"{where}: {logged.reason}{ids}{times}{eager}")


def _why(item: Prediction) -> Iterator[str]:
    if item.logged.explanation:
        yield f"reason: {one_line(item.logged.explanation)}"
    inner = item.logged.frames[-1]
    if inner.line != item.frame.line or inner.file != item.frame.file:
        yield f"raised at {one_line(inner.file)}:{inner.line}"
    if len(item.rules) > _FEW_RULES:
        count, known = len(item.rules), item.logged.ids[0]
        yield f"usually predicted by one of {count} rules: see `compile-lint rule {known}`"
    elif item.rules:
        yield f"usually predicted by {', '.join(item.rules)}"
    elif item.logged.ids:
        yield "no rule predicts it"


def _finding(finding: Finding) -> str:
    return f"{place(finding)}: {finding.code} {finding.name}: {one_line(finding.message)}"


def _summary(result: Reconciliation) -> str:
    found, missed = len(result.predicted), len(result.missed)
    at_call = sum(item.at_call for item in result.predicted)
    calls = f" ({at_call} at the call)" if at_call else ""
    parts = [
        f"{_count(found + missed, 'break')}: {found} predicted{calls}, {missed} missed",
        f"{_count(len(result.over_reported), 'finding')} over-reported",
        f"{result.not_exercised} not exercised",
    ]
    if result.outside:
        parts.append(f"{_count(result.outside, 'break')} outside of the linted files")
    return "; ".join(parts)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _row(item: Prediction) -> dict[str, Any]:
    logged = item.logged
    return {
        "path": item.path,
        "line": item.frame.line,
        "function": item.frame.name or None,
        "reason": logged.reason,
        "explanation": logged.explanation,
        "graph_breaks": list(logged.ids),
        "count": logged.count,
        "function_runs_eagerly": logged.eager,
        "stack": [
            {"file": frame.file, "line": frame.line, "function": frame.name or None}
            for frame in logged.frames
        ],
        "at_call": item.at_call,
        "findings": [to_dict(finding) for finding in item.findings],
        "rules": list(item.rules),
    }
