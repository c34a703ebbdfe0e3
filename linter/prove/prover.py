"""The parent's side of proofs: starts the worker, hands it trials and outlives whatever it does."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from .model import Status, Trial, Verdict
from .wire import Lines, decode_verdict, encode_trial, send

INSTALL = "pip install 'compile-lint[compile]'"
_START_LIMIT = 300.0  # importing torch from a cold disk takes its time
_GRACE = 30.0  # the worker watches the limit itself: this is for a worker that can't any more
_PACKAGES = Path(__file__).resolve().parents[1]
# The project's Python may lack compile_lint (installed apart), and its own folders must not come
# with it: a finder shows that Python our three packages and nothing else of where they are.
_BOOT = """
import importlib, importlib.machinery, importlib.util, json, sys
setup = json.loads(sys.argv[1])
del sys.argv[1:]
sys.path[:] = [entry for entry in sys.path if entry]
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "compile_lint":
            spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = []
            return spec
        if name in setup["packages"]:
            place = setup["packages"][name]
            return importlib.util.spec_from_file_location(
                name, place + "/__init__.py", submodule_search_locations=[place])
        return None
sys.meta_path.insert(0, Finder)
importlib.import_module("compile_lint.linter.prove.worker").main(setup)
"""


class ProverError(Exception):
    """No proofs can be had: that Python can't be run, or has no usable torch. Says what to do."""


class _Gone(Exception):
    """The worker ended, or was ended, without an answer. Says how."""


class Prover:
    """Proves trials, one after another, in a worker process that is started at the first.

    Args:
        python: The interpreter that runs the project's code; None: the one running.
        limit: Seconds that a proof may take.
        memory: Bytes that a proof's processes may use together.
        processes: How many processes a proof may have at a time.
        fork: Whether proofs are forked from one worker; None: where that is safe (Linux). Else
            each proof takes a process of its own, which has to import torch first.

    A context manager: leaving it ends the worker. Calls from several threads wait for each other.
    """

    def __init__(
        self,
        python: str | None = None,
        limit: float = 120.0,
        memory: int = 4 << 30,
        processes: int = 64,
        fork: bool | None = None,
    ) -> None:
        self.python = python or sys.executable
        self.limit, self.memory, self.processes = limit, memory, processes
        self.fork = sys.platform.startswith("linux") if fork is None else fork
        self.torch = ""  # the version that the worker found
        self._worker: _Worker | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Prover:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker. Does nothing when there is none."""
        with self._lock:
            self._drop()

    def start(self) -> None:
        """Start the worker, which `prove` would do by need.

        Raises:
            ProverError: That Python can't be run, or has no torch that can compile.
        """
        with self._lock:
            self._started()

    def prove(self, trial: Trial) -> Verdict:
        """Run the original and the rewrite, and say whether they do the same.

        Never raises for what the project's code does.

        Raises:
            ProverError: As for `start`.
        """
        request = {
            "trial": encode_trial(trial),
            "limit": self.limit,
            "memory": self.memory,
            "processes": self.processes,
        }
        with self._lock:
            worker = self._started()
            try:
                reply = worker.ask(request, self.limit + (_GRACE if self.fork else 0))
            except _Gone as how:
                self._drop(kill=True)
                return Verdict(Status.UNPROVED, f"the worker {how}")
            if not self.fork:
                self._drop()
            return decode_verdict(reply["verdict"])

    def _started(self) -> _Worker:
        if self._worker is None:
            worker = _Worker(self.python, self.fork)
            try:
                ready = worker.receive(_START_LIMIT)
            except _Gone as how:
                worker.close()
                raise ProverError(f"{self.python} gave no worker for proofs: it {how}") from None
            if "error" in ready:
                worker.close()
                raise ProverError(f"{self.python}: {ready['error']}")
            self.torch = ready["torch"]
            self._worker = worker
        return self._worker

    def _drop(self, kill: bool = False) -> None:
        if self._worker is not None:
            self._worker.close(kill)
            self._worker = None


class _Worker:
    """A running worker. Its standard streams are not ours: the project's code prints."""

    def __init__(self, python: str, fork: bool) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        theirs_in, self._send = os.pipe()
        self._receive, theirs_out = os.pipe()
        packages = {f"compile_lint.{p}": str(_PACKAGES.parent / p) for p in ("rules", "compiler")}
        packages["compile_lint.linter"] = str(_PACKAGES)
        setup: dict[str, Any] = {"packages": packages, "fork": fork}
        options: dict[str, Any] = {}
        if os.name == "nt":
            import msvcrt  # handles are inherited by number, descriptors aren't

            for name, fd in (("receive", theirs_in), ("send", theirs_out)):
                handle = msvcrt.get_osfhandle(fd)  # type: ignore[attr-defined]
                os.set_handle_inheritable(handle, True)  # type: ignore[attr-defined]
                setup[name] = handle
            options["close_fds"] = False
        else:
            setup["receive"], setup["send"] = theirs_in, theirs_out
            options["pass_fds"] = (theirs_in, theirs_out)
            options["start_new_session"] = True  # Ctrl-C is for us; we end it
        try:
            self._process = subprocess.Popen(
                [python, "-c", _BOOT, json.dumps(setup)],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                **options,
            )
        except OSError as failure:
            os.close(self._send)
            os.close(self._receive)
            self._log.close()
            raise ProverError(f"can't run {python}: {failure.strerror or failure}") from None
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self._lines = Lines(self._receive)

    def ask(self, request: Any, limit: float) -> Any:
        """Send a request and return the reply. Raises _Gone."""
        try:
            send(self._send, request)
        except OSError:
            raise _Gone(self._obituary()) from None
        return self.receive(limit)

    def receive(self, limit: float) -> Any:
        """Return the next reply. Raises _Gone when it ends, or takes longer than `limit`."""
        deadline = time.monotonic() + limit
        while True:
            value = self._lines.take()
            if value is not None:
                return value
            left = deadline - time.monotonic()
            if left <= 0:
                raise _Gone(f"gave no answer within {limit:g} s")
            if _readable(self._receive, min(left, 1.0)) and not self._lines.fill():
                raise _Gone(self._obituary())

    def close(self, kill: bool = False) -> None:
        """End it: the closed pipe tells it to go, with all that it started; else it is killed."""
        for fd in (self._send, self._receive):
            os.close(fd)
        if kill:
            self._kill()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()
        self._log.close()

    def _kill(self) -> None:
        """Kill it and, as it leads a session, what else is in that."""
        self._process.kill()
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _obituary(self) -> str:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "closed its pipe"
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 2000))
        said = self._log.read().decode(errors="replace").strip().splitlines()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"{how}: {said[-1]}" if said else how


def _readable(fd: int, seconds: float) -> bool:
    if os.name == "nt":
        return True  # pipes can't be polled there: reading waits
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    with contextlib.suppress(InterruptedError):
        return bool(poll.poll(seconds * 1000))
    return False
