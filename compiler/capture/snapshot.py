"""Remembers what a function can reach, and puts it back after a trial run.

Reached are its arguments, the object it is bound to, its closure, the globals that it names, and
what these hold: containers, attributes, tensors, arrays, random generators; functions of the user
are followed, the standard library and torch's own functions aren't. Values with `__slots__` only,
and the world outside the process (files, sockets), are not undone.
"""

from __future__ import annotations

import random
import sys
from collections import deque
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import torch

LIMIT = 200_000
FOREIGN = frozenset(sys.stdlib_module_names) | {"torch", "numpy", "triton", "compile_lint"}
OF_TORCH = (torch.nn.Module, torch.optim.Optimizer)
_ABSENT = object()


class Snapshot:
    """What `roots` reach, as it is now. `restore` puts it back, as often as wanted.

    Attributes:
        iterators: Whether a generator is among the values: what it gave can't be given again.

    Raises:
        torch.OutOfMemoryError: No room for a copy of the tensors.
    """

    def __init__(self, *roots: Any) -> None:
        self.iterators = False
        self._undo: list[Callable[[], None]] = []
        self._seen: dict[int, Any] = {}
        self._storages: set[int] = set()
        self._versions: list[tuple[torch.Tensor, int]] = []
        todo = list(roots)
        while todo and len(self._seen) < LIMIT:
            value = todo.pop()
            if id(value) not in self._seen:
                self._seen[id(value)] = value  # kept alive, so that no other gets its id
                todo += self._visit(value)
        self._globals()

    def restore(self) -> None:
        for undo in self._undo:
            undo()
        # As far as autograd can tell nothing was written: the values are those that it saved.
        rewind = getattr(getattr(torch._C, "_autograd", None), "_unsafe_set_version_counter", None)
        for tensor, version in self._versions:
            if rewind is not None and tensor._version != version:
                rewind((tensor,), (version,))

    def _visit(self, value: Any) -> list[Any]:
        """Remember `value`; what it holds."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, GeneratorType):
            self.iterators = True
            return []
        if isinstance(value, (list, deque, dict, set)):
            return self._container(value) + self._attributes(value)
        if isinstance(value, (tuple, frozenset)):
            return list(value)
        if isinstance(value, MethodType):
            return [value.__self__, value.__func__]
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, torch.Generator):
            state = value.get_state()
            self._undo.append(lambda: value.set_state(state) and None)
            return []
        if type(value).__module__ == "numpy" and hasattr(value, "__array_interface__"):
            return self._array(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, ModuleType):
            return []
        return self._attributes(value)

    def _tensor(self, value: torch.Tensor) -> list[Any]:
        try:
            storage = value.untyped_storage()
            address = storage.data_ptr()
        except (RuntimeError, NotImplementedError):  # sparse, or a wrapper around others
            return list(getattr(value, "__dict__", {}).values())
        if address and address not in self._storages:
            self._storages.add(address)
            copied, size = storage.clone(), storage.nbytes()

            def refill() -> None:
                if storage.nbytes() != size:
                    storage.resize_(size)
                storage.copy_(copied)

            self._undo.append(refill)
        if not value.is_inference():
            self._versions.append((value, value._version))
        if not value.is_leaf:
            return []
        needs, grad = value.requires_grad, value.grad

        def settle() -> None:
            if value.is_leaf and value.requires_grad != needs:
                value.requires_grad_(needs)
            if value.grad is not grad:
                value.grad = grad

        self._undo.append(settle)
        return [] if grad is None else [grad]

    def _container(self, value: Any) -> list[Any]:
        held = list(value.items()) if isinstance(value, dict) else list(value)

        def refill() -> None:
            now = list(value.items()) if isinstance(value, dict) else list(value)
            if isinstance(value, dict):
                same = [(id(k), id(v)) for k, v in now] == [(id(k), id(v)) for k, v in held]
            else:
                same = [id(item) for item in now] == [id(item) for item in held]
            if not same:
                value.clear()
                value.extend(held) if isinstance(value, (list, deque)) else value.update(held)

        self._undo.append(refill)
        return [item for _, item in held] if isinstance(value, dict) else held

    def _attributes(self, value: Any) -> list[Any]:
        home = (type(value).__module__ or "").partition(".")[0]
        if home in FOREIGN and not isinstance(value, OF_TORCH):
            if type(value).__name__ == "partial":
                return [value.func, value.args, value.keywords]
            if type(value).__name__ != "SimpleNamespace":
                return []
        held = getattr(value, "__dict__", None)
        return [held] if isinstance(held, dict) else []

    def _class(self, value: type) -> list[Any]:
        if (value.__module__ or "").partition(".")[0] in FOREIGN or value.__module__ == "builtins":
            return []
        held = dict(vars(value))

        def settle() -> None:
            now = dict(vars(value))
            for name in now.keys() | held.keys():
                if now.get(name, _ABSENT) is held.get(name, _ABSENT):
                    continue
                if name in held:
                    setattr(value, name, held[name])
                elif not name.startswith("__"):
                    delattr(value, name)

        self._undo.append(settle)
        return [v for v in held.values() if isinstance(v, (FunctionType, list, dict, set))]

    def _array(self, value: Any) -> list[Any]:
        copied = value.copy()

        def refill() -> None:
            if value.flags.writeable:
                value[...] = copied

        self._undo.append(refill)
        return []

    def _function(self, value: FunctionType) -> list[Any]:
        found: list[Any] = []
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:
            found.append(wrapped)
        for cell in value.__closure__ or ():
            try:
                found.append(cell.cell_contents)
            except ValueError:  # not filled yet
                continue
            self._undo.append(lambda cell=cell, held=cell.cell_contents: _fill(cell, held))
        if (value.__module__ or "").partition(".")[0] in FOREIGN:
            return found
        found += [value.__defaults__, value.__kwdefaults__]
        names = value.__globals__
        for name in set(_names(value.__code__)):
            held = names.get(name, _ABSENT)
            if held is not _ABSENT:
                found.append(held)
            self._undo.append(lambda name=name, held=held: _settle(names, name, held))
        return found

    def _globals(self) -> None:
        """Random numbers and torch's modes, which no value holds."""
        state, drawn = random.getstate(), torch.get_rng_state()
        grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
        self._undo += [
            lambda: random.setstate(state),
            lambda: torch.set_rng_state(drawn),
            lambda: torch.set_grad_enabled(grad) and None,
            lambda: torch.set_default_dtype(dtype),
        ]
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            of_gpus = torch.cuda.get_rng_state_all()
            self._undo.append(lambda: torch.cuda.set_rng_state_all(of_gpus))
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            of_numpy = numpy.random.get_state()
            self._undo.append(lambda: numpy.random.set_state(of_numpy))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _fill(cell: Any, held: Any) -> None:
    if cell.cell_contents is not held:
        cell.cell_contents = held


def _settle(names: dict[str, Any], name: str, held: Any) -> None:
    if names.get(name, _ABSENT) is held:
        return
    if held is _ABSENT:
        del names[name]
    else:
        names[name] = held
