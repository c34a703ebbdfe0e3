"""When a function can't be captured as one graph: find every break, not only the first."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo
import torch._dynamo.exc
from torch._dynamo.exc import BackendCompilerFailed
from torch.utils._pytree import tree_map_only

from ..errors import CaptureError
from . import breaks
from .breaks import BRANCH, GraphBreak
from .recorder import Recorder
from .snapshot import Snapshot
from .tolerant import Finished, explore

# What fullgraph=True makes Dynamo capture, which it breaks at by default.
AS_FULLGRAPH = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}


def capture_error(
    fn: Callable,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic: bool | None,
    error: BaseException,
    home: tuple[str, int, str],
    collect: bool = True,
) -> CaptureError:
    """The error to raise where Dynamo raised `error` for `fn(*args, **kwargs)` under fullgraph.

    First Dynamo traces on behind each break, which runs nothing. Only where that stops short is the
    function run, with graph breaks allowed, and what the run changed is put back.

    Args:
        home: File, line and name of the function, as the user knows it.
        collect: Look for further breaks.
    """
    notes: list[str] = []
    with Recorder(home, ignored=(Finished, BackendCompilerFailed)) as recorder:
        recorder.add(error, "")
        try:
            if not collect:
                notes.append("Only the first break was looked for (collect=False).")
            elif not recorder.complete:
                notes.append("This torch can't be listened to: only the first break is listed.")
            else:
                with quiet():
                    recorder.breaking = False
                    whole = explore(fn, args, kwargs, dynamic, recorder)
                    recorder.breaking = True
                if not whole:
                    notes += _run(fn, args, kwargs, dynamic, recorder)
                    notes = [*limits(tuple(recorder.breaks.values())), *notes]
        finally:
            recorder.forget()
    found = tuple(recorder.breaks.values())
    return CaptureError(_message(home[2], found, tuple(notes)), found)


def _run(
    fn: Callable,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic: bool | None,
    recorder: Recorder,
) -> list[str]:
    """Run `fn` once with graph breaks allowed, and undo what that changed. What hindered it."""
    args, kwargs = tree_map_only(torch.Tensor, own_history, (args, kwargs))
    try:
        before = Snapshot(fn, args, kwargs)
    except (RuntimeError, MemoryError) as error:  # torch.OutOfMemoryError is a RuntimeError
        return [f"It couldn't be run to find more breaks: no copy of the inputs ({error})."]
    if before.iterators:
        return ["It wasn't run to find more breaks: that would use up a generator it is given."]
    compiled = torch.compile(fn, backend=_eager, fullgraph=False, dynamic=dynamic)
    try:
        with quiet(), torch._dynamo.config.patch(AS_FULLGRAPH):
            compiled(*args, **kwargs)
    except (Exception, SystemExit) as error:
        return [f"A run to find more breaks ended {_where(error)}: those behind aren't listed."]
    finally:
        before.restore()
    return []


def limits(found: tuple[GraphBreak, ...]) -> Iterator[str]:
    """Where breaks may hide that no run on these arguments shows."""
    for one in found:
        where = f"{one.file}:{one.line}"
        if one.how in ("skip-frame", "skip-rest"):
            part = "the rest" if one.how == "skip-rest" else "all"
            yield (
                f"Because of the break at {where} Dynamo gives up on {part} of `{one.function}`: "
                "it may have more breaks."
            )
        if one.type.startswith(BRANCH):
            yield f"Only the side of {where} that these arguments take was looked at."


def _where(error: BaseException) -> str:
    if isinstance(error, torch._dynamo.exc.TorchDynamoException):
        at = breaks.of(error, "error")
        return f"at {at.file}:{at.line}"
    said = str(error).strip().splitlines()
    return f"in {type(error).__name__}{': ' + said[0] if said else ''}"


def _message(name: str, every: tuple[GraphBreak, ...], notes: tuple[str, ...]) -> str:
    count = "1 graph break" if len(every) == 1 else f"{len(every)} graph breaks"
    rows = [f"`{name}` can't be captured as one graph: {count}.", ""]
    for number, one in enumerate(every, 1):
        first, *rest = str(one).splitlines()
        rows += [f"{number}. {first}", *(f"   {row}" for row in rest), ""]
    rows += [f"Note: {note}" for note in dict.fromkeys(notes)]
    rows.append("fullgraph=False runs it as several graphs.")
    return "\n".join(rows)


def own_history(value: torch.Tensor) -> torch.Tensor:
    """`value` without the graph that made it, so that a backward inside can't use that one up."""
    if value.is_leaf or type(value) is not torch.Tensor:
        return value
    return value.detach().requires_grad_(value.requires_grad)


def _eager(gm: torch.fx.GraphModule, _inputs: Any) -> Callable:
    return gm.forward


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No prints, log records or warnings, no input, no debugger: the user runs this once only."""
    stdin, hook, level = sys.stdin, sys.breakpointhook, logging.root.manager.disable
    nothing = io.StringIO()
    sys.stdin, sys.breakpointhook = io.StringIO(), lambda *_, **__: None
    logging.disable(logging.CRITICAL)
    try:
        with (
            contextlib.redirect_stdout(nothing),
            contextlib.redirect_stderr(nothing),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdin, sys.breakpointhook = stdin, hook
        logging.disable(level)
