"""From raw results to what is reported: merging, selection, suppression, baseline, positions."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..rules.base.finding import Certainty, Finding, Note, Severity, Span
from ..rules.base.valueclass import valueclass
from .baseline import Fingerprint, new_findings, read_baseline, statement_text
from .catalog import Selection
from .codec import decode_finding
from .discover import Target, relative_to
from .model import Diagnostic, RegionReport
from .outcome import Outcome
from .patterns import compile_patterns
from .source import UnreadableSource, load_source, read_bytes
from .suppress import Suppression, apply_suppressions

_RANK = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}

Located = tuple[Target, Finding]


@valueclass
class Run:
    """An outcome, and the findings with their files and text positions, for writing a baseline."""

    outcome: Outcome
    located: tuple[Located, ...]
    fingerprint: Callable[[Located, str], Fingerprint]


class Conclusion:
    """The results of the files that were asked for, and what follows from them.

    payloads  by absolute path, see `workers.Analysed`
    data      contents of files that don't come from disk, by absolute path
    comments  whether suppression comments hide findings
    """

    def __init__(
        self,
        targets: Sequence[Target],
        payloads: Mapping[str, dict[str, Any]],
        data: Mapping[str, bytes | str],
        comments: bool = True,
    ) -> None:
        self._targets = {target.path: target for target in targets}
        self._payloads = payloads
        self._data = data
        self._comments = comments
        self._current = os.getcwd()
        self._owner: dict[str, Target | None] = {}
        self._by_real: dict[str, Target] | None = None
        self._lines: dict[str, list[str]] = {}

    def run(self, diagnostics: Sequence[Diagnostic], baseline: str, excerpts: bool) -> Run:
        """Return what is reported. Raises ConfigError and UnknownRule.

        baseline  path of a baseline whose findings are left out, "" for none
        excerpts  whether the outcome is to hold source lines
        """
        problems = list(diagnostics)
        for payload in self._payloads.values():
            for path, line, message in payload["errors"]:
                problems.append(Diagnostic(self._shown(path), line, message))
        located, suppressed = self._selected()
        known = 0
        if baseline:
            marked = [(self.fingerprint(pair, baseline), pair) for pair in located]
            located, known = new_findings(marked, read_baseline(baseline))
        located.sort(key=lambda pair: pair[1].sort_key)
        outcome = Outcome(
            tuple(self._in_cell(target, finding) for target, finding in located),
            tuple(sorted(problems, key=lambda p: (p.path, p.line or 0, p.message))),
            len(self._targets),
            suppressed,
            known,
            tuple(self._regions()),
            tuple(self._excerpt(pair) for pair in located) if excerpts else (),
        )
        return Run(outcome, tuple(located), self.fingerprint)

    def fingerprint(self, located: Located, baseline: str) -> Fingerprint:
        """Return what tells a finding in a baseline at that path."""
        target, finding = located
        lines = self._text(target.path)
        text = statement_text(lines, finding.statement.line, finding.statement.end_line)
        root = os.path.dirname(os.path.abspath(baseline))
        return (relative_to(target.path, root), finding.code, text)

    def _selected(self) -> tuple[list[Located], int]:
        """Return the findings that rules, severities and comments leave, and how many they hid."""
        found: list[Located] = []
        suppressed = 0
        merged = self._merged()
        for path, target in self._targets.items():
            payload = self._payloads[path]
            rows = payload["comments"] if self._comments else ()
            comments = [Suppression.decode(row) for row in rows]
            findings = merged.get(path, [])
            if not findings and not comments:
                continue
            selected = _selection(target)
            if comments:
                findings, hidden = apply_suppressions(target.shown, findings, comments, selected)
                suppressed += hidden
            least = _RANK[target.settings.severity]
            found += [
                (target, finding)
                for finding in findings
                if selected(finding.code) and _RANK[finding.severity] >= least
            ]
        return found, suppressed

    def _merged(self) -> dict[str, list[Finding]]:
        """Return the findings by the asked-for file they lie in, one for each place and code.

        Several regions may reach the same code: what is certain for one of them is certain.
        """
        best: dict[tuple[str, tuple[int, ...], str], list[Any]] = {}
        for path in self._targets:
            for row in self._payloads[path]["findings"]:
                owner = self._find(row[2])
                if owner is None:
                    continue
                key = (owner.path, tuple(row[3]), row[0])
                known = best.get(key)
                if known is None or known[9] != row[9] == Certainty.CERTAIN.value:
                    best[key] = row
        grouped: dict[str, list[Finding]] = {}
        for (path, _, _), row in best.items():
            finding = decode_finding(row)
            trail = tuple([self._note(note) for note in finding.trail])
            shown = self._targets[path].shown
            grouped.setdefault(path, []).append(replace(finding, path=shown, trail=trail))
        return grouped

    def _find(self, path: str) -> Target | None:
        """Return the asked-for file that a path means, also through links."""
        if path in self._owner:
            return self._owner[path]
        target = self._targets.get(path) or self._targets.get(os.path.abspath(path))
        if target is None:
            if self._by_real is None:
                self._by_real = {os.path.realpath(t.path): t for t in self._targets.values()}
            target = self._by_real.get(os.path.realpath(path))
        self._owner[path] = target
        return target

    def _shown(self, path: str) -> str:
        target = self._find(path)
        if target is not None:
            return target.shown
        return relative_to(os.path.abspath(path), self._current)

    def _note(self, note: Note) -> Note:
        """Return a step of a trail as reports show it: line within its cell for notebooks."""
        target = self._find(note.path)
        cells = self._payloads[target.path]["cells"] if target is not None else ()
        if not cells:
            return Note(self._shown(note.path), note.line, note.message)
        first, number = _cell_of(cells, note.line)
        message = f"{note.message} (cell {number})"
        return Note(self._shown(note.path), note.line - first + 1, message)

    def _text(self, path: str) -> list[str]:
        """Return the lines of a file, none when it has become unreadable since."""
        if path not in self._lines:
            try:
                content = self._data[path] if path in self._data else read_bytes(path)
                text = load_source(path, content)[0].text
            except (OSError, UnreadableSource):
                text = ""
            self._lines[path] = text.split("\n")
        return self._lines[path]

    def _excerpt(self, located: Located) -> tuple[str, ...]:
        target, finding = located
        return tuple(self._text(target.path)[finding.span.line - 1 : finding.span.end_line])

    def _in_cell(self, target: Target, finding: Finding) -> Finding:
        cells = self._payloads[target.path]["cells"]
        if not cells:
            return finding
        first, number = _cell_of(cells, finding.span.line)
        span = _shift(finding.span, first - 1)
        return replace(
            finding, span=span, statement=_shift(finding.statement, first - 1), cell=number
        )

    def _regions(self) -> list[RegionReport]:
        found = []
        for payload in self._payloads.values():
            for path, line, name, reason, options, functions in payload["regions"]:
                reached = tuple((self._shown(place), at, what) for place, at, what in functions)
                found.append(RegionReport(self._shown(path), line, name, reason, options, reached))
        return sorted(found, key=lambda region: (region.path, region.line, region.name))


def _selection(target: Target) -> Callable[[str], bool]:
    """Return which codes are reported in a file."""
    settings = target.settings
    relative = relative_to(target.path, settings.root)
    ignored = tuple(
        code
        for pattern, codes in settings.per_file_ignores
        if compile_patterns((pattern,)).cover_below(relative)
        for code in codes
    )
    chosen = Selection(settings.select + settings.extend_select, settings.ignore)
    if not ignored and chosen.everything:
        return lambda code: True
    codes = chosen.codes()
    if ignored:
        codes -= Selection(ignored, ()).codes()
    return codes.__contains__


def _cell_of(cells: Sequence[Sequence[int]], line: int) -> tuple[int, int]:
    """Return (first line, number) of the cell that holds a line of the joint text."""
    at = bisect_right(cells, line, key=lambda cell: cell[0]) - 1
    first, number = cells[max(at, 0)]
    return first, number


def _shift(span: Span, lines: int) -> Span:
    return Span(span.line - lines, span.column, span.end_line - lines, span.end_column)
