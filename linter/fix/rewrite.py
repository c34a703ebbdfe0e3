"""From findings with fixes to a text in which nothing is left to rewrite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...rules.base.finding import Edit, Finding
from .edits import apply_fixes, overlap
from .model import Change, Choice, Key, Rewritten
from .subject import Subject, keyed

ROUNDS = 10


def rewrite(subject: Subject, choice: Choice) -> Rewritten:
    """Apply the chosen fixes, lint again, and go on until nothing changes (at most 10 rounds).

    A fix that makes the text unparsable, or that leaves more findings than it found, is withdrawn.
    """
    withdrawn: list[tuple[Change, str]] = []
    while True:
        text, changes, left, bad = _rounds(subject, choice)
        culprit = bad or _new_findings(subject, changes, left)
        if culprit is None:
            return Rewritten(text, tuple(changes), tuple(withdrawn), tuple(left))
        withdrawn.append(culprit)
        choice = replace(choice, levels={**choice.levels, culprit[0].key: -1})


def _rounds(
    subject: Subject, choice: Choice
) -> tuple[str, list[Change], Sequence[Finding], tuple[Change, str] | None]:
    text, findings = subject.source.text, subject.findings
    first = dict(keyed(text, findings))
    changes: list[Change] = []
    for number in range(1, ROUNDS + 1):
        chosen = _chosen(text, findings, choice, number, first)
        if not chosen:
            break
        try:
            text = apply_fixes(text, [change.fix for change in chosen], subject.source.path)
            findings = subject.lint(text)
        except ValueError as error:
            return text, changes, findings, (_culprit(text, chosen), str(error))
        changes += chosen
    return text, changes, findings, None


def _chosen(
    text: str,
    findings: Sequence[Finding],
    choice: Choice,
    number: int,
    first: Mapping[Key, Finding],
) -> list[Change]:
    """Return disjoint fixes, smallest first: what is inside is rewritten before what is around.

    What waits for others is still of the first round if it was found there. Settings of the whole
    process wait for all else: rewrites may make do without.
    """
    offered = []
    for key, finding in keyed(text, findings):
        fix = choice.of(key, finding.fixes)
        if fix is not None and fix.edits:
            known = first.get(key)
            when = number if known is None else 1
            offered.append(Change(key, known or finding, fix, when, len(finding.fixes)))
    if not all(change.fix.setting for change in offered):
        offered = [change for change in offered if not change.fix.setting]
    taken: list[Change] = []
    edits: list[Edit] = []
    for change in sorted(offered, key=_size):
        if not overlap(change.fix.edits, edits):
            taken.append(change)
            edits += change.fix.edits
    return sorted(taken, key=lambda change: change.fix.edits[0].span)


def _size(change: Change) -> tuple[int, int, int]:
    first, last = change.fix.edits[0].span, change.fix.edits[-1].span
    width = last.end_column - first.column if first.line == last.end_line else 0
    return (last.end_line - first.line, width, first.line)


def _culprit(text: str, chosen: Sequence[Change]) -> Change:
    """Return the first change that breaks the text by itself, else the last one."""
    for change in chosen:
        try:
            apply_fixes(text, [change.fix])
        except ValueError:
            return change
    return chosen[-1]


def _new_findings(
    subject: Subject, changes: Sequence[Change], left: Iterable[Finding]
) -> tuple[Change, str] | None:
    """Return a change after which its function has more findings than it should have left."""
    expected = Counter(map(_function, subject.findings))
    expected.subtract(_function(change.finding) for change in changes if change.round == 1)
    remaining = Counter(map(_function, left))
    for function, count in remaining.items():
        mine = [c for c in changes if c.round == 1 and _function(c.finding) == function]
        if count <= expected[function] or not mine:
            continue
        culprit = next((c for c in mine if _is_worse(subject, c)), mine[-1])
        return culprit, f"new findings remain in `{function}` after it"
    return None


def _is_worse(subject: Subject, change: Change) -> bool:
    if change.fix not in change.finding.fixes:
        return False  # others made it possible: it is for a later text
    function = _function(change.finding)
    source = subject.source
    after = subject.lint(apply_fixes(source.text, [change.fix], source.path))
    before = sum(_function(finding) == function for finding in subject.findings)
    return sum(_function(finding) == function for finding in after) >= before


def _function(finding: Finding) -> str:
    return finding.site.function if finding.site is not None else ""
