"""What a repair did, in words: diffs, verdicts, sums. Values → text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import unified_diff

from ...rules.base.finding import Safety
from ..prove.model import Status, Verdict
from .model import Judged, Repair


def diff(repairs: Iterable[Repair]) -> str:
    """Return a unified diff of all changes, as `git apply` and `patch` understand it."""
    parts = []
    for repair in repairs:
        if repair.changed:
            shown = repair.target.shown
            before, after = repair.source.text, repair.text
            lines = unified_diff(
                before.splitlines(keepends=True),
                after.splitlines(keepends=True),
                f"a/{shown.lstrip('/')}",
                f"b/{shown.lstrip('/')}",
            )
            parts += [
                line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
                for line in lines
            ]
    return "".join(parts)


def fixes(repairs: Iterable[Repair], applied: str = "fixed") -> str:
    """Return a line for every rewrite, with its verdict; then what was declined, and why."""
    lines = []
    for repair in repairs:
        for judged in repair.judged:
            word = applied if judged.applied else "not " + applied
            lines.append(f"{_place(repair, judged)}: {word}: {judged.change.fix.title}")
            lines.append(f"    {status(judged)}")
        for finding in repair.declined:
            place = f"{repair.target.shown}:{finding.span.line}: {finding.code} {finding.name}"
            lines.append(f"{place}: not rewritten: {finding.declined}")
    return "".join(line + "\n" for line in lines)


def _place(repair: Repair, judged: Judged) -> str:
    finding = judged.change.finding
    after = f" (round {judged.change.round})" if judged.change.round > 1 else ""
    return f"{repair.target.shown}:{finding.span.line}{after}: {finding.code} {finding.name}"


def status(judged: Judged) -> str:
    """Return what is known of one rewrite: the proof's measurements, or why there is no proof."""
    verdict = judged.verdict
    if judged.proved:
        assert verdict is not None
        start = f"{verdict.reason} · " if verdict.reason else ""
        return f"{verdict.status.value}: {start}{proof(verdict)}"
    if judged.change.fix.safety is Safety.SAFE and judged.applied:
        return "safe by construction" + (f"; {judged.reason}" if judged.reason else "")
    word = verdict.status.value if verdict is not None else "not proved"
    reason = judged.reason or "proofs were not asked for"
    note = " (applied as --unsafe-fixes asks)" if judged.applied else ""
    return f"{word}: {reason}{note}"


def proof(verdict: Verdict) -> str:
    """Return what a proof measured, in one line."""
    seen, arms = verdict.arms
    parts = [f"{_count(verdict.inputs, 'input')} from {verdict.source}"]
    if arms:
        parts.append(f"{seen} of {arms} branch outcomes seen")
    parts.append("values and gradients equal" if verdict.gradients else "values equal")
    parts.append("graph breaks {} → {}".format(*verdict.breaks))
    if verdict.kernels[0]:
        parts.append("{} kernels, {} interpreted, {} built".format(*verdict.kernels))
    if any(verdict.seconds):
        eager, before, after = (f"{1e6 * s:.0f}" for s in verdict.seconds)
        parts.append(f"eager {eager} µs, before {before}, after {after}")
    return " · ".join(parts)


def summary(repairs: Sequence[Repair], written: int, applied: str = "Fixed") -> str:
    """Return the closing line, without its end."""
    every = [judged for repair in repairs for judged in repair.judged]
    done = [judged for judged in every if judged.applied]
    proved = sum(judged.proved for judged in done)
    mended = sum(j.verdict is not None and j.verdict.status is Status.MENDED for j in done)
    safe = sum(not j.proved and j.change.fix.safety is Safety.SAFE for j in done)
    kinds = [f"{proved - mended} proved", *([f"{mended} mended"] if mended else [])]
    kinds += [f"{safe} safe by construction"] if safe else []
    rest = len(done) - proved - safe
    kinds += [f"{rest} unproved"] if rest else []
    text = f"{applied} {_count(len(done), 'finding')}"
    if done:
        text += f" in {_count(written, 'file')} ({', '.join(kinds)})"
    left = len(every) - len(done)
    declined = sum(len(repair.declined) for repair in repairs)
    text += f"; {left} not proved" if left else ""
    text += f"; {declined} without a rewrite" if declined else ""
    return text


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
