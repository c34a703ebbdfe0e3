"""Triton functions that generated kernels share: reductions with torch's meaning of NaN and ties."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def max_nan(a, b):
    """The larger; NaN if one is."""
    return tl.maximum(a, b, tl.PropagateNan.ALL)


@triton.jit
def min_nan(a, b):
    """The smaller; NaN if one is."""
    return tl.minimum(a, b, tl.PropagateNan.ALL)


@triton.jit
def max_int(a, b):
    """The larger of two integers."""
    return tl.maximum(a, b)


@triton.jit
def min_int(a, b):
    """The smaller of two integers."""
    return tl.minimum(a, b)


@triton.jit
def multiply(a, b):
    """The product."""
    return a * b


@triton.jit
def add(a, b):
    """The sum."""
    return a + b


@triton.jit
def larger_at(a, i, b, j):
    """(value, place) of the larger: NaN before all numbers, the first place among equals."""
    a_nan = a != a
    b_nan = b != b
    better = (a > b) | (a_nan & (b_nan == 0))
    same = (a == b) | (a_nan & b_nan)
    take = better | (same & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)


@triton.jit
def smaller_at(a, i, b, j):
    """(value, place) of the smaller: NaN before all numbers, the first place among equals."""
    a_nan = a != a
    b_nan = b != b
    better = (a < b) | (a_nan & (b_nan == 0))
    same = (a == b) | (a_nan & b_nan)
    take = better | (same & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)
