"""Reductions and scans over whole arrays, for any associative combine function.

A combine function works on blocks as well as on scalars, so halves of the axis are combined at
once: log2(n) calls instead of one per element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl

from .interpreter_values import Handle, decode, encode, numpy_type


def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False, **_: Any) -> Any:
    """`tl.reduce`. Neighbours are combined, so order is kept: it may be non-commutative."""
    parts = input if isinstance(input, tuple) else (input,)
    rank = len(parts[0].shape)
    axis, keep_dims = _plain(axis), bool(_plain(keep_dims))
    arrays = [part.handle.data for part in parts]
    if axis is None:
        arrays = [array.reshape(-1) for array in arrays]
        at = 0
    else:
        at = axis % rank
    reduced = _fast(arrays, at, parts[0].dtype, combine_fn) if len(parts) == 1 else None
    if reduced is None:
        reduced = _pairwise(arrays, at, [part.dtype for part in parts], combine_fn)
    if keep_dims:
        shape = (1,) * rank if axis is None else None
        reduced = [
            array.reshape(shape) if shape else np.expand_dims(array, at) for array in reduced
        ]
    results = tuple(_tensor(array, part.dtype) for array, part in zip(reduced, parts))
    return results if isinstance(input, tuple) else results[0]


def scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False, **_: Any) -> Any:
    """`tl.associative_scan`: after step d, each place holds its last 2d places combined."""
    parts = input if isinstance(input, tuple) else (input,)
    at = _plain(axis) % len(parts[0].shape)
    types = [part.dtype for part in parts]
    arrays = [np.moveaxis(part.handle.data, at, -1) for part in parts]
    if _plain(reverse):
        arrays = [array[..., ::-1] for array in arrays]
    if len(parts) == 1 and combine_fn in _RUNNING:
        arrays = [_accumulated(arrays[0], types[0], _RUNNING[combine_fn])]
    else:
        arrays = _doubling(arrays, types, combine_fn)
    if _plain(reverse):
        arrays = [array[..., ::-1] for array in arrays]
    results = tuple(
        _tensor(np.ascontiguousarray(np.moveaxis(array, -1, at)), type_)
        for array, type_ in zip(arrays, types)
    )
    return results if isinstance(input, tuple) else results[0]


def _fast(
    arrays: list[np.ndarray], axis: int, type_: Any, combine_fn: Any
) -> list[np.ndarray] | None:
    """Sums, and extremes without NaN: what NumPy does at once."""
    (array,) = arrays
    if combine_fn == tl.standard._sum_combine:
        return [_accumulated(array, type_, np.add.reduce, axis)]
    extreme = _EXTREMES.get(combine_fn)
    if extreme is not None and type_ != tl.bfloat16:
        return [extreme(array, axis=axis)]
    return None


def _pairwise(
    arrays: list[np.ndarray], axis: int, types: list[Any], combine_fn: Any
) -> list[np.ndarray]:
    arrays = [np.moveaxis(array, axis, -1) for array in arrays]
    while arrays[0].shape[-1] > 1:
        left = [array[..., 0::2] for array in arrays]
        right = [array[..., 1::2] for array in arrays]
        arrays = _combined(combine_fn, left, right, types)
    return [array[..., 0] for array in arrays]


def _doubling(arrays: list[np.ndarray], types: list[Any], combine_fn: Any) -> list[np.ndarray]:
    length = arrays[0].shape[-1]
    step = 1
    while step < length:
        # Whole blocks, since Triton's have a power of two of items; the first stay as they are.
        before = [np.roll(array, step, axis=-1) for array in arrays]
        both = _combined(combine_fn, before, arrays, types)
        first = np.arange(length) < step
        arrays = [np.where(first, old, new) for old, new in zip(arrays, both)]
        step *= 2
    return arrays


def _combined(
    combine_fn: Any, left: list[np.ndarray], right: list[np.ndarray], types: list[Any]
) -> list[np.ndarray]:
    arguments = [_block(array, type_) for array, type_ in zip(left + right, types * 2)]
    result = combine_fn(*arguments)
    results = result if isinstance(result, tuple) else (result,)
    return [
        np.broadcast_to(
            each.handle.data if isinstance(each, tl.tensor) else np.asarray(each), array.shape
        ).astype(array.dtype, copy=False)
        for each, array in zip(results, left)
    ]


def _accumulated(array: np.ndarray, type_: Any, accumulate: Callable, axis: int = -1) -> np.ndarray:
    """Sums and products accumulated wide, as a tree of a GPU's would be nearly as exact."""
    if type_.is_floating():
        wide = accumulate(decode(Handle(array, type_)), axis=axis, dtype=np.float64)
        return encode(wide) if type_ == tl.bfloat16 else wide.astype(array.dtype)
    # In its own type: integers wrap around.
    kept = numpy_type(type_)
    return accumulate(array, axis=axis, dtype=None if kept == np.bool_ else kept).astype(kept)


def _block(array: np.ndarray, type_: Any) -> Any:
    return tl.tensor(Handle(array, type_.scalar), tl.block_type(type_.scalar, list(array.shape)))


def _tensor(array: np.ndarray, type_: Any) -> Any:
    array = np.asarray(array)
    if array.shape:
        return _block(array, type_)
    return tl.tensor(Handle(array.reshape(1), type_.scalar), type_.scalar)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


# Elementwise extremes ignore NaN, as the instruction does: fmax, not maximum.
_EXTREMES = {
    tl.standard._elementwise_max: np.fmax.reduce,
    tl.standard._elementwise_min: np.fmin.reduce,
}
_RUNNING = {
    tl.standard._sum_combine: np.add.accumulate,
    tl.standard._prod_combine: np.multiply.accumulate,
}
