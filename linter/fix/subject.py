"""One file under repair: its text is linted again after every change, as its regions see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...rules.base.finding import Finding
from ..config import Settings
from ..discover import Target
from ..engine import Linter
from ..model import AnalysisOptions, RegionReport, SourceFile
from ..run import Request, lint
from ..source import UnreadableSource, load_source
from .model import Key

MOST_COMPANIONS = 24  # files that are linted along whatever they tell


class Relinter:
    """Lints a file as if it held other text, and keeps what is known of the files around it."""

    def __init__(self) -> None:
        self._linters: dict[AnalysisOptions, Linter] = {}
        self._path = ""
        self._found: dict[str, tuple[Finding, ...]] = {}  # in texts of that file

    def lint(
        self, target: Target, text: str, companions: Sequence[Target], request: Request
    ) -> tuple[Finding, ...]:
        """Return the findings in the text. Raises ValueError when it can't be linted."""
        if target.path != self._path:
            self._path, self._found = target.path, {}
        if text not in self._found:
            self._found[text] = self._findings(target, text, companions, request)
        return self._found[text]

    def _findings(
        self, target: Target, text: str, companions: Sequence[Target], request: Request
    ) -> tuple[Finding, ...]:
        try:
            source, _ = load_source(target.path, text)
            for linter in self._linters.values():
                linter.read_as(source)
        except UnreadableSource as error:
            raise ValueError(error.message) from error

        def engine(options: AnalysisOptions) -> Linter:
            if options not in self._linters:
                linter = self._linters[options] = Linter(options)
                linter.read_as(source)
            return self._linters[options]

        request = replace(request, data={target.path: text}, factory=engine)
        run = lint((target, *companions), (), request)
        if run.outcome.diagnostics:
            raise ValueError(run.outcome.diagnostics[0].message)
        return tuple(f for found, f in run.located if found.path == target.path)


@dataclass(frozen=True, slots=True)
class Subject:
    """A file to repair.

    companions  files whose regions reach into it
    witnesses   those of them that tell all that was found in it, and reach all that is reached
    regions     all regions that do
    findings    what was found in it, with fixes
    request     how it is linted
    relinter    what lints its texts, and may be shared with other files
    """

    target: Target
    source: SourceFile
    companions: tuple[Target, ...]
    regions: tuple[RegionReport, ...]
    findings: tuple[Finding, ...]
    request: Request
    witnesses: tuple[Target, ...] = ()
    relinter: Relinter = field(default_factory=Relinter, compare=False)

    def lint(self, text: str) -> tuple[Finding, ...]:
        """Return the findings in the file as if it held that text.

        Where hundreds of files reach into it, those that bear witness are linted along.
        """
        few = len(self.companions) <= MOST_COMPANIONS
        companions = self.companions if few else self.witnesses
        return self.relinter.lint(self.target, text, companions, self.request)

    def entries(self, functions: Collection[str]) -> tuple[str, ...]:
        """The names of the regions that start in the file and reach one of its functions.

        Those that reach little come first: what goes on in them is told soonest.
        """
        own = [region for region in self.regions if region.path == self.target.shown]
        wanted = {(self.target.shown, name) for name in functions}
        reaching = [r for r in own if wanted & {(path, name) for path, _, name in r.functions}]
        return tuple(r.name for r in sorted(reaching or own, key=lambda r: len(r.functions)))


def subjects(
    located: Sequence[tuple[Target, Finding]],
    regions: Sequence[RegionReport],
    sources: dict[str, SourceFile],
    targets: Sequence[Target],
    request: Request,
) -> Iterator[Subject]:
    """Yield every file of `sources`: those with something to rewrite."""
    by_shown = {target.shown: target for target in targets}
    relinter = Relinter()
    grouped: dict[str, list[Finding]] = {}
    for target, finding in located:
        grouped.setdefault(target.path, []).append(finding)
    reached: dict[str, list[RegionReport]] = {}
    for region in regions:
        for path in dict.fromkeys(path for path, _, _ in region.functions):
            reached.setdefault(path, []).append(region)
    for target in targets:
        found = grouped.get(target.path, [])
        source = sources.get(target.path)
        if source is None:
            continue
        reaching = tuple(reached.get(target.shown, ()))
        others = {r.path for r in reaching} - {target.shown}
        companions = tuple(by_shown[path] for path in sorted(others) if path in by_shown)
        telling = _telling(target.shown, reaching, found)
        witnesses = tuple(one for one in companions if one.shown in telling)
        yield Subject(
            target, source, companions, reaching, tuple(found), request, witnesses, relinter
        )


def _telling(shown: str, regions: Sequence[RegionReport], found: Iterable[Finding]) -> set[str]:
    """Return files with regions that tell every finding of a file and reach all its functions."""
    named = {finding.region for finding in found}
    chosen = [region for region in regions if region.name in named or region.path == shown]
    met = {function for region in chosen for function in region.functions}
    for region in regions:
        more = {function for function in region.functions if function[0] == shown} - met
        if more:
            chosen.append(region)
            met |= more
    return {region.path for region in chosen}


def alone(path: str, text: str, settings: Settings) -> Subject:
    """Return a text to repair as if it were the only file, at an absolute path."""
    target = Target(path, path, settings, len(text), 0, True)
    request = Request(settings, {path: text}, use_cache=False, regions=True, fixes=True)
    run = lint((target,), (), request)
    found = tuple(finding for _, finding in run.located)
    source = SourceFile(path, text, "utf-8", False, "\n", "")
    regions = run.outcome.regions
    return Subject(target, source, (), regions, found, replace(request, regions=False))


def keyed(text: str, findings: Iterable[Finding]) -> list[tuple[Key, Finding]]:
    """Return the findings with what tells them from each other, whatever the lines are."""
    lines = text.split("\n")
    seen: Counter[tuple[str, str, str]] = Counter()
    result = []
    for finding in findings:
        function = finding.site.function if finding.site is not None else ""
        first, last = finding.span.line, finding.span.end_line
        words = " ".join(" ".join(lines[first - 1 : last]).split())
        name = (finding.code, function, words)
        result.append(((*name, seen[name]), finding))
        seen[name] += 1
    return result
