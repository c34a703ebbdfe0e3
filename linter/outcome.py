"""The result of a run, as reports get it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..rules.base.finding import Finding, Severity
from ..rules.base.valueclass import valueclass
from .model import Diagnostic, RegionReport


@valueclass
class Outcome:
    """What a run found. Paths are as the user named them.

    checked     files that were looked at, broken ones included
    suppressed  findings that comments hide
    baselined   findings that the baseline holds
    excerpts    the source lines of every finding's `span.line` to `span.end_line`, in the same
                order as `findings`; empty when nobody asked for them
    """

    findings: tuple[Finding, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    checked: int = 0
    suppressed: int = 0
    baselined: int = 0
    regions: tuple[RegionReport, ...] = ()
    excerpts: tuple[tuple[str, ...], ...] = ()

    def exit_code(self, exit_zero: bool = False) -> int:
        """Return 2 when something couldn't be linted, else 1 for findings, else 0."""
        if self.diagnostics:
            return 2
        return 1 if self.findings and not exit_zero else 0


def summary(outcome: Outcome) -> str:
    """Return the last line of human-readable reports."""
    files = _count(outcome.checked, "file")
    if not outcome.findings:
        text = f"No findings; {files} checked"
    else:
        counts = Counter(finding.severity for finding in outcome.findings)
        kinds = [
            _count(counts[severity], word)
            for severity, word in (
                (Severity.ERROR, "error"),
                (Severity.WARNING, "warning"),
                (Severity.INFO, "info"),
            )
            if counts[severity]
        ]
        places = _count(len({finding.path for finding in outcome.findings}), "file")
        total = _count(len(outcome.findings), "finding")
        text = f"Found {total} ({', '.join(kinds)}) in {places}; {files} checked"
    if outcome.baselined:
        text += f"; {outcome.baselined} in the baseline"
    return text


def statistics(findings: Sequence[Finding]) -> str:
    """Return a table of how often each rule was seen, most often first."""
    counts = Counter((finding.code, finding.name) for finding in findings)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    width = len(str(rows[0][1])) if rows else 0
    return "".join(f"{count:>{width}}  {code}  {name}\n" for (code, name), count in rows)


def _count(number: int, word: str) -> str:
    plural = "" if number == 1 or word == "info" else "s"
    return f"{number} {word}{plural}"
