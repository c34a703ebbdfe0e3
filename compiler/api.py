"""`compile`: the one function that most people need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, TypeVar, overload

import torch

from .capture.compilation import Compilation
from .capture.listing import Listing
from .modules import compilation_of_module, compile_module
from .settings import Settings
from .triton.kernel import Kernel

Function = TypeVar("Function", bound=Callable)


@overload
def compile(
    fn: Function,
    *,
    fullgraph: bool = ...,
    mode: str = ...,
    dynamic: bool | None = ...,
    target: str | None = ...,
    options: Mapping[str, Any] | None = ...,
) -> Function: ...
@overload
def compile(
    fn: None = None,
    *,
    fullgraph: bool = ...,
    mode: str = ...,
    dynamic: bool | None = ...,
    target: str | None = ...,
    options: Mapping[str, Any] | None = ...,
) -> Callable[[Function], Function]: ...
def compile(
    fn: Any = None,
    *,
    fullgraph: bool = True,
    mode: str = "default",
    dynamic: bool | None = None,
    target: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Compile a function, a method or a module; also a decorator, with and without arguments.

    Nothing is compiled yet: that happens at the first call, for the arguments that it gets, and
    again for arguments that don't fit what was compiled before.

    A function gives a function with `graphs`, `kernels` and `recompiles`. A module gives a module
    of the same class that shares its whole state with the one given, which stays uncompiled.

    Args:
        fn: What to compile. None: return a decorator.
        fullgraph: One graph or an error. False: several graphs, with Python between them.
        mode: "default"; "reduce-overhead": CUDA graphs; "max-autotune": measured configurations
            and CUDA graphs. On CPU tensors all three do the same.
        dynamic: True: sizes are symbols from the first call; False: never; None: those sizes that
            were seen to change. `torch._dynamo.mark_dynamic` works with each.
        target: Build kernels ahead of time for this device ("cuda:90", "hip:gfx942").
        options: Further fields of `Settings`: interpret, verify, cache, collect.

    Raises:
        UnknownOption: A mode or option that doesn't exist.
        TypeError: `fn` is a class, isn't callable, or is a lazy module that has no weights yet.

    The compiled function raises, besides what `fn` itself raises:
        CaptureError: With `fullgraph`, Dynamo can't capture `fn`. Lists every graph break. Where
            tracing alone can't tell them all, `fn` runs once, and what that changed is put back
            (`collect=False`: it never runs, only the first break is listed).
        torch._dynamo.exc.FailOnRecompileLimitHit: With `fullgraph`, too many versions, as in torch.
    """
    settings = Settings.of(mode=mode, target=target, options=options)
    if fn is None:
        return lambda fn: _compile(fn, settings, fullgraph, dynamic)
    return _compile(fn, settings, fullgraph, dynamic)


def _compile(fn: Any, settings: Settings, fullgraph: bool, dynamic: bool | None) -> Any:
    if fn is None:
        raise TypeError("compile takes a function, a method or a module, not None")
    if isinstance(fn, type):
        raise TypeError(f"compile takes no class: compile an instance of {fn.__name__}")
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(_compile(fn.__func__, settings, fullgraph, dynamic))
    if isinstance(fn, torch.nn.Module):
        return compile_module(fn, settings, fullgraph, dynamic)
    if not callable(fn):
        raise TypeError(f"compile takes a function, a method or a module, not {fn!r}")
    fn = plain(fn)  # compiled by us before: what counts is what was asked for last
    name = getattr(fn, "__qualname__", type(fn).__qualname__)
    compilation = Compilation(fn, name, settings, fullgraph, dynamic)
    return compilation.caller()


def compilation_of(compiled: Any) -> Compilation | None:
    """What `compile` remembers of a function or module that it gave; None if it gave it not."""
    if isinstance(compiled, torch.nn.Module):
        return compilation_of_module(compiled)
    return getattr(compiled, "_compile_lint", None)


def plain(fn: Callable) -> Callable:
    """The function that `compile` was given, if `fn` comes from there; bound as `fn` is."""
    known = getattr(fn, "_compile_lint", None)
    if known is None:
        return fn
    return MethodType(known.fn, fn.__self__) if isinstance(fn, MethodType) else known.fn


def kernels(compiled: Any) -> Listing[Kernel]:
    """The kernels generated so far for a compiled function or module; `print` shows their source.

    Raises:
        TypeError: `compiled` doesn't come from `compile`.
    """
    found = compilation_of(compiled)
    if found is None:
        raise TypeError(f"{compiled!r} isn't compiled by compile_lint")
    return found.kernels
