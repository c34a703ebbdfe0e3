"""Runs a proof in a forked process that can take nothing else with it, and says how it ended.

The child leads a session of its own. The worker watches its time, the memory and the number of its
processes, drains what it prints, and in the end kills everything that came of it: the worker is
made the parent of orphans (Linux), so that nothing that forks twice gets away.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import mmap
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .wire import Lines, send

_TICK = 0.05
_TAIL = 4000
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LINUX = sys.platform.startswith("linux")
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class OwnerGone(Exception):
    """Whoever asked for the proof closed the pipe."""


@dataclass(frozen=True, slots=True)
class Limits:
    """seconds, bytes resident together, processes at a time"""

    seconds: float
    memory: int
    processes: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How a proof ended: with a `reply`, or for a `reason`."""

    reply: Any = None
    reason: str = ""


def adopt_orphans() -> None:
    """Become the parent of whatever our descendants leave behind."""
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def run(job: Callable[[Callable[[Any], None]], None], limits: Limits, owner: int) -> Ended:
    """Fork, call `job` with a function that sends a value here, and wait for the last value.

    Values with "stage" tell what goes on; the first without it is the reply.

    Raises:
        OwnerGone: The other end of `owner` was closed meanwhile.
    """
    replies, reply_end = os.pipe()
    printed, print_end = os.pipe()
    forks = mmap.mmap(-1, 8)  # shared: how many processes were forked
    pid = os.fork()
    if pid == 0:
        try:
            for fd in (replies, printed, owner):
                os.close(fd)
            _settle(print_end, limits, forks)
            job(lambda value: send(reply_end, value))
        finally:
            os._exit(0)
    os.close(reply_end)
    os.close(print_end)
    try:
        return _Watch(pid, replies, printed, owner, limits, forks).wait()
    finally:
        kill_descendants()
        os.close(replies)
        os.close(printed)
        forks.close()


class _Watch:
    def __init__(
        self, pid: int, replies: int, printed: int, owner: int, limits: Limits, forks: mmap.mmap
    ) -> None:
        self.pid, self.limits, self.forks = pid, limits, forks
        self.lines, self.printed, self.owner = Lines(replies), printed, owner
        self.stage = ""
        self.tail, self.open = b"", True  # the end of what was printed; whether more can come
        self.poll = select.poll()
        self.poll.register(replies, select.POLLIN)
        self.poll.register(printed, select.POLLIN)
        self.poll.register(owner, 0)  # only its end

    def wait(self) -> Ended:
        deadline = time.monotonic() + self.limits.seconds
        looked = 0.0
        while True:
            ready = dict(self.poll.poll(_TICK * 1000))
            if self.owner in ready:
                raise OwnerGone
            if self.printed in ready:
                self._drain()
            if self.lines.fd in ready:
                open_ = self.lines.fill()
                while (value := self.lines.take()) is not None:
                    if "stage" not in value:
                        return Ended(value)
                    self.stage = value["stage"]
                if not open_:
                    return Ended(reason=self._death())
            now = time.monotonic()
            if now > deadline:
                return Ended(reason=f"did not end within {self.limits.seconds:g} s{self._while()}")
            if now - looked > _TICK:
                looked = now
                if reason := self._over():
                    return Ended(reason=reason)

    def _over(self) -> str:
        """Which limit was passed; "" for none."""
        count, resident = usage()
        if count > self.limits.processes or self._forked() > self.limits.processes:
            return f"started more than {self.limits.processes} processes{self._while()}"
        # Pages that forked processes share were counted for each: what they hold together is slower
        # to ask for.
        if resident > self.limits.memory and held() > self.limits.memory:
            return f"used more than {_size(self.limits.memory)} of memory{self._while()}"
        return ""

    def _forked(self) -> int:
        return int.from_bytes(self.forks[:8], "little")

    def _drain(self) -> None:
        if not self.open:
            return
        data = os.read(self.printed, 1 << 16)
        if data:
            self.tail = (self.tail + data)[-_TAIL:]
        else:
            self.open = False
            self.poll.unregister(self.printed)

    def _death(self) -> str:
        """Why the pipe closed without a reply."""
        if self._forked() > self.limits.processes:
            return f"started more than {self.limits.processes} processes{self._while()}"
        status = _reap(self.pid, 2.0)
        if status is None:
            return f"closed the worker's pipe{self._while()}"
        with contextlib.suppress(OSError):
            os.set_blocking(self.printed, False)
            self._drain()
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            with contextlib.suppress(ValueError):
                return f"died of {signal.Signals(number).name}{self._while()}{self._place()}"
            return f"died of signal {number}{self._while()}{self._place()}"
        return f"ended the process with code {os.WEXITSTATUS(status)}{self._while()}"

    def _while(self) -> str:
        return f" while {self.stage}" if self.stage else ""

    def _place(self) -> str:
        """Where faulthandler says it died, outside of torch's and Python's own files."""
        found = re.findall(rb'File "([^"]+)", line (\d+) in (\S+)', self.tail)
        for file, line, name in found:
            if b"site-packages" not in file and b"/lib/python" not in file:
                where = f"{Path(os.fsdecode(file)).name}:{line.decode()}"
                return f" at {where} in {name.decode(errors='replace')}"
        return ""


