"""Findings as plain JSON values: what worker processes send and what the cache keeps."""

from __future__ import annotations

from typing import Any

from ..rules.base.finding import (
    Certainty,
    Edit,
    Finding,
    Fix,
    Mode,
    Note,
    Safety,
    Severity,
    Site,
    Span,
)

_MODES = {mode.value: mode for mode in Mode}
_SEVERITIES = {severity.value: severity for severity in Severity}
_CERTAINTIES = {certainty.value: certainty for certainty in Certainty}


def encode_finding(finding: Finding) -> list[Any]:
    """Return the finding as a list of JSON values; `decode_finding` is its inverse."""
    return [
        finding.code,
        finding.name,
        finding.path,
        _span(finding.span),
        _span(finding.statement),
        finding.message,
        finding.severity.value,
        [mode.value for mode in finding.breaks],
        list(finding.graph_breaks),
        finding.certainty.value,
        [[note.path, note.line, note.message] for note in finding.trail],
        finding.region,
        [_encode_fix(fix) for fix in finding.fixes],
        finding.declined,
        None if finding.site is None else _encode_site(finding.site),
    ]


def decode_finding(row: list[Any]) -> Finding:
    """Return the finding that `encode_finding` was given."""
    (code, name, path, span, statement, message, severity, breaks, graph_breaks, certainty) = row[
        :10
    ]
    trail, region, fixes, declined, site = row[10:]
    return Finding(
        code,
        name,
        path,
        Span(*span),
        Span(*statement),
        message,
        _SEVERITIES[severity],
        tuple([_MODES[mode] for mode in breaks]),
        tuple(graph_breaks),
        _CERTAINTIES[certainty],
        tuple([Note(*note) for note in trail]),
        region,
        tuple([_decode_fix(fix) for fix in fixes]),
        declined,
        None if site is None else Site(site[0], site[1], tuple((n, spec) for n, spec in site[2])),
    )


def _span(span: Span) -> list[int]:
    return [span.line, span.column, span.end_line, span.end_column]


def _encode_site(site: Site) -> list[Any]:
    return [site.function, site.line, [list(pair) for pair in site.parameters]]


def _encode_fix(fix: Fix) -> list[Any]:
    edits = [[_span(edit.span), edit.text] for edit in fix.edits]
    return [fix.title, edits, fix.safety.value, list(fix.imports), list(fix.unused), fix.setting]


def _decode_fix(row: list[Any]) -> Fix:
    title, edits, safety, imports, unused, setting = row
    decoded = tuple(Edit(Span(*span), text) for span, text in edits)
    return Fix(title, decoded, Safety(safety), tuple(imports), tuple(unused), setting)
