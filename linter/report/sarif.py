"""SARIF 2.1.0, for code scanning services and editors."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from ...rules.base.finding import Finding, Severity
from ..catalog import RuleInfo, catalog
from ..docs import sections
from ..outcome import Outcome
from ..version import version
from .identity import fingerprints

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render_sarif(outcome: Outcome) -> str:
    """Return a log with one run; it describes the rules that its results name."""
    rules = catalog()
    codes = sorted({finding.code for finding in outcome.findings})
    number = {code: index for index, code in enumerate(codes)}
    notices = [
        {
            "level": "error",
            "message": {"text": problem.message},
            "locations": [_location(problem.path, _line_region(problem.line))],
        }
        for problem in outcome.diagnostics
    ]
    invocation: dict[str, Any] = {"executionSuccessful": not notices}
    if notices:
        invocation["toolExecutionNotifications"] = notices
    results = [
        _result(finding, number[finding.code], digest)
        for finding, digest in zip(outcome.findings, fingerprints(outcome.findings))
    ]
    driver = {
        "name": "compile-lint",
        "semanticVersion": version(),
        "rules": [_rule(code, rules.get(code)) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": results,
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _rule(code: str, info: RuleInfo | None) -> dict[str, Any]:
    if info is None:
        return {"id": code}
    return {
        "id": code,
        "name": info.name,
        "shortDescription": {"text": info.summary},
        "fullDescription": {"text": sections(info.docs).get("What it does", info.summary)},
        "help": {"text": info.docs, "markdown": info.docs},
        "defaultConfiguration": {"level": _LEVELS[info.severity]},
        "properties": {"breaks": list(info.breaks), "graphBreaks": list(info.graph_breaks)},
    }


def _result(finding: Finding, index: int, digest: str) -> dict[str, Any]:
    span = finding.span
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(finding.path, region)],
        "partialFingerprints": {"compileLint/v1": digest},
        "properties": {
            "breaks": [mode.value for mode in finding.breaks],
            "graphBreaks": list(finding.graph_breaks),
            "certainty": finding.certainty.value,
            "region": finding.region,
        },
    }
    if finding.cell is not None:
        result["properties"]["cell"] = finding.cell
    if finding.trail:
        result["relatedLocations"] = [
            {**_location(note.path, _line_region(note.line)), "message": {"text": note.message}}
            for note in finding.trail
        ]
    return result


def _line_region(line: int | None) -> dict[str, int] | None:
    return None if line is None else {"startLine": max(line, 1)}


def _location(path: str, region: dict[str, int] | None) -> dict[str, Any]:
    uri = quote(path.encode("utf-8", "surrogateescape"), safe="/:@!$&'()*+,;=~")
    if path.startswith("/"):
        uri = "file://" + uri
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if region is not None:
        physical["region"] = region
    return {"physicalLocation": physical}
