"""One file under repair: its text is linted again after every change, as its regions see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...rules.base.finding import Finding
from ..config import Settings
from ..discover import Target
from ..engine import Linter
from ..model import AnalysisOptions, RegionReport, SourceFile
from ..run import Request, lint
from .model import Key


@dataclass(frozen=True, slots=True)
class Subject:
    """A file to repair.

    companions  files whose regions reach into it
    regions     all regions that do
    findings    what was found in it, with fixes
    request     how it is linted
    """

    target: Target
    source: SourceFile
    companions: tuple[Target, ...]
    regions: tuple[RegionReport, ...]
    findings: tuple[Finding, ...]
    request: Request

    def lint(self, text: str) -> tuple[Finding, ...]:
        """Return the findings in the file as if it held that text."""
        source = replace(self.source, text=text, digest=f"{hash(text):x}")

        def engine(options: AnalysisOptions) -> Linter:
            return Linter(options, overrides=(source,))

        request = replace(self.request, data={self.target.path: text}, factory=engine)
        run = lint((self.target, *self.companions), (), request)
        mine = [f for target, f in run.located if target.path == self.target.path]
        if run.outcome.diagnostics:
            raise ValueError(run.outcome.diagnostics[0].message)
        return tuple(mine)

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the regions that start in the file."""
        return tuple(r.name for r in self.regions if r.path == self.target.shown)


def subjects(
    located: Sequence[tuple[Target, Finding]],
    regions: Sequence[RegionReport],
    sources: dict[str, SourceFile],
    targets: Sequence[Target],
    request: Request,
) -> Iterator[Subject]:
    """Yield every file of `sources`: those with something to rewrite."""
    by_shown = {target.shown: target for target in targets}
    grouped: dict[str, list[Finding]] = {}
    for target, finding in located:
        grouped.setdefault(target.path, []).append(finding)
    for target in targets:
        found = grouped.get(target.path, [])
        source = sources.get(target.path)
        if source is None:
            continue
        reaching = tuple(r for r in regions if any(f[0] == target.shown for f in r.functions))
        others = {r.path for r in reaching} - {target.shown}
        companions = tuple(by_shown[path] for path in sorted(others) if path in by_shown)
        yield Subject(target, source, companions, reaching, tuple(found), request)


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
