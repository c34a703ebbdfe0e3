"""Which rewrites of a file are kept: those that a proof holds for, alone or together."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, Protocol

from ...rules.base.finding import Finding, Safety
from ..index import Project
from ..prove.model import Status, Trial, Verdict
from .model import Change, Choice, Judged, Key, Repair, Rewritten
from .rewrite import rewrite
from .subject import Subject, keyed

MAX_TRIALS = 24  # proofs tried for one file
MAX_SECONDS = 300.0  # after which no other proof of it is begun


class Proves(Protocol):
    """What proves a rewrite: `prove.Prover`, or a test's own."""

    def prove(self, trial: Trial) -> Verdict:
        """Return what compiling and comparing gave."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """Which rewrites are wanted.

    unproved  keep rewrites though nothing is proved
    unsafe    also those that change what the code does
    inputs    see `Trial.inputs`
    recorded  see `Trial.recorded`
    settings  see `Choice.settings`
    """

    unproved: bool = False
    unsafe: bool = False
    inputs: Mapping[str, Any] = field(default_factory=dict)
    recorded: str = ""
    settings: bool = True


def repair(subject: Subject, prover: Proves | None, policy: Policy) -> Repair:
    """Rewrite a file, and keep what is proved.

    Without a prover only fixes that are safe by construction are kept, unless `unproved` asks for
    all.
    """
    worst = Safety.UNSAFE if policy.unsafe else Safety.NEEDS_PROOF
    if prover is None and not policy.unproved:
        worst = Safety.SAFE
    wanted = Choice(worst=worst, settings=policy.settings)
    everything = rewrite(subject, wanted)
    if not everything.changes or prover is None:
        return _result(subject, everything, everything, {}, policy)
    search = _Search(subject, prover, policy)
    kept, verdicts = search.best(wanted, everything)
    return _result(subject, kept, everything, verdicts, policy)


class _Search:
    """Looks for the largest set of rewrites that holds, with few proofs."""

    def __init__(self, subject: Subject, prover: Proves, policy: Policy) -> None:
        self._subject = subject
        self._prover = prover
        self._policy = policy
        self._known: dict[str, Verdict] = {}
        self._left = MAX_TRIALS
        self._seconds = 0.0

    def best(self, wanted: Choice, everything: Rewritten) -> tuple[Rewritten, dict[Key, Verdict]]:
        """Return the text with what is kept, and the verdict on every rewrite that was tried.

        All together first; then what one region reaches, one function, one rewrite: a set that
        fails is tried with its next alternatives before it is divided.
        """
        verdict = self._prove(everything)
        verdicts = {change.key: verdict for change in everything.changes}
        if verdict.held:
            return everything, verdicts
        kept: dict[Key, int] = {}
        held = Rewritten(self._subject.source.text, left=self._subject.findings)
        for group in _groups(everything.changes):
            if group <= kept.keys():
                continue
            # What rewrites make possible in later rounds comes along; at last without it.
            for level, later, alone in _ways(group, everything.changes):
                levels = {**kept, **{key: level for key in group if key not in kept}}
                tried, verdict = self._attempt(wanted, levels, later, alone)
                if tried is None:
                    break
                if tried.text == held.text:
                    continue  # it was withdrawn
                for key in group - kept.keys():
                    verdicts[key] = verdict
                if verdict.held:
                    if level:
                        tried, verdict, levels = self._cheaper(wanted, tried, levels, later, group)
                        verdicts |= dict.fromkeys(group, verdict)
                    held = tried
                    kept = {**{change.key: later for change in tried.changes}, **levels}
                    if alone:
                        kept = {**self._shut(group, everything), **kept}
                    verdicts |= {key: verdict for key, chosen in kept.items() if chosen >= 0}
                    break
        return self._with_safe(wanted, held, kept, everything, verdicts), verdicts

    def _cheaper(
        self,
        wanted: Choice,
        held: Rewritten,
        levels: dict[Key, int],
        level: int,
        group: frozenset[Key],
    ) -> tuple[Rewritten, Verdict, dict[Key, int]]:
        """Return what holds with the first alternative of each rewrite that may have it.

        A set is tried at one level: what one of them needs, the others may do without.
        """
        verdict = self._prove(held)
        for change in held.changes:
            fixes = change.finding.fixes
            if change.key not in group or len(group) < 2 or change.fix not in fixes[1:]:
                continue
            for lower in range(min(level, len(fixes) - 1)):
                fewer = {**levels, change.key: lower}
                tried, other = self._attempt(wanted, fewer, level)
                if tried is not None and other.held:
                    held, verdict, levels = tried, other, fewer
                    break
        return held, verdict, levels

    def _shut(self, group: frozenset[Key], everything: Rewritten) -> dict[Key, int]:
        """Return what is left alone for a group: findings that had no rewrite at first."""
        functions = {function for _, function, _, _ in group}
        every = keyed(self._subject.source.text, self._subject.findings)
        later = [change.key for change in everything.changes if change.round > 1]
        left = [*(key for key, finding in every if not finding.fixes), *later]
        return {key: -1 for key in left if key[1] in functions}

    def _with_safe(
        self,
        wanted: Choice,
        held: Rewritten,
        kept: Mapping[Key, int],
        everything: Rewritten,
        verdicts: Mapping[Key, Verdict],
    ) -> Rewritten:
        """Return what is proved together with what is safe by construction, and no more."""
        safe = self._safe(everything.changes, verdicts) - kept.keys()
        if not safe:
            return held
        levels = {**kept, **dict.fromkeys(safe, 0)}
        only = frozenset({*safe, *(change.key for change in held.changes)})
        tried = rewrite(self._subject, replace(wanted, levels=levels, only=only))
        status = self._prove(tried).status
        found = {change.key for change in tried.changes}
        lost = [change for change in held.changes if change.key not in found]
        if lost:
            # What is proved isn't found any more beside it: that will do instead of settings.
            all_safe = all(change.fix.safety is Safety.SAFE for change in tried.changes)
            spared = all_safe and all(change.fix.setting for change in lost)
            return tried if spared and status is not Status.REFUTED else held
        return held if status is Status.REFUTED else tried

    @staticmethod
    def _safe(changes: Iterable[Change], verdicts: Mapping[Key, Verdict]) -> set[Key]:
        """Return what is safe by construction, unless a proof said otherwise of it."""
        return {
            change.key
            for change in changes
            if change.fix.safety is Safety.SAFE
            and change.round == 1
            and verdicts[change.key].status is not Status.REFUTED
        }

    def _attempt(
        self, wanted: Choice, levels: dict[Key, int], level: int = 0, alone: bool = False
    ) -> tuple[Rewritten | None, Verdict]:
        """Rewrite only these findings, and what shows up under them in later rounds, at a level.

        `alone`: these and nothing else, whatever they make possible.
        """
        every = keyed(self._subject.source.text, self._subject.findings)
        left = [key for key, finding in every if finding.fixes and key not in levels]
        skipped = dict.fromkeys(left, -1)
        only = frozenset(key for key, chosen in levels.items() if chosen >= 0) if alone else None
        choice = replace(wanted, level=level, levels={**levels, **skipped}, only=only)
        tried = rewrite(self._subject, choice)
        if not tried.changes and levels:
            return None, Verdict(Status.UNPROVED, "there is no such alternative")
        return tried, self._prove(tried)

    def _prove(self, made: Rewritten) -> Verdict:
        if made.text == self._subject.source.text:
            return Verdict(Status.PROVED)
        known = self._known.get(made.text)
        if known is None:
            if not self._left:
                return Verdict(Status.UNPROVED, "too many rewrites of one file to prove singly")
            if self._seconds > MAX_SECONDS:
                return Verdict(Status.UNPROVED, "proofs of this file take too long")
            self._left -= 1
            began = time.monotonic()
            known = self._prover.prove(self._trial(made))
            self._seconds += time.monotonic() - began
            self._known[made.text] = known
        return known

    def _trial(self, made: Rewritten) -> Trial:
        subject = self._subject
        source = subject.source
        name, root, _ = Project.locate(source.path)
        sites = {
            change.finding.site.function: change.finding.site
            for change in made.changes
            if change.finding.site is not None and change.round == 1
        }
        return Trial(
            source.path,
            name,
            root,
            source.text,
            made.text,
            tuple(sites.values()),
            changed_lines(source.text, made.text),
            subject.entries(sites.keys()),
            self._policy.inputs,
            self._policy.recorded,
        )


def changed_lines(before: str, after: str) -> tuple[tuple[int, int], ...]:
    """Return the ranges of lines of `before` that `after` replaces; 1-based, both ends included."""
    matcher = SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False)
    return tuple(
        (i + 1, max(j, i + 1)) for tag, i, j, _, _ in matcher.get_opcodes() if tag != "equal"
    )


def _ways(group: frozenset[Key], changes: Iterable[Change]) -> Iterator[tuple[int, int, bool]]:
    """Yield the alternatives of a group, those of later rounds, and whether it goes alone.

    What the group makes possible may need another alternative while the group itself does not.
    """
    functions = {function for _, function, _, _ in group}
    mine = [change for change in changes if change.key[1] in functions]
    levels = max((change.ways for change in mine), default=1)
    later = max((change.ways for change in mine if change.key not in group), default=1)
    yield 0, 0, False
    if any(change.ways > 1 for change in mine if change.key in group):
        for level in range(1, later):
            yield 0, level, False
    for level in range(1, levels):
        yield level, level, False
    yield 0, 0, True


def _groups(changes: Iterable[Change]) -> Iterator[frozenset[Key]]:
    """Yield sets of first-round rewrites: of a region, of a function, single ones."""
    first = [change for change in changes if change.round == 1]
    seen: set[frozenset[Key]] = set()
    for kind in (_region, _function, _single):
        grouped: dict[object, list[Key]] = {}
        for change in first:
            grouped.setdefault(kind(change), []).append(change.key)
        for keys in grouped.values():
            group = frozenset(keys)
            if group not in seen:
                seen.add(group)
                yield group


def _region(change: Change) -> object:
    return change.finding.region


def _function(change: Change) -> object:
    return change.key[1]


def _single(change: Change) -> object:
    return change.key


def _result(
    subject: Subject,
    kept: Rewritten,
    everything: Rewritten,
    verdicts: Mapping[Key, Verdict],
    policy: Policy,
) -> Repair:
    final = everything if policy.unproved else kept
    applied = {change.key for change in final.changes}
    judged = [
        Judged(change, True, verdicts.get(change.key), _said(verdicts.get(change.key)))
        for change in final.changes
    ]
    judged += [
        Judged(change, False, verdicts.get(change.key), _said(verdicts.get(change.key)))
        for change in everything.changes
        if change.key not in applied
    ]
    judged += [Judged(change, False, None, why) for change, why in everything.withdrawn]
    return Repair(
        subject.target,
        subject.source,
        final.text,
        tuple(judged),
        tuple(_still_declined(subject, final)),
        final.left if final.changes else subject.findings,
        tuple(f"{change.fix.title}: {why}" for change, why in everything.withdrawn),
    )


def _still_declined(subject: Subject, final: Rewritten) -> Iterator[Finding]:
    """Yield findings without a rewrite that no later round had one for, at their old lines."""
    left = {key for key, _ in keyed(final.text, final.left)} if final.changes else None
    for key, finding in keyed(subject.source.text, subject.findings):
        if finding.declined and not finding.fixes and (left is None or key in left):
            yield finding


def _said(verdict: Verdict | None) -> str:
    return verdict.reason if verdict is not None else ""
