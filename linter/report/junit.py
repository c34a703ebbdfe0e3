"""JUnit XML: a test suite for each file, a failed case for each finding."""

from __future__ import annotations

import re
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from ..outcome import Outcome
from .concise import one_line, place

# What XML 1.0 can't hold, even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(outcome: Outcome) -> str:
    """Return the XML document; a run without findings is one passed case."""
    findings, problems = outcome.findings, outcome.diagnostics
    cases = len(findings) + len(problems) or 1
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites name="compile-lint" tests="{cases}" failures="{len(findings)}" '
        f'errors="{len(problems)}">',
    ]
    if not findings and not problems:
        lines += [
            '  <testsuite name="compile-lint" tests="1" failures="0" errors="0">',
            f'    <testcase name="{outcome.checked} files" classname="compile-lint"/>',
            "  </testsuite>",
        ]
    for path, group in groupby(findings, key=lambda finding: finding.path):
        members = list(group)
        count = len(members)
        lines.append(
            f'  <testsuite name={_attribute(path)} tests="{count}" failures="{count}" errors="0">'
        )
        for finding in members:
            span = finding.span
            message = _attribute(one_line(finding.message))
            text = _clean(f"{place(finding)}: {finding.code} {finding.message}")
            lines += [
                f"    <testcase name={_attribute(f'{finding.code} {finding.name}')} "
                f"classname={_attribute(path)} file={_attribute(path)} "
                f'line="{span.line}" column="{span.column}">',
                f'      <failure type="{finding.severity.value}" message={message}>'
                f"{escape(text)}</failure>",
                "    </testcase>",
            ]
        lines.append("  </testsuite>")
    for problem in problems:
        message = _attribute(one_line(problem.message))
        line = "" if problem.line is None else f' line="{problem.line}"'
        lines += [
            f'  <testsuite name={_attribute(problem.path)} tests="1" failures="0" errors="1">',
            f'    <testcase name="unreadable" classname={_attribute(problem.path)}{line}>',
            f"      <error message={message}/>",
            "    </testcase>",
            "  </testsuite>",
        ]
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))
