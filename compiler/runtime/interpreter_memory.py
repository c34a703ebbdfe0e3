"""Loads and stores of interpreted kernels, on the arena as NumPy arrays.

Triton's own go item by item, and end the process where nothing is mapped. Here a pointer outside
the arena is an error of the kernel.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from .interpreter_values import Handle, dense, numpy_type

_unpatched = interpreter.InterpreterBuilder
_MASKED_LOAD = _unpatched.create_masked_load
_MASKED_STORE = _unpatched.create_masked_store


class Memory:
    """The memory that kernels may touch; `attach` says where it is."""

    def __init__(self) -> None:
        self.base = self.size = 0
        self.views: dict[np.dtype, np.ndarray] = {}

    def attach(self, base: int, size: int) -> None:
        """Kernels may touch the `size` bytes from `base` on."""
        self.base, self.size = base, size
        self.views.clear()

    def view(self, dtype: np.dtype) -> np.ndarray:
        """All of it as an array of `dtype`."""
        found = self.views.get(dtype)
        if found is None:
            raw = (ctypes.c_ubyte * self.size).from_address(self.base)
            found = self.views[dtype] = np.ctypeslib.as_array(raw).view(dtype)
        return found

    def detach(self) -> None:
        """Let go of it, before it is unmapped."""
        self.views.clear()

    def places(self, pointers: np.ndarray, width: int, what: str) -> np.ndarray | None:
        """Pointers as places in a view of items of `width` bytes; None if they aren't aligned.

        Raises:
            IndexError: One is outside.
        """
        bytes_in = pointers - np.uint64(self.base)  # those below the base wrap to huge numbers
        if bytes_in.size and int(bytes_in.max()) > self.size - width:
            raise IndexError(f"the kernel {what} outside its arguments' memory")
        if width == 1:
            return bytes_in.view(np.int64)
        if (bytes_in & np.uint64(width - 1)).any():
            return None
        return (bytes_in >> np.uint64(width.bit_length() - 1)).view(np.int64)


memory = Memory()


def load(self: Any, pointers: Any, *rest: Any) -> Any:
    """`create_load`: without a mask."""
    return masked_load(self, pointers, None, None, *rest)


def masked_load(self: Any, pointers: Any, mask: Any, other: Any, *rest: Any) -> Any:
    """`create_masked_load`."""
    type_ = pointers.get_element_ty()
    dtype = numpy_type(type_)
    at = pointers.data
    chosen = None if mask is None else np.broadcast_to(mask.data, at.shape)
    if chosen is not None:
        if chosen.all():
            chosen = None
        else:  # masked ones may point anywhere
            at = np.where(chosen, at, np.uint64(memory.base))
    places = memory.places(at, dtype.itemsize, "reads")
    if places is None:
        filler = None if other is None else dense(other)
        return _MASKED_LOAD(self, dense(pointers), _mask(pointers, mask), filler, None, None, None)
    found = memory.view(dtype)[places]
    if chosen is not None:
        found = np.where(chosen, found, 0 if other is None else other.data).astype(dtype)
    return Handle(found, type_)


def store(self: Any, pointers: Any, value: Any, *rest: Any) -> None:
    """`create_store`: without a mask."""
    masked_store(self, pointers, value, None)


def masked_store(self: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> None:
    """`create_masked_store`."""
    at, data = pointers.data, np.broadcast_to(value.data, pointers.data.shape)
    if mask is not None:
        chosen = np.broadcast_to(mask.data, at.shape)
        if not chosen.all():
            at, data = at[chosen], data[chosen]
    dtype = numpy_type(pointers.get_element_ty())
    places = memory.places(at, dtype.itemsize, "writes")
    if places is None:
        _MASKED_STORE(self, dense(pointers), dense(value), _mask(pointers, mask), None, None)
        return
    memory.view(dtype)[places] = data.astype(dtype, copy=False)


def _mask(pointers: Any, mask: Any) -> Any:
    data = np.ones(pointers.data.shape, bool) if mask is None else mask.data
    return Handle(np.ascontiguousarray(data), tl.int1)
