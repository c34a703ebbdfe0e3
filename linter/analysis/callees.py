"""What a call calls, as rules are told: a canonical name, the object, the project's function."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from ...rules.base.context import Callee
from ...rules.base.facts import (
    Array,
    BoundMethod,
    ClassRef,
    Extern,
    Fact,
    Function,
    Instance,
    Mapping,
    Sequence,
    Tensor,
)
from ..index import ClassInfo, FunctionInfo
from .classes import find_method
from .frame import Frame

if TYPE_CHECKING:
    from .analyzer import Analyzer

# Decorators that end a region: the body runs uncaptured, or as one opaque operator.
DISABLING = frozenset({"disable", "_disable_dynamo", "dont_compile"})
OPAQUE = frozenset(
    {
        "allow_in_graph",
        "nonstrict_trace",
        "custom_op",
        "triton_op",
        "impl",
        "leaf_function",
        "substitute_in_graph",
    }
)
ENDING = DISABLING | OPAQUE
_JITS = frozenset({"jit", "njit", "vectorize", "guvectorize"})


@lru_cache(maxsize=4096)
def tensor_method(name: str) -> str:
    """Return the canonical name of a method of tensors: the same string, whose hash is known."""
    return f"torch.Tensor.{name}"


@lru_cache(maxsize=4096)
def _named_callee(name: str, sure: bool) -> Callee:
    return Callee(name, None, None, sure)


def callee_of(frame: Frame, function: Fact) -> Callee:
    """Return what rules are told of a call of this function, class, object or method."""
    kind = type(function)
    if kind is Extern:
        return _named_callee(function.name, function.sure)  # type: ignore[attr-defined]
    if kind is BoundMethod:
        return _method_callee(frame, function)  # type: ignore[arg-type]
    if kind is Function:
        info: FunctionInfo = function.function  # type: ignore[attr-defined]
        if not DISABLING.isdisjoint(info.decorator_names):
            return Callee("torch.compiler.disable", project=info)
        if jit := machine_code(frame.analyzer, info):
            return _named_callee(jit, True)
        return Callee("", function.bound, info)  # type: ignore[attr-defined]
    if kind is Instance:
        return _object_callee(frame, function)  # type: ignore[arg-type]
    if kind is ClassRef:
        cls: ClassInfo = function.cls  # type: ignore[attr-defined]
        made = find_method(frame.analyzer, cls, "__init__")
        return Callee(frame.analyzer.external_base(cls), project=made)
    return _NO_CALLEE


_NO_CALLEE = Callee()


def machine_code(analyzer: Analyzer, info: FunctionInfo) -> str:
    """Return what of numba compiles a function, "" where nothing does: its object isn't traced."""
    if _JITS.isdisjoint(info.decorator_names):
        return ""
    for made in info.decorators:
        by = made.func if isinstance(made, ast.Call) else made
        value = analyzer.static_value(info.module, by)
        if isinstance(value, Extern) and value.name.startswith("numba."):
            return value.name
    return ""


def _method_callee(frame: Frame, function: BoundMethod) -> Callee:
    receiver = function.receiver
    if type(receiver) is Tensor:  # most of them
        return Callee(tensor_method(function.name), receiver, None, receiver.sure)
    if isinstance(receiver, ClassRef):
        base = frame.analyzer.external_base(receiver.cls)
        return Callee(f"{base}.{function.name}" if base else "", receiver)
    name = method_name(receiver, function.name)
    if isinstance(receiver, Instance) and not isinstance(receiver.cls, str):
        base = frame.analyzer.inherited(receiver.cls, function.name)
        name = f"{base}.{function.name}" if base else name
    return Callee(name, receiver, sure=receiver.sure)


def _object_callee(frame: Frame, this: Instance) -> Callee:
    if isinstance(this.cls, str):
        return Callee(this.cls if this.module else this.cls + ".__call__", this)
    project = find_method(frame.analyzer, this.cls, "forward" if this.module else "__call__")
    if project is not None and not DISABLING.isdisjoint(project.decorator_names):
        return Callee("torch.compiler.disable", this, project)
    base = frame.analyzer.external_base(this.cls) if project is None else ""
    return Callee(base, this, project)


def method_name(receiver: Fact, name: str) -> str:
    """Return the canonical dotted name of a method of a value."""
    if isinstance(receiver, Tensor):
        return tensor_method(name)
    if isinstance(receiver, Array):
        return f"numpy.ndarray.{name}"
    if isinstance(receiver, Sequence):
        kind = (
            receiver.kind
            if receiver.kind in ("list", "tuple", "set", "deque", "frozenset")
            else ("generator" if receiver.kind == "generator" else "tuple")
        )
        return f"{kind}.{name}"
    if isinstance(receiver, Mapping):
        return f"dict.{name}"
    if isinstance(receiver, Instance):
        return f"{receiver.cls if isinstance(receiver.cls, str) else receiver.cls.name}.{name}"
    kind = getattr(receiver, "kind", "")
    return f"{kind}.{name}" if kind else ""


__all__ = [
    "DISABLING",
    "ENDING",
    "OPAQUE",
    "callee_of",
    "machine_code",
    "method_name",
    "tensor_method",
]
