"""Compiled modules: a second object of the same class, over the same state.

The object that `compile` returns has the very `__dict__` of the module given: parameters, buffers,
submodules, hooks, mode and plain attributes are one. Only the class differs, a subclass made for
it, which calls the compiled code. The project's decision 0004 says why.
"""

from __future__ import annotations

import copy
import copyreg
from typing import Any

import torch
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import is_lazy

from .capture.compilation import SHOWN, Compilation
from .settings import Settings

# A slot is on the object and not in its `__dict__`, which is also the plain module's.
SLOT = "_compile_lint_slot"


def compile_module(
    module: torch.nn.Module, settings: Settings, fullgraph: bool, dynamic: bool | None
) -> torch.nn.Module:
    """A compiled twin of `module`.

    Raises:
        TypeError: A lazy module without weights, or a TorchScript module.
    """
    known = compilation_of_module(module)
    if known is not None:
        return compile_module(_plain(module), settings, fullgraph, dynamic)
    name = type(module).__name__
    if isinstance(module, LazyModuleMixin) and any(map(is_lazy, module.parameters(False))):
        raise TypeError(f"{name} has no weights yet: call it once, then compile it")
    if isinstance(module, torch.jit.ScriptModule):
        raise TypeError(f"{name} is TorchScript, which can't be captured: compile the plain module")
    twin = object.__new__(_twin_class(type(module)))
    twin.__dict__ = module.__dict__
    compilation = Compilation(twin._call_impl, name, settings, fullgraph, dynamic)
    setattr(twin, SLOT, (module, compilation, compilation.caller()))
    return twin


def compilation_of_module(module: torch.nn.Module) -> Compilation | None:
    """What `compile` remembers of a module that it gave; None for another module."""
    held = _held(module)
    return held[1] if held is not None else None


def _held(module: torch.nn.Module) -> Any:
    slot = getattr(type(module), SLOT, None)
    try:
        return slot.__get__(module, type(module)) if slot is not None else None
    except AttributeError:  # an object that others made of this class, `replicate` for one
        return None


def _plain(module: torch.nn.Module) -> torch.nn.Module:
    held = _held(module)
    return held[0] if held is not None else module


def _twin_class(of: type[torch.nn.Module]) -> type:
    """A subclass of `of` that calls compiled code, pickles as `of` and copies as itself."""

    def call_impl(self: torch.nn.Module) -> Any:
        held = _held(self)
        return held[2] if held is not None else None

    def reduce(self: torch.nn.Module, protocol: Any) -> Any:
        # As after nn.Module.compile: what is saved is the plain module, which loads anywhere.
        # It can't go by `__newobj__`, which insists on the class of the object at hand.
        made, args, *rest = _plain(self).__reduce_ex__(protocol)
        if made is copyreg.__newobj__ and len(args) == 1:  # type: ignore[attr-defined]
            made, args = copyreg._reconstructor, (args[0], object, None)  # type: ignore[attr-defined]
        return made, args, *rest

    def deepcopy(self: torch.nn.Module, memo: dict[int, Any]) -> torch.nn.Module:
        plain, compilation, _ = _held(self)
        copied = copy.deepcopy(plain, memo)
        return compile_module(
            copied, compilation.settings, compilation.fullgraph, compilation.dynamic
        )

    body: dict[str, Any] = {
        "__slots__": (SLOT,),
        "__module__": of.__module__,
        "__qualname__": of.__qualname__,
        "__doc__": of.__doc__,
        "__reduce_ex__": reduce,
        "__deepcopy__": deepcopy,
        # nn.Module's own `__call__` looks here; nn.Module.compile sets it.
        "_compiled_call_impl": property(call_impl),
    }
    for name in SHOWN:
        if not hasattr(of, name):
            body[name] = property(lambda self, name=name: getattr(_held(self)[1], name))
    return type(of.__name__, (of,), body)
