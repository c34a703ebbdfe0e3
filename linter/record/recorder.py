"""Runs inside the recorded command: functions of interest note what they are called with.

A file by itself: the command's Python may not have compile-lint. It is imported by the
`sitecustomize` that the recording command puts in front, knows the standard library only, and
looks at torch when the command has imported it. Nothing it does may change what the command does:
arguments are looked at, never kept.
"""

from __future__ import annotations

import atexit
import functools
import importlib.abc
import importlib.util
import json
import os
import sys
import tempfile
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

DEPTH, ITEMS, CALLS = 4, 16, 32
FIELDS, LETTERS = 200, 200  # of an object, of a string in it
_SECRET = ("password", "passwd", "secret", "token", "credential", "api_key", "apikey")
calls: dict[str, list[dict[str, Any]]] = {}
_seen: dict[str, set[str]] = {}
_made: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


def start(wanted: dict[str, list[str]], folder: str) -> None:
    """Instrument modules as they are imported; write what was seen into `folder` at exit.

    wanted  real path of a module's file to qualified names of its functions
    """
    sys.meta_path.insert(0, Finder(wanted))
    owner = os.getpid()
    atexit.register(lambda: write(folder) if os.getpid() == owner else None)
    if hasattr(os, "register_at_fork"):  # workers of a pool end without exit handlers
        os.register_at_fork(after_in_child=calls.clear)


