"""What the compiler tells while it works, through `logging`.

    compile_lint.graph_breaks   where a graph ends, and why       (from Dynamo)
    compile_lint.recompiles     which guard failed                (from Dynamo)
    compile_lint.kernels        the source of each kernel
    compile_lint.fusion         what was fused, and what that saved

`COMPILE_LINT_LOGS=recompiles,fusion` turns them on from outside.
"""

from __future__ import annotations

import importlib
import logging
import os

from .errors import UnknownOption

VARIABLE = "COMPILE_LINT_LOGS"
ROOT = "compile_lint"
NAMES = ("graph_breaks", "recompiles", "kernels", "fusion")
# Which module of Dynamo logs it, under torch's name for it.
OF_TORCH = {
    "graph_breaks": "torch._dynamo.symbolic_convert",
    "recompiles": "torch._dynamo.guards",
}


class _Forward(logging.Handler):
    """Gives torch's records to our logger."""

    def __init__(self, name: str) -> None:
        super().__init__(logging.DEBUG)
        self.target = logging.getLogger(f"{ROOT}.{name}")

    def emit(self, record: logging.LogRecord) -> None:
        self.target.debug("%s", record.getMessage())


_forwards: dict[str, tuple[_Forward, bool]] = {}


def set_logs(
    *,
    graph_breaks: bool | None = None,
    recompiles: bool | None = None,
    kernels: bool | None = None,
    fusion: bool | None = None,
) -> None:
    """Turn logs on (True) or off (False); None leaves one as it is.

    Records have level DEBUG and go where your logging configuration sends them; to stderr if there
    is none. torch's own logs (`TORCH_LOGS`) stay as they are.
    """
    wanted = {
        "graph_breaks": graph_breaks,
        "recompiles": recompiles,
        "kernels": kernels,
        "fusion": fusion,
    }
    for name, on in wanted.items():
        if on is None:
            continue
        logging.getLogger(f"{ROOT}.{name}").setLevel(logging.DEBUG if on else logging.NOTSET)
        if name in OF_TORCH:
            _listen(name) if on else _leave(name)
    ours = logging.getLogger(ROOT)
    if any(wanted.values()) and not ours.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        ours.addHandler(handler)


def from_environment() -> None:
    """What `COMPILE_LINT_LOGS` asks for.

    Raises:
        UnknownOption: It names a log that doesn't exist.
    """
    text = os.environ.get(VARIABLE, "")
    asked = [name.strip() for name in text.split(",") if name.strip()]
    for name in asked:
        if name not in NAMES:
            raise UnknownOption(f"{VARIABLE} names {name!r}: choose from {', '.join(NAMES)}")
    if asked:
        set_logs(**dict.fromkeys(asked, True))


def _listen(name: str) -> None:
    if name in _forwards:
        return
    from torch._logging import _internal

    importlib.import_module(OF_TORCH[name])
    log = _internal.getArtifactLogger(OF_TORCH[name], name)
    already = _internal.log_state.is_artifact_enabled(name)
    _internal.log_state.enable_artifact(name)
    log.setLevel(logging.DEBUG)
    forward = _Forward(name)
    if not already:
        log.propagate = False  # else torch's own handler prints it, too
    log.addHandler(forward)
    _forwards[name] = (forward, already)


def _leave(name: str) -> None:
    if name not in _forwards:
        return
    from torch._logging import _internal

    forward, already = _forwards.pop(name)
    log = _internal.getArtifactLogger(OF_TORCH[name], name)
    log.removeHandler(forward)
    if not already:
        _internal.log_state.artifact_names.discard(name)
        log.setLevel(logging.NOTSET)