def _settle(print_end: int, limits: Limits, forks: mmap.mmap) -> None:
    """Make this forked process a proof's own: session, streams, limits."""
    os.setsid()
    if _LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    null = os.open(os.devnull, os.O_RDONLY)
    for fd, source in enumerate((null, print_end, print_end)):
        os.dup2(source, fd)
    os.close(null)
    os.close(print_end)
    # New objects: nothing that the worker had buffered may come out again here.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    faulthandler.enable()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    _limit_resources(limits)

    def count() -> None:
        number = int.from_bytes(forks[:8], "little") + 1
        forks[:8] = number.to_bytes(8, "little")
        if number > limits.processes:
            os.killpg(0, signal.SIGKILL)

    os.register_at_fork(before=count)


def _limit_resources(limits: Limits) -> None:
    import resource

    def lower(which: int, value: int) -> None:
        hard = resource.getrlimit(which)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        with contextlib.suppress(ValueError, OSError):  # the platform refuses: polling stays
            resource.setrlimit(which, (value, value))

    lower(resource.RLIMIT_CORE, 0)
    if not _LINUX:
        return
    with contextlib.suppress(OSError, ValueError):
        data = int(re.findall(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())[0])
        # Address space that is only reserved counts too (thread stacks, arenas): leave room.
        lower(resource.RLIMIT_DATA, data * 1024 + 2 * limits.memory + (1 << 30))
    uid, threads = os.getuid(), 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if entry.stat().st_uid == uid:
                    threads += len(os.listdir(entry / "task"))
    lower(resource.RLIMIT_NPROC, threads + 4 * limits.processes + 64)  # counts every thread


def usage() -> tuple[int, int]:
    """Return how many descendants this process has, and the bytes they have resident."""
    found, resident = descendants(os.getpid()), 0
    for pid in found:
        with contextlib.suppress(OSError, IndexError, ValueError):
            resident += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    return len(found), resident


def held() -> int:
    """Return the bytes that the descendants hold together, shared pages counted once."""
    total = 0
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += sum(1024 * int(kb) for kb in re.findall(r"^Pss:\s+(\d+)", text, re.M))
    return total


def descendants(root: int) -> list[int]:
    """Return the processes below `root`, [] where there is no /proc."""
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError):
                    with open(f"/proc/{pid}/task/{task}/children") as file:
                        below = [int(text) for text in file.read().split()]
                    found += below
                    todo += below
    return found


def kill_descendants() -> None:
    """Kill everything below this process: stopped first, so that nothing can fork meanwhile."""
    for _ in range(200):
        alive = descendants(os.getpid())
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in alive:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
        while True:
            try:
                reaped, _status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if reaped == 0:
                break
        time.sleep(0.005)


def _reap(pid: int, seconds: float) -> int | None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(ChildProcessError):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return status
        time.sleep(0.01)
    return None


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _size(count: int) -> str:
    return f"{count / (1 << 30):g} GiB" if count >= 1 << 30 else f"{count / (1 << 20):g} MiB"
