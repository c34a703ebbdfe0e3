"""One `compile` call: what was asked for, and what has come of it so far."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

import torch
import torch._dynamo

from ..errors import CaptureError
from ..settings import Settings
from .backend import Backend, compile_id
from .breaks import plain_name
from .collect import capture_error
from .graphs import GraphText
from .listing import Listing

SHOWN = ("graphs", "kernels", "recompiles")
NO_FRAME = "torch.compile with fullgraph=True found no compiled frames"


@dataclass(frozen=True, slots=True)
class Recompile:
    """A function compiled once more.

    Args:
        function: Its name.
        file: Where it is.
        line: Its first line.
        guards: For each version compiled before, the guard that these arguments failed.
    """

    function: str
    file: str
    line: int
    guards: tuple[str, ...]

    def __str__(self) -> str:
        rows = [
            f"{self.function} at {self.file}:{self.line} compiled again, as these guards failed:"
        ]
        return "\n".join(rows + [f"    {guard}" for guard in self.guards])


class Compilation:
    """What one `compile` call holds.

    Args:
        fn: The function to compile: no module.
        name: What to call it in messages.
        settings: The checked choices.
        fullgraph: Whether a graph break is an error.
        dynamic: As in `torch.compile`.

    Attributes:
        graphs: The ATen graphs so far, each printing as Python that runs.
        kernels: The kernels generated so far, each printing as its Triton source.
        recompiles: Every time that a function was compiled again, with the guards that failed.
    """

    def __init__(
        self,
        fn: Callable,
        name: str,
        settings: Settings,
        fullgraph: bool = True,
        dynamic: bool | None = None,
    ) -> None:
        self.fn = fn
        self.name = name
        self.settings = settings
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.backend = Backend(settings)
        self._failed: dict[str, Recompile] = {}
        self._lock = threading.Lock()
        graphs = self.backend.graphs
        self.graphs = Listing(lambda: [GraphText.of(g.stage, g.gm) for g in graphs])
        self.kernels = Listing(lambda: [kernel for g in graphs for kernel in g.kernels])
        self.recompiles = Listing(self._recompiles)
        self._run = torch._dynamo.optimize(
            self.backend,
            nopython=fullgraph,
            dynamic=dynamic,
            guard_fail_fn=self._guard_failed,
        )(traceable(fn))

    def caller(self) -> Callable:
        """The function to call in place of `fn`."""
        run = self._run
        disable: Callable = torch._dynamo.disable
        refuse = disable(self._refused)
        # Only Dynamo's refusals; what our backend or the user's function raises passes unchanged.
        refusals = _refusals()

        def compiled(*args: Any, **kwargs: Any) -> Any:
            try:
                return run(*args, **kwargs)
            except refusals as error:
                refused = refuse(error, args, kwargs)
                if refused is None:
                    raise
                raise refused from error

        skip_code = getattr(torch._dynamo.eval_frame, "skip_code", None)
        if skip_code is not None:
            skip_code(compiled.__code__)
        functools.update_wrapper(
            compiled, self.fn, updated=("__dict__",) if _has_dict(self.fn) else ()
        )
        # An outer torch.compile traces `fn` itself, as it would through torch's own wrapper.
        compiled._torchdynamo_inline = self.fn  # type: ignore[attr-defined]
        compiled._torchdynamo_orig_callable = self.fn  # type: ignore[attr-defined]
        compiled._torchdynamo_wrapper_id = id(compiled)  # type: ignore[attr-defined]
        compiled._compile_lint = self  # type: ignore[attr-defined]
        for name in SHOWN:
            setattr(compiled, name, getattr(self, name))
        return compiled

    def _refused(
        self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> CaptureError | None:
        """What to raise in place of `error`; None if it isn't Dynamo refusing the function."""
        from torch._dynamo.exc import TorchDynamoException
        from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

        if not self.fullgraph:
            return None
        of_dynamo = isinstance(error, (TorchDynamoException, GuardOnDataDependentSymNode))
        if not of_dynamo and not str(error).startswith(NO_FRAME):
            return None
        return capture_error(
            traceable(self.fn),
            args,
            kwargs,
            self.dynamic,
            error,
            home_of(self.fn, self.name),
            collect=self.settings.collect and of_dynamo,
        )

    def _recompiles(self) -> list[Recompile]:
        # Our guards also fail for those who compile the same function with another backend.
        ours = self.backend.compile_ids
        with self._lock:
            return [again for number, again in self._failed.items() if number in ours]

    def _guard_failed(self, failure: Any) -> None:
        """Dynamo calls this once for each compiled version that doesn't fit, then compiles."""
        number = compile_id()
        code, guard = failure.orig_code, _short(failure.reason)
        name, file, line = plain_name(code.co_name), code.co_filename, code.co_firstlineno
        if "BACKEND_MATCH" in guard:
            return
        if file == __file__:  # the function around one without code of its own
            file, line, name = home_of(self.fn, self.name)
        with self._lock:
            if not self.backend.compile_ids:  # Dynamo was reset, and numbers anew
                self._failed.clear()
            known = self._failed.get(number)
            guards = known.guards if known else ()
            self._failed[number] = Recompile(name, file, line, (*guards, guard))


def traceable(fn: Callable) -> Callable:
    """`fn`, or a function around it if it has no code of its own that Dynamo could take.

    The new function's code is its own: Dynamo keeps what it compiled, and counts how often, by
    code object.
    """
    if isinstance(fn, FunctionType):
        return fn
    if isinstance(fn, MethodType) and not isinstance(fn.__self__, torch.nn.Module):
        return fn

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_name=call.__code__.co_name)
    return call


def home_of(fn: Callable, name: str) -> tuple[str, int, str]:
    """File, line and name of `fn` as the user wrote it: a module's forward, an object's call."""
    owner = getattr(fn, "__self__", fn)
    written: Any = fn
    if isinstance(owner, torch.nn.Module):
        written = owner.forward
    elif not hasattr(fn, "__code__"):
        written = getattr(fn, "func", type(fn).__call__)
    code = getattr(written, "__code__", None)
    return (code.co_filename, code.co_firstlineno, name) if code else ("", 0, name)


def _short(reason: str) -> str:
    """A guard's failure without the user's stack, which Dynamo puts behind it."""
    first = reason.strip().splitlines()[0] if reason.strip() else "unknown"
    return re.sub(r"\s{2,}#.*", "", first).strip()


def _has_dict(fn: Callable) -> bool:
    return isinstance(fn, (FunctionType, MethodType))


@functools.cache
def _refusals() -> tuple[type[BaseException], ...]:
    from torch._dynamo import exc

    names = ("Unsupported", "UserError", "UncapturedHigherOrderOpError", "InternalTorchDynamoError")
    # RuntimeError: how Dynamo says that it found nothing to compile.
    return (*(getattr(exc, name) for name in names if hasattr(exc, name)), RuntimeError)
