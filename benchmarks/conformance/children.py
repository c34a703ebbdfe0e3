"""Jobs in child processes: a crash or a hang costs one job."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class _Child:
    """A worker that answers each line on its input with one JSON line."""

    process: subprocess.Popen[bytes]
    job: str = ""
    deadline: float = 0.0
    done: int = 0
    started: float = field(default_factory=time.monotonic)

    def send(self, job: str, limit: float) -> None:
        assert self.process.stdin is not None
        self.job = job
        self.deadline = time.monotonic() + limit
        self.process.stdin.write(f"{job}\n".encode())
        self.process.stdin.flush()

    def end(self) -> None:
        """Kill it and what it started."""
        with contextlib.suppress(ProcessLookupError):  # it is gone already
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def run_jobs(
    command: Sequence[str],
    jobs: Iterable[str],
    limit: float,
    processes: int = 1,
    each: int = 100,
) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield (job, answer) as workers answer; a dead or late one gives {"failed": why}.

    Args:
        command: Starts a worker: it reads jobs, a line each, and writes one JSON line for each to
            the descriptor named in its last argument.
        jobs: Names without line breaks.
        limit: Seconds for one job.
        processes: Workers at a time.
        each: Jobs after which a worker is replaced, since compiling leaks memory.
    """
    waiting = list(jobs)[::-1]
    selector = selectors.DefaultSelector()
    live = 0

    def start() -> None:
        nonlocal live
        read, write = os.pipe()
        process = subprocess.Popen(
            [*command, str(write)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(write,),
            start_new_session=True,
        )
        os.close(write)
        child = _Child(process)
        selector.register(os.fdopen(read, "rb"), selectors.EVENT_READ, child)
        child.send(waiting.pop(), limit + 120)  # the first one pays for the imports
        live += 1

    def stop(pipe: Any, child: _Child) -> None:
        nonlocal live
        selector.unregister(pipe)
        pipe.close()
        child.end()
        live -= 1

    try:
        while waiting or live:
            while waiting and live < processes:
                start()
            for key, _ in selector.select(timeout=1.0):
                child, pipe = key.data, key.fileobj
                line = pipe.readline()  # type: ignore[union-attr]
                if not line:
                    stop(pipe, child)
                    yield child.job, {"failed": f"the process died ({_status(child)})"}
                    continue
                job, child.done = child.job, child.done + 1
                if waiting and child.done < each:
                    child.send(waiting.pop(), limit)
                else:
                    stop(pipe, child)
                yield job, json.loads(line)
            for key in list(selector.get_map().values()):
                if time.monotonic() > key.data.deadline:
                    stop(key.fileobj, key.data)
                    yield key.data.job, {"failed": f"no answer in {limit:.0f} s"}
    finally:
        for key in list(selector.get_map().values()):
            stop(key.fileobj, key.data)


def _status(child: _Child) -> str:
    code = child.process.returncode
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit status {code}"


def serve(answer: Callable[[str], dict[str, Any]]) -> None:
    """A worker's loop: the other end of `run_jobs`."""
    with os.fdopen(int(sys.argv[-1]), "w", encoding="utf-8") as out:
        for line in sys.stdin:
            print(json.dumps(answer(line.strip())), file=out, flush=True)
