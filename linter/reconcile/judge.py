"""Which breaks the findings predicted, and which findings no break bears out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ...rules.base.finding import Finding, Mode
from .model import Frame, LoggedBreak, Place, Prediction, Reconciliation, RunLog
from .places import Sources

Located = tuple[str, Finding]  # absolute path of the file, and a finding in it


def judge(
    log: RunLog,
    located: Sequence[Located],
    sources: Sources,
    shown: Callable[[str], str],
    rules_for: Callable[[Sequence[str]], tuple[str, ...]],
) -> Reconciliation:
    """Hold the findings of a lint against the breaks of a run.

    A log tells of the default mode, so only findings that speak of it count.

    shown      the name of a linted file in reports
    rules_for  codes of the rules that predict one of these graph-break ids
    """
    hits: dict[Place, list[Finding]] = {}
    for path, finding in located:
        if Mode.DEFAULT in finding.breaks:
            hits.setdefault(sources.place(path, finding.span.line), []).append(finding)
    predicted: dict[tuple[Place, str], Prediction] = {}
    blamed: set[Place] = set()
    outside = 0
    for item in log.breaks:
        chain = list(_local(item, sources))
        if not chain:
            outside += 1
            continue
        blamed.update(place for _, place in chain)
        prediction = _predict(item, chain, hits, shown, rules_for)
        key = (chain[0][1], item.reason)
        predicted[key] = _joined(predicted.get(key), prediction)
    traced = _traced(log, sources) - blamed
    wrong = [finding for place, found in hits.items() if place in traced for finding in found]
    unknown = sum(
        len(found) for place, found in hits.items() if place not in traced and place not in blamed
    )
    return Reconciliation(
        tuple(item for item in predicted.values() if item.findings),
        tuple(item for item in predicted.values() if not item.findings),
        tuple(sorted(wrong, key=lambda finding: finding.sort_key)),
        unknown,
        outside,
        tuple(_changed(log, sources, shown)),
    )


def _local(item: LoggedBreak, sources: Sources) -> Iterator[tuple[Frame, Place]]:
    """Yield the frames in linted files with their statements, innermost first.

    Module level is never compiled: what stands there only called what is.
    """
    for frame in reversed(item.frames):
        path = sources.find(frame.file)
        if path is not None and frame.name != "<module>":
            yield frame, sources.place(path, frame.line)


def _predict(
    item: LoggedBreak,
    chain: Sequence[tuple[Frame, Place]],
    hits: dict[Place, list[Finding]],
    shown: Callable[[str], str],
    rules_for: Callable[[Sequence[str]], tuple[str, ...]],
) -> Prediction:
    (frame, own), *callers = chain
    found = hits.get(own, [])
    at_call = False
    for _, place in callers:
        if not found:
            found = hits.get(place, [])
            at_call = bool(found)
    rules = rules_for(item.ids[:1])
    return Prediction(item, frame, shown(own.path), tuple(found), at_call, rules)


def _joined(known: Prediction | None, new: Prediction) -> Prediction:
    """Join two reports of one statement and reason that were reached by different calls."""
    if known is None:
        return new
    better = new if known.at_call and not new.at_call and new.findings else known
    better = better if better.findings else new
    count = known.logged.count + new.logged.count
    eager = known.logged.eager or new.logged.eager
    return replace(better, logged=replace(better.logged, count=count, eager=eager))


def _traced(log: RunLog, sources: Sources) -> set[Place]:
    """Return the statements that Dynamo traced for certain."""
    found: set[Place] = set()
    for file, line in log.lines:
        path = sources.find(file)
        if path is not None:
            found.add(sources.place(path, line))
    for frame in _traced_frames(log.breaks):
        path = sources.find(frame.file)
        if path is not None:
            found |= sources.before(path, frame.line)
    for item in log.completed:
        path = sources.find(item.file)
        if path is not None:
            found |= sources.after(path, item.line, item.resumed)
    return found


def _traced_frames(breaks: Iterable[LoggedBreak]) -> Iterator[Frame]:
    for item in breaks:
        yield from item.frames[-item.traced :]


def _changed(log: RunLog, sources: Sources, shown: Callable[[str], str]) -> Iterator[Frame]:
    seen: set[tuple[str, int]] = set()
    for frame in (frame for item in log.breaks for frame in item.frames):
        path = sources.find(frame.file)
        if path is not None and (path, frame.line) not in seen:
            seen.add((path, frame.line))
            if sources.changed(path, frame):
                yield replace(frame, file=shown(path))
