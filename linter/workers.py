"""Analysing files one after the other, or (see `pool`) spread over worker processes.

Results are plain JSON values (`Analysed.payload`), which travel between processes and into the
cache as they are.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from ..rules.base.valueclass import valueclass
from .codec import encode_finding
from .model import AnalysisOptions, FileResult, SourceFile
from .source import UnreadableSource, load_source, read_bytes, reason
from .suppress import find_suppressions

# Analysis recurses over syntax trees: 1,000 nested expressions need a few thousand Python frames.
_STACK_BYTES = 256 * 1024 * 1024
_RECURSION_LIMIT = 20_000
_KEPT_ENGINES = 4
_FEW_FILES, _FEW_BYTES = 8, 200_000

T = TypeVar("T")


class Engine(Protocol):
    """What analyses a file."""

    def lint(self, source: SourceFile) -> FileResult:
        """Return what the entries of the file give."""
        ...


EngineFactory = Callable[[AnalysisOptions], Engine]


@valueclass
class Job:
    """A file to analyse. `data` is its content when it doesn't come from disk."""

    path: str
    options: AnalysisOptions
    size: int
    data: bytes | str | None = None


@valueclass
class Analysed:
    """The result for one file.

    digest        of the content that was read, "" when it couldn't be read
    dependencies  see `FileResult`
    payload       {"findings": encoded findings, "errors": [[path, line, message]],
                  "comments": encoded suppressions, "cells": notebook cells, "regions": …}
    crashed       our own fault: never kept
    """

    path: str
    digest: str
    dependencies: tuple[tuple[str, str], ...]
    payload: dict[str, Any]
    crashed: bool = False


def make_engine(options: AnalysisOptions) -> Engine:
    """Return the real engine, imported no sooner than the first file needs it."""
    from .engine import Linter

    return Linter(options)


def analyse(jobs: Sequence[Job], processes: int, factory: EngineFactory) -> Iterator[Analysed]:
    """Yield the result of every job, in any order. Never raises for what a file holds."""
    few = len(jobs) < _FEW_FILES and sum(job.size for job in jobs) < _FEW_BYTES
    if processes < 2 or len(jobs) < 2 or few or any(job.data is not None for job in jobs):
        engines: dict[AnalysisOptions, Engine] = {}
        for batch in _batches(jobs, 16):
            yield from with_deep_stack(partial(analyse_all, batch, factory, engines))
    else:
        from .pool import analyse_in_pool

        yield from analyse_in_pool(jobs, processes, factory)


def available_processors() -> int:
    """Return how many processors this process may use."""
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def with_deep_stack(call: Callable[[], T]) -> T:
    """Return what `call` returns, run in a thread whose stack holds deep recursion."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:
            failure.append(error)

    before, limit = threading.stack_size(_STACK_BYTES), sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
        sys.setrecursionlimit(limit)
    if failure:
        raise failure[0]
    return outcome[0]


def _batches(jobs: Sequence[Job], count: int) -> Iterator[Sequence[Job]]:
    for start in range(0, len(jobs), count):
        yield jobs[start : start + count]


def analyse_all(
    jobs: Sequence[Job], factory: EngineFactory, engines: dict[AnalysisOptions, Engine]
) -> list[Analysed]:
    """Analyse files in turn; `engines` keeps engines from call to call, one for each options.

    Few of them: an engine holds the syntax trees of all modules that it has met.
    """
    results = []
    for job in jobs:
        engine = engines.get(job.options)
        if engine is None:
            if len(engines) == _KEPT_ENGINES:
                engines.clear()
                gc.collect()  # trees and what is known of them hold each other
            engine = engines[job.options] = factory(job.options)
        results.append(analyse_one(job, engine))
    return results


def analyse_one(job: Job, engine: Engine) -> Analysed:
    """Read and analyse one file."""
    try:
        data = read_bytes(job.path) if job.data is None else job.data
    except OSError as error:
        return failed(job, f"can't read: {reason(error)}")
    try:
        source, problems = load_source(job.path, data)
    except UnreadableSource as error:
        return failed(job, error.message, error.line)
    errors = [[problem.path, problem.line, problem.message] for problem in problems]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = engine.lint(source)
    except UnreadableSource as error:
        return failed(job, error.message, error.line)
    except (RecursionError, MemoryError):
        return failed(job, "nested too deeply to be analysed")
    except Exception as error:
        if os.environ.get("COMPILE_LINT_DEBUG"):
            traceback.print_exc()
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return failed(job, f"internal error: {text} (please report it)", crashed=True)
    errors += [[problem.path, problem.line, problem.message] for problem in result.diagnostics]
    payload = {
        "findings": [encode_finding(finding) for finding in result.findings],
        "errors": errors,
        "comments": [comment.encode() for comment in find_suppressions(source.text)],
        "cells": [list(cell) for cell in source.cells],
        "regions": [
            [r.path, r.line, r.name, r.reason, r.options, [list(f) for f in r.functions]]
            for r in result.regions
        ],
    }
    return Analysed(job.path, source.digest, result.dependencies, payload)


def failed(job: Job, message: str, line: int | None = None, crashed: bool = False) -> Analysed:
    """Return the result for a file that can't be analysed."""
    payload = {
        "findings": [],
        "errors": [[job.path, line, message]],
        "comments": [],
        "cells": [],
        "regions": [],
    }
    return Analysed(job.path, "", (), payload, crashed)
