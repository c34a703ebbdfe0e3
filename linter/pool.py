"""Analysing files in worker processes."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial

from .model import AnalysisOptions
from .workers import (
    Analysed,
    Engine,
    EngineFactory,
    Job,
    analyse_all,
    failed,
    make_engine,
    with_deep_stack,
)

_KEPT_FREE = 16 * 1024 * 1024
_engines: dict[AnalysisOptions, Engine] = {}  # of a worker process


def _work(jobs: Sequence[Job], factory: EngineFactory) -> list[Analysed]:
    """Analyse a chunk in a worker process."""
    return with_deep_stack(partial(analyse_all, jobs, factory, _engines))


def analyse_in_pool(
    jobs: Sequence[Job], processes: int, factory: EngineFactory
) -> Iterator[Analysed]:
    """Yield the result of every job, in any order; files that kill their process cost that file."""
    chunks = make_chunks(jobs, processes)
    processes = min(processes, len(chunks), 61)  # Windows can't wait for more than 61
    suspects: list[Job] = []
    while chunks:
        with _pool(processes, factory) as pool, _ended_on_failure():
            running: dict[Future[list[Analysed]], Sequence[Job]] = {}
            broken = False
            while (chunks and not broken) or running:
                # Few chunks at a time: when a process dies, those in flight are the suspects.
                while chunks and not broken and len(running) <= processes:
                    chunk = chunks.pop()
                    try:
                        running[pool.submit(_work, chunk, factory)] = chunk
                    except BrokenProcessPool:
                        chunks.append(chunk)
                        broken = True
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    chunk = running.pop(future)
                    try:
                        yield from future.result()
                    except BrokenProcessPool:
                        broken = True
                        suspects += chunk
    for job in suspects:
        with _pool(1, factory) as pool, _ended_on_failure():
            try:
                yield from pool.submit(_work, [job], factory).result()
            except BrokenProcessPool:
                yield failed(job, "the analysis process died (out of memory?)", crashed=True)


def _pool(processes: int, factory: EngineFactory) -> ProcessPoolExecutor:
    method = "fork" if sys.platform == "linux" else "spawn"
    if method == "fork" and factory is make_engine:
        from ..rules.base.rule import all_rules
        from . import engine  # noqa: F401

        all_rules()  # imported once, shared by the forked processes
    context = multiprocessing.get_context(method)
    return ProcessPoolExecutor(processes, mp_context=context, initializer=_start_worker)


@contextmanager
def _ended_on_failure() -> Iterator[None]:
    """End the worker processes at once when the run is given up, as by Ctrl-C."""
    before = set(multiprocessing.active_children())
    try:
        yield
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise


def _start_worker() -> None:
    """Let Ctrl-C end a worker without a word; the main process says what there is to say.

    Syntax trees are many small objects that live as long as the worker: looking for garbage among
    them takes longer than parsing them. And what CPython's parser frees after each file is back at
    once for the next one: once a block of that size was freed, the C library keeps as much.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()
    bytearray(_KEPT_FREE)


def make_chunks(jobs: Sequence[Job], processes: int) -> list[list[Job]]:
    """Return chunks of neighbouring files, largest last.

    Neighbours import the same modules, which a process parses once. Each chunk is a share of what
    is left: large ones are taken first (from the end), and with small ones at last the processes
    come to an end together, where with equal ones the last one would be waited for.
    """
    rest = sum(job.size for job in jobs) + 1000 * len(jobs)
    chunks: list[list[Job]] = []
    size = limit = 0
    for job in sorted(jobs, key=lambda job: job.path):
        if size >= limit:
            chunks.append([])
            size, limit = 0, max(rest // (processes * 6), 20_000)
        chunks[-1].append(job)
        size += job.size + 1000
        rest -= job.size + 1000
    chunks.sort(key=lambda chunk: sum(job.size for job in chunk))
    return chunks
