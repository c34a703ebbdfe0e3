"""One proof, in the child: find inputs that drive every arm, run both versions, compare."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from .arms import Endless
from .control import is_refused
from .drives import Case, Drive, NoInputs, drives
from .judge import Judge
from .loading import LoadFailed
from .model import Status, Trial, Verdict
from .mutate import FINITE, NANS, candidates
from .trials import Trials, Watched
from .values import leaves

_GIVEN = 16  # argument tuples of a source that are looked at
_KEPT = 24
_TRIES = 400
_ZEROED, _ZEROED_IN_ALL = 6, 12
_SECONDS = 10.0  # for one source
_SECONDS_IN_ALL = 25.0

Say = Callable[[str], None]


def prove(trial: Trial, say: Say) -> Verdict:
    """Return the verdict; `say` is told what goes on, for whoever has to end us."""
    return _Proof(trial, say).verdict()


class _Proof:
    def __init__(self, trial: Trial, say: Say) -> None:
        self.trial, self.say = trial, say
        self.why: list[str] = []  # sources that gave nothing
        self.tried = 0
        self.left = _SECONDS_IN_ALL  # for searching

    def verdict(self) -> Verdict:
        self.say("importing the original")
        try:
            self.trials = Trials(self.trial)
        except LoadFailed as error:
            return Verdict(Status.UNPROVED, str(error))
        chosen = self.choose()
        unseen = self.trials.arms.unseen()
        arms = self.trials.arms.count()
        if not chosen:
            why = "; ".join(dict.fromkeys(self.why)) or "no source of inputs"
            return Verdict(Status.UNPROVED, f"no inputs: {why}"[:400], arms=arms)
        merged: Verdict | None = None
        for cases in chosen:
            judged = Judge(self.trials, cases, self.say).verdict()
            if judged.held and (zeroed := self.zeroed(cases)):
                both = [*cases, *zeroed]
                found = Judge(self.trials, both, self.say).verdict(compiled=False)
                judged = judged if found.held else found
            merged = judged if merged is None else _merged(merged, judged)
            if not merged.held:
                break
        assert merged is not None
        merged = replace(merged, arms=arms)
        if merged.held and unseen:
            reason = f"{unseen[0].missing} ({self.tried} inputs tried)"
            return replace(merged, status=Status.UNPROVED, reason=reason)
        return merged

    def choose(self) -> list[list[Case]]:
        """Cases to judge, a list for each source that drives arms no better one does."""
        chosen: list[list[Case]] = []
        for drive in drives(self.trial, self.trials.watched):
            if isinstance(drive, NoInputs):
                self.why.append(str(drive))
                continue
            if chosen and not self.trials.arms.unseen() and not drive.other:
                break
            self.say(f"running the original on inputs of {drive.source}")
            cases, useful = self.cases(drive)
            if cases and (useful or drive.other or not chosen):
                chosen.append(cases)
        return chosen

    def cases(self, drive: Drive) -> tuple[list[Case], bool]:
        """Cases of a drive: those that reach new arms, others of its own, a few variants."""
        try:
            count = len(drive.calls(self.trials.watched))
            given = [Case(drive, i) for i in range(min(count, _GIVEN))]
            if not given:
                raise NoInputs(f"{drive.source} gives no inputs")
            runs = [self.watch(case) for case in given]
            if not self.trials.plain and all(is_refused(run.error) for run in runs):
                # torch.cond and its like fail before they do anything
                self.trials.plain = type(runs[0].error).__name__
                runs = [self.watch(case) for case in given]
            ended = [i for i, run in enumerate(runs) if not isinstance(run.error, Endless)]
            given, runs = [given[i] for i in ended], [runs[i] for i in ended]
            if not given:
                raise NoInputs(f"a loop doesn't end on any input of {drive.source}")
            failed = [run.error for run in runs if run.error is not None and not run.meant]
            if len(failed) == len(runs):
                error = failed[0]
                said = " ".join(f"{type(error).__name__}: {error}".split())[:160]
                raise NoInputs(f"the original raises on every input of {drive.source}: {said}")
        except NoInputs as why:
            self.why.append(str(why))
            return [], False
        except Exception as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())[:160]
            self.why.append(f"{drive.source}: {said}")
            return [], False
        useful = False
        seen: set[int] = set()
        for run in runs:
            useful |= self.take(run)
            seen |= run.reached
        found = self.search(drive, given) if self.trials.arms.unseen() else []
        found += [other for case in found for other in self.infinite(case)]
        useful |= bool(found)
        touched = bool(seen) or not self.trials.arms.arms or bool(found)
        if not touched and drive.source != "search":
            self.why.append(f"{drive.source} doesn't reach the changed lines")
        kept = [*given, *found][:_KEPT]
        if drive.other:
            return kept, useful
        return [*kept, *self.variants(drive, given, runs, _KEPT - len(kept))], useful

    def zeroed(self, cases: list[Case]) -> list[Case]:
        """Cases with one tensor set to zero: where an arm not taken poisons a gradient."""
        found = [
            Case(case.drive, case.index, (*case.changes, (path, "zero", None)))
            for case in cases[:_ZEROED]
            for path, leaf in leaves(case.make(self.trials.watched))
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
        ]
        return [case for case in found[:_ZEROED_IN_ALL] if self.watch(case).error is None]

    def watch(self, case: Case) -> Watched:
        self.tried += 1
        return self.trials.watch(case)

    def take(self, run: Watched) -> bool:
        """Count the arms of a run; whether one of them is new."""
        arms = self.trials.arms
        new = any(arms.arms[n].needed and not arms.arms[n].seen for n in run.reached)
        arms.accept(run.reached)
        return new

    def search(self, drive: Drive, given: list[Case]) -> list[Case]:
        """Change given inputs until every arm ran: what reaches a new arm is changed further."""
        began = time.monotonic()
        kept = self.found(drive, given, began + min(_SECONDS, self.left))
        self.left -= time.monotonic() - began
        return kept

    def found(self, drive: Drive, given: list[Case], deadline: float) -> list[Case]:
        """Return what `search` finds until then."""
        kept: list[Case] = []
        queue, tries = list(given), 0
        while queue and self.trials.arms.unseen():
            base = queue.pop(0)
            call = base.make(self.trials.watched)
            owner = drive.target(self.trials.watched).owner
            for change in candidates(call, self.trials.arms.literals, owner):
                if tries >= _TRIES or time.monotonic() > deadline:
                    return kept
                tries += 1
                case = Case(drive, base.index, (*base.changes, *change))
                run = self.watch(case)
                if run.error is not None and not run.meant:
                    continue  # no input that the program is for
                if self.take(run):
                    kept.append(case)
                    if len(case.changes) < 3:
                        queue.append(case)
                    if not self.trials.arms.unseen():
                        return kept
        return kept

    def infinite(self, case: Case) -> Iterator[Case]:
        """Yield infinite values for a case's NaN, which hides what else an arm does."""
        for kind in ("inf_one", "minus_inf_one"):
            changes = [
                (where, kind if what in NANS else what, value)
                for where, what, value in case.changes
            ]
            other = Case(case.drive, case.index, tuple(changes))
            if other.changes != case.changes:
                run = self.watch(other)
                if run.error is None:
                    self.take(run)
                    yield other

    def variants(
        self, drive: Drive, given: list[Case], runs: list[Watched], room: int
    ) -> list[Case]:
        """Other finite values for an input that works: more than the arms need, and cheap."""
        for case, run in zip(given, runs):
            if run.error is None:
                found = [Case(drive, case.index, (("*", kind, None),)) for kind in FINITE]
                tried = [(one, self.watch(one)) for one in found[: max(room, 0)]]
                return [one for one, its in tried if its.error is None]
        return []


def _merged(a: Verdict, b: Verdict) -> Verdict:
    """Both together; `b` was judged after `a` was proved."""

    def both(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(i + j for i, j in zip(x, y))

    worst = b if a.held else a
    return replace(
        worst,
        source=f"{a.source} and {b.source}" if a.source != b.source else a.source,
        inputs=a.inputs + b.inputs,
        breaks=both(a.breaks, b.breaks),  # type: ignore[arg-type]
        graphs=both(a.graphs, b.graphs),  # type: ignore[arg-type]
        gradients=a.gradients or b.gradients,
        kernels=a.kernels if a.kernels[0] else b.kernels,
        seconds=a.seconds,
        notes=tuple(dict.fromkeys([*a.notes, *b.notes])),
    )
