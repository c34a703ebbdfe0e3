"""Values of the interpreter as NumPy arrays that one can compute with, and back."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

Handle = interpreter.TensorHandle
_of_scalar = functools.cache(interpreter._get_np_dtype)


def numpy_type(type_: Any) -> np.dtype:
    """NumPy's type for items of `type_`; Triton's own builds its table at each call."""
    if isinstance(type_, tl.block_type):
        type_ = type_.element_ty
    return _POINTER if isinstance(type_, tl.pointer_type) else _of_scalar(type_)


_POINTER = np.dtype(np.uint64)


def decode(value: Any) -> np.ndarray:
    """A value's data; bfloat16, which is kept as its bits, as float32."""
    if value.dtype.scalar == tl.bfloat16:
        bits = value.data.astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32)
    return value.data


def encode(data: np.ndarray) -> np.ndarray:
    """The bits of `data` as bfloat16, rounded to nearest, ties to even; NaN stays NaN."""
    single = np.ascontiguousarray(data, np.float32)
    bits = single.view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(single), np.uint16(0x7FC0), rounded)


def dense(value: Any) -> Any:
    """Triton's compiled functions read items one after the other, whatever the strides."""
    return Handle(np.ascontiguousarray(value.data), value.dtype)


def cast(value: Any, type_: Any) -> Any:
    """`value` converted to `type_`, numbers and not bits."""
    target = type_.scalar
    data = decode(value)
    if target == tl.bfloat16:
        return Handle(encode(data), target)
    wanted = numpy_type(target)
    narrow = wanted.kind in "iu" and (wanted.itemsize < 4 or wanted.kind == "u")
    if data.dtype.kind == "f" and narrow and wanted != np.uint64:
        data = data.astype(np.int64)
    return Handle(data.astype(wanted), target)


def atomic_float_rmw(pointers: np.ndarray, value: Any, mask: np.ndarray) -> np.ndarray:
    """Add half-width floats in memory, one by one; gives what stood there before."""
    old = np.zeros(pointers.shape, numpy_type(value.dtype.scalar))
    added = decode(value)
    bfloat = value.dtype.scalar == tl.bfloat16
    for place in np.ndindex(pointers.shape):
        if not mask[place]:
            continue
        cell = ctypes.c_uint16.from_address(int(pointers[place]))
        before = np.array([cell.value], np.uint16)
        if bfloat:
            held = decode(Handle(before, tl.bfloat16))
            after = encode(held + added[place])
        else:
            held = before.view(np.float16)
            after = (held + added[place]).astype(np.float16).view(np.uint16)
        old[place] = before[0] if bfloat else held[0]
        cell.value = int(after[0])
    return old
