"""A run: paths → files → analysis (or the cache) → selection, suppression, baseline → outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from ..rules.base.valueclass import valueclass
from .cache import Cache, FileStates, default_cache_dir, dependency_states
from .conclude import Conclusion, Run
from .config import Settings
from .discover import Target
from .model import AnalysisOptions, Diagnostic
from .workers import Analysed, EngineFactory, Job, analyse, available_processors, make_engine


@valueclass
class Request:
    """What a run is to do, besides the files and their settings.

    settings   those of the run itself (cache folder, baseline, jobs)
    data       contents of files that don't come from disk, by absolute path
    use_baseline  whether findings of the baseline are left out
    use_comments  whether suppression comments hide findings
    excerpts   whether the outcome is to hold source lines
    regions    whether it is to hold the compiled regions
    fixes      whether findings are to come with rewrites
    factory    makes the engine; tests put their own here
    progress   called with (files done, files in all) as the analysis goes on
    """

    settings: Settings
    data: Mapping[str, bytes | str] = field(default_factory=dict)
    use_cache: bool = True
    use_baseline: bool = True
    use_comments: bool = True
    excerpts: bool = False
    regions: bool = False
    fixes: bool = False
    factory: EngineFactory = make_engine
    progress: Callable[[int, int], None] = lambda done, total: None


def lint(targets: Sequence[Target], diagnostics: Sequence[Diagnostic], request: Request) -> Run:
    """Lint the files. Raises ConfigError (a bad baseline) and UnknownRule (a bad selection)."""
    payloads = _payloads(targets, request)
    conclusion = Conclusion(targets, payloads, request.data, request.use_comments)
    baseline = request.settings.baseline if request.use_baseline else ""
    return conclusion.run(diagnostics, baseline, request.excerpts)


def _payloads(targets: Sequence[Target], request: Request) -> dict[str, dict[str, Any]]:
    """Return the payload of every file, from the cache where it still holds."""
    data = request.data
    states = FileStates()
    for target in targets:
        states.know(target.path, target.size, target.mtime_ns)
    folder = request.settings.cache_dir or default_cache_dir() if request.use_cache else ""
    caches: dict[tuple[str, AnalysisOptions], Cache] = {}
    options = {
        settings: replace(
            settings.analysis_options(),
            fixes=request.fixes,
            regions=request.regions,
            dependencies=request.use_cache,
        )
        for settings in _distinct(targets)
    }
    found: dict[str, dict[str, Any]] = {}
    jobs: list[Job] = []
    keeper: dict[str, Cache] = {}
    for target in targets:
        settings = target.settings
        if request.use_cache and target.path not in data:
            place = (settings.root, replace(options[settings], regions=False))
            cache = caches.get(place)
            if cache is None:
                cache = caches[place] = Cache(folder, *place, states)
            keeper[target.path] = cache
            payload = None if request.regions else cache.get(target.path)
            if payload is not None:
                found[target.path] = payload
                continue
        content = data.get(target.path)
        jobs.append(Job(target.path, options[settings], target.size, content))
    processes = request.settings.jobs or available_processors()
    try:
        for done, result in enumerate(analyse(jobs, processes, request.factory), start=1):
            found[result.path] = result.payload
            _keep(keeper.get(result.path), result, states)
            request.progress(done, len(jobs))
    finally:
        for cache in caches.values():
            cache.flush()  # a run that is given up leaves what it has
    return found


def _keep(cache: Cache | None, result: Analysed, states: FileStates) -> None:
    if cache is None or result.crashed or not result.digest:
        return
    dependencies = dependency_states(result.dependencies, states)
    if dependencies is not None:
        payload = {**result.payload, "regions": []}  # large, and rarely asked for
        cache.put(result.path, result.digest, dependencies.items(), payload)


def _distinct(targets: Iterable[Target]) -> list[Settings]:
    return list({id(target.settings): target.settings for target in targets}.values())
