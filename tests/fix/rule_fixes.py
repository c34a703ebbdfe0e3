"""Findings with the rewrites of rules only, without settings of the whole process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from compile_lint.rules.base.finding import Finding


def of_rules(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings without the fixes that turn on a setting."""
    return tuple(
        replace(finding, fixes=tuple(fix for fix in finding.fixes if not fix.setting))
        for finding in findings
    )