def write(folder: str) -> None:
    """Write what was seen into a new file of the folder."""
    if not calls:
        return
    handle, _ = tempfile.mkstemp(suffix=".json", dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(calls, file)


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules as the others do, and has their functions wrapped once they are loaded."""

    def __init__(self, wanted: dict[str, list[str]]) -> None:
        self._wanted = wanted
        self._busy: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> Any:
        """Return the spec that the other finders give, its loader wrapped where it matters."""
        if name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = None
            for finder in sys.meta_path:
                if finder is not self and hasattr(finder, "find_spec"):
                    spec = finder.find_spec(name, path, target)
                    if spec is not None:
                        break
        finally:
            self._busy.discard(name)
        if spec is None or spec.loader is None or not spec.origin:
            return spec
        names = self._wanted.get(os.path.realpath(spec.origin))
        if names and hasattr(spec.loader, "exec_module"):
            spec.loader = Loader(spec.loader, names)
        return spec


class Loader(importlib.abc.Loader):
    """Loads a module, then wraps its functions."""

    def __init__(self, inner: Any, names: list[str]) -> None:
        self._inner = inner
        self._names = names

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create_module(self, spec: Any) -> Any:
        """Make the module as its own loader does."""
        return self._inner.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module and wrap what is wanted of it."""
        self._inner.exec_module(module)
        for name in self._names:
            wrap(module, name)


def wrap(module: types.ModuleType, qualname: str) -> None:
    """Put a recording function in place of a function or method; leave what isn't one."""
    *outer, name = qualname.split(".")
    holder: Any = module
    for part in outer:
        holder = getattr(holder, part, None)
    member = vars(holder).get(name) if holder is not None else None
    key = f"{module.__name__}:{qualname}"
    if isinstance(holder, type):
        if isinstance(member, types.FunctionType):
            _wrap_constructor(holder)
            setattr(holder, name, recording(member, key, method=True))
        elif isinstance(member, (staticmethod, classmethod)):
            inner = recording(member.__func__, key, method=isinstance(member, classmethod))
            setattr(holder, name, type(member)(inner))
    elif callable(member) and not isinstance(member, type):
        setattr(module, name, recording(member, key, method=False))


def recording(function: Callable[..., Any], key: str, method: bool) -> Callable[..., Any]:
    """Return a function that notes its arguments and calls `function`."""

    @functools.wraps(function)
    def noting(*args: Any, **kwargs: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and not torch.compiler.is_compiling():
            note(key, args, kwargs, method)
        return function(*args, **kwargs)

    return noting


def _wrap_constructor(cls: type) -> None:
    original = cls.__init__
    if getattr(original, "_records", False):
        return

    @functools.wraps(original)
    def constructing(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is cls:
            try:
                made = {
                    "args": list(map(spec, args)),
                    "kwargs": {k: spec(v) for k, v in kwargs.items()},
                }
                _made[self] = made
            except TypeError:
                pass  # objects that can't be referred to weakly are known by their class only
        original(self, *args, **kwargs)

    constructing._records = True  # type: ignore[attr-defined]
    cls.__init__ = constructing  # type: ignore[misc]


def note(key: str, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool) -> None:
    """Note one call, unless calls like it were noted before."""
    known = calls.setdefault(key, [])
    if len(known) >= CALLS:
        return
    call: dict[str, Any] = {"self": None}
    if method and args:
        call["self"] = spec(args[0])
        if not isinstance(args[0], type):
            call["training"] = getattr(args[0], "training", None)
        args = args[1:]
    call["args"] = [spec(arg) for arg in args]
    call["kwargs"] = {name: spec(value) for name, value in kwargs.items()}
    text = json.dumps(call, sort_keys=True)
    if text not in _seen.setdefault(key, set()):
        _seen[key].add(text)
        known.append(call)


def spec(value: Any, depth: int = 0) -> dict[str, Any]:
    """Return a value as JSON: what is needed to make one like it.

    {"value": …} scalars · {"tensor": {shape, dtype, device, requires_grad, low, high, nan, inf}} ·
    {"list"|"tuple"|"set": […]} · {"dict": [[key, value], …]} · {"object": "module:class",
    "made": {args, kwargs}} for an object whose making was seen, or "fields": [[name, value], …] for
    one of plain values · {"named": "module:name"} for classes and functions of modules ·
    {"opaque": "module:class"} for what is nested too deeply, or long.
    """
    if value is None or isinstance(value, (bool, int, str)):
        return {"value": value}
    if isinstance(value, float):
        return {"value": value} if value - value == 0 else {"float": repr(value)}
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return {"tensor": _tensor(value, torch)}
    name = f"{type(value).__module__}:{type(value).__qualname__}"
    if torch is not None and isinstance(value, (torch.dtype, torch.device)):
        return {"torch": str(value)}
    if isinstance(value, (type, types.FunctionType)):
        own = f"{value.__module__}:{value.__qualname__}"
        return {"named": own} if _named(own) is value else {"opaque": name}
    if depth >= DEPTH:
        return {"opaque": name}
    if type(value) in (list, tuple, set) and len(value) <= ITEMS:
        return {type(value).__name__: [spec(item, depth + 1) for item in value]}
    if type(value) is dict and len(value) <= ITEMS:
        return {"dict": [[spec(k, depth + 1), spec(v, depth + 1)] for k, v in value.items()]}
    try:
        made = _made.get(value)
    except TypeError:
        made = None
    if made is not None:
        return {"object": name, "made": made}
    fields = _fields(value, name, depth)
    return {"opaque": name} if fields is None else {"object": name, "fields": fields}


def _named(name: str) -> Any:
    """Return what a name in a module stands for, None where there is nothing."""
    where, _, qualname = name.partition(":")
    found: Any = sys.modules.get(where)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def _fields(value: Any, name: str, depth: int) -> list[list[Any]] | None:
    """Return the attributes of a configuration: of an object that holds plain values and no more.

    None for objects of other kinds: those that are containers, or made by C code, or hold what
    can't be noted. What looks like a secret is left for its owner.
    """
    cls = type(value)
    plain = cls.__new__ is object.__new__ and cls.__reduce_ex__ is object.__reduce_ex__
    held = getattr(value, "__dict__", None)
    if not plain or type(held) is not dict or len(held) > FIELDS or _named(name) is not cls:
        return None
    if any("__slots__" in vars(base) for base in cls.__mro__[:-1]):
        return None
    fields = []
    for key, item in held.items():
        secret = isinstance(item, str) and any(word in key.lower() for word in _SECRET)
        if secret or (isinstance(item, str) and len(item) > LETTERS):
            return None
        made = spec(item, depth + 1)
        if "opaque" in made:
            return None
        fields.append([key, made])
    return fields


def _tensor(value: Any, torch: Any) -> dict[str, Any]:
    """Look at a tensor without touching its gradients; fake and meta tensors have no values."""
    found = {
        "shape": [int(size) for size in value.shape],
        "dtype": str(value.dtype).removeprefix("torch."),
        "device": value.device.type,
        "requires_grad": bool(value.requires_grad),
        "stride": None if value.layout != torch.strided else [int(s) for s in value.stride()],
    }
    plain = value.layout == torch.strided and value.device.type != "meta" and value.numel()
    if plain and not torch._C._functorch.is_functorch_wrapped_tensor(value):
        with torch.no_grad():
            data = value.detach()
            if data.is_floating_point():
                data = data.float()
                found["nan"] = bool(data.isnan().any())
                found["inf"] = bool(data.isinf().any())
                data = data[data.isfinite()]
            if data.numel() and not data.is_complex():
                found["low"], found["high"] = data.min().item(), data.max().item()
    return found
