"""A helper process of ours: started by need, spoken to by pipes, gone when we are.

Helpers import Triton but not this package's front door, which would bring all of torch with it:
the packages above the helper's module are put in place without running them.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .wire import read_message, write_message

_HERE = __name__.rpartition(".")[0]  # "compile_lint.compiler.runtime"
_ROOT = _HERE.rpartition(".")[0]
_BOOT = """
import importlib, importlib.machinery, importlib.util, json, sys
setup = json.loads(sys.argv[1])
sys.path[:] = setup["path"]
for name, places in setup["packages"].items():
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = places
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)
importlib.import_module(setup["module"]).main(setup["receive"], setup["send"])
"""
_live: weakref.WeakSet[HelperProcess] = weakref.WeakSet()


class HelperDied(Exception):
    """The helper ended without an answer; the text says how, with the end of what it printed."""


class HelperTimeout(Exception):
    """The helper gave no answer in time, and was ended."""


class HelperProcess:
    """One running helper.

    Args:
        module: A module of this package's `runtime` with `main(receive_fd, send_fd)`.
        environment: Variables on top of this process's own.
        pass_fds: File descriptors that it inherits under the same numbers.
    """

    def __init__(
        self,
        module: str,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        if not sys.executable:
            raise HelperDied("no Python executable to start a helper process with")
        their_receive, self._send = os.pipe()
        self._receive, their_send = os.pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the helper)
        setup = {
            "path": [entry or os.getcwd() for entry in sys.path],
            "packages": _packages(),
            "module": f"{_HERE}.{module}",
            "receive": their_receive,
            "send": their_send,
        }
        self.pid_of_owner = os.getpid()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, json.dumps(setup)],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env={**os.environ, **(environment or {})},
                pass_fds=(their_receive, their_send, *pass_fds),
                cwd=os.sep,
            )
        except OSError as failure:
            os.close(self._send)
            os.close(self._receive)
            raise HelperDied(f"no helper process could be started: {failure}") from failure
        finally:
            os.close(their_receive)
            os.close(their_send)
        self._open = True
        _live.add(self)

    @property
    def usable(self) -> bool:
        """It runs, and this process (not one that was forked) started it."""
        return self._open and self.pid_of_owner == os.getpid() and self._process.poll() is None

    def send(self, message: Mapping[str, Any], payload: bytes = b"") -> None:
        """Send a request.

        Raises:
            HelperDied: It's gone.
        """
        try:
            write_message(self._send, message, payload)
        except OSError:
            raise HelperDied(self._obituary()) from None

    def receive(self, timeout: float | None = None) -> tuple[dict[str, Any], bytes]:
        """Wait for an answer, at most `timeout` seconds.

        Raises:
            HelperDied: It's gone.
            HelperTimeout: It took too long, and was ended.
        """
        poll = select.poll()  # not select(): descriptors may be over 1023
        poll.register(self._receive, select.POLLIN)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            if poll.poll(left):
                break
            if deadline is not None and time.monotonic() >= deadline:
                self.close(kill=True)
                raise HelperTimeout(f"no answer within {timeout:g} s")
        try:
            return read_message(self._receive)
        except (EOFError, OSError):
            raise HelperDied(self._obituary()) from None

    def close(self, kill: bool = False) -> None:
        """End it: by closing its pipe, or at once with `kill`. Does nothing the second time."""
        if not self._open:
            return
        self._open = False
        _live.discard(self)
        for fd in (self._send, self._receive):
            with contextlib.suppress(OSError):
                os.close(fd)
        self._log.close()
        if self.pid_of_owner != os.getpid():
            return
        if kill:
            self._process.kill()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _obituary(self) -> str:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 4000))
        said = self._log.read().decode(errors="replace").strip()
        self.close()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"the helper process {how}" + (f":\n{said}" if said else "")


def _packages() -> dict[str, list[str]]:
    """Where the packages above the helpers' modules are, outermost first."""
    found = {}
    root = Path(__file__).resolve().parent.parent
    parts = _ROOT.split(".")
    for depth in range(1, len(parts)):
        name = ".".join(parts[:depth])
        found[name] = [str(place) for place in sys.modules[name].__path__]
    return {
        **found,
        _ROOT: [str(root)],
        f"{_ROOT}.runtime": [str(root / "runtime")],
        f"{_ROOT}.triton": [str(root / "triton")],
    }


def _close_all() -> None:
    for helper in list(_live):
        helper.close()


def _forget_parents() -> None:
    """In a forked child: let go of the parent's pipes, so that helpers see the parent's end."""
    for helper in list(_live):
        helper.close()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_parents)
