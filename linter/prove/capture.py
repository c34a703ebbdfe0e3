"""What Dynamo makes of a function: graphs, graph breaks and recompilations, hooked at the source.

Dynamo's own counters leave out data-dependent jumps and breaks in resumed functions.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch._dynamo as dynamo
import torch._dynamo.exc as dynamo_exc
import torch._dynamo.symbolic_convert as symbolic_convert

from ...compiler.capture.backend import Backend
from ...compiler.settings import Settings


@dataclass(frozen=True, slots=True)
class Break:
    """A graph break: file and line that Dynamo blames (0 for unknown), and its reason."""

    file: str
    line: int
    reason: str


class Capture:
    """One compilation: make it, call what `compiled` gives, read what came of it.

    Args:
        settings: For our compiler; None with `backend`.
        backend: Another backend's name, or "count" for one that runs graphs as they are.
        fullgraph: As in torch.compile.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        backend: str = "",
        fullgraph: bool = True,
    ) -> None:
        self.breaks: dict[Break, None] = {}
        self.recompiles = 0
        self.graphs = 0
        self.fullgraph = fullgraph
        self.ours = None if backend else Backend(settings or Settings(collect=False))
        self._backend: Any = self._count if backend == "count" else backend or self.ours

    def compiled(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Return `fn` compiled; while it is called, inside `with self`, Dynamo is listened to."""
        return torch.compile(fn, backend=self._backend, fullgraph=self.fullgraph)

    def our_graphs(self) -> list[Any]:
        """What our compiler made, until Dynamo is reset."""
        return self.ours.graphs if self.ours else []

    def _count(self, gm: torch.fx.GraphModule, _inputs: Any) -> Callable[..., Any]:
        self.graphs += 1
        return gm.forward

    def __enter__(self) -> Capture:
        _install()
        _listeners.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _listeners.remove(self)

    def add(self, error: BaseException, frame_file: str, frame_line: int) -> None:
        """Note a break once, at the innermost line of the user's code that it names."""
        if getattr(error, "_compile_lint_noted", False):
            return
        error._compile_lint_noted = True  # type: ignore[attr-defined]
        file, line = frame_file, frame_line
        for frame in reversed(list(getattr(error, "real_stack", None) or [])):
            if "/torch/" not in frame.filename.replace("\\", "/"):
                file, line = frame.filename, frame.lineno
                break
        self.breaks[Break(file, line, reason_of(error))] = None


def reason_of(error: BaseException) -> str:
    """The first line of what Dynamo, or whoever, says."""
    text = getattr(error, "msg", None) or str(error)
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return lines[0][:160] if lines else type(error).__name__


def is_refusal(error: BaseException) -> bool:
    """Whether Dynamo (not the program, nor our compiler) raised it."""
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    ours = isinstance(error, (dynamo_exc.TorchDynamoException, GuardOnDataDependentSymNode))
    if isinstance(error, dynamo_exc.BackendCompilerFailed):
        return False
    return ours or type(error).__module__.startswith("torch._dynamo")


def line_of(error: BaseException, path: str) -> int:
    """The innermost line of `path` that an error speaks of, 0 if none."""
    for frame in reversed(list(getattr(error, "real_stack", None) or [])):
        if frame.filename == path:
            return frame.lineno
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


class ModuleSettings:
    """What the modules on trial may set for the whole process, each version for itself."""

    _NAMES = (
        "allow_rnn",
        "capture_dynamic_output_shape_ops",
        "capture_scalar_outputs",
        "trace_autograd_ops",
    )

    def __init__(self) -> None:
        self._kept = {"": self._now()}

    def _now(self) -> dict[str, Any]:
        return {n: getattr(dynamo.config, n) for n in self._NAMES if hasattr(dynamo.config, n)}

    def keep(self, text: str) -> None:
        """Note the settings that a version has made while it was loaded."""
        self._kept.setdefault(text, self._now())

    def reset(self, text: str = "") -> None:
        """Put the settings back to what they were at first, or once a version was loaded."""
        for name, value in self._kept[text].items():
            setattr(dynamo.config, name, value)


convert_frame: Any = importlib.import_module("torch._dynamo.convert_frame")
_listeners: list[Capture] = []
_installed: list[bool] = []


def _install() -> None:
    if _installed:
        return
    _installed.append(True)
    log = symbolic_convert.InstructionTranslatorBase.log_graph_break
    compile_frame = convert_frame._compile
    reasons = convert_frame.get_and_maybe_log_recompilation_reasons

    @functools.wraps(log)
    def log_graph_break(tx: Any, code_options: Any, reason: Any, exc: Any) -> Any:
        for one in _listeners:
            one.add(exc, tx.f_code.co_filename, tx.lineno or 0)
        return log(tx, code_options, reason, exc)

    @functools.wraps(compile_frame)
    def _compile(code: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return compile_frame(code, *args, **kwargs)
        except (dynamo_exc.TorchDynamoException, AssertionError, IndexError) as exc:
            if not isinstance(exc, dynamo_exc.BackendCompilerFailed):
                for one in _listeners:
                    one.add(exc, code.co_filename, code.co_firstlineno)
            raise

    @functools.wraps(reasons)
    def recompilation_reasons(*args: Any, **kwargs: Any) -> Any:
        for one in _listeners:
            one.recompiles += 1
        return reasons(*args, **kwargs)

    symbolic_convert.InstructionTranslatorBase.log_graph_break = log_graph_break  # type: ignore[method-assign]
    convert_frame._compile = _compile
    convert_frame.get_and_maybe_log_recompilation_reasons = recompilation_reasons


def reset() -> None:
    """Forget what was compiled."""
    dynamo.reset()
