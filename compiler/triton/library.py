"""Triton functions that kernels share: reductions with torch's meaning of NaN and ties."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice

from .special import (  # noqa: F401 (kernels find them here)
    chebyshev,
    exponent,
    gcd,
    hermite,
    int_power,
    laguerre,
    legendre,
    mantissa,
    zeta_last,
    zeta_sum,
)


@triton.jit
def to_tf32(x):
    """Float32 rounded to TF32's ten bits, halves away from zero, as cuDNN does.

    Tensor cores drop the bits below; half of what that costs comes back by adding half a unit
    first. NaN stays as it is: its bits may be all ones.
    """
    rounded = (x.to(tl.int32, bitcast=True) + 0x1000).to(tl.float32, bitcast=True)
    return tl.where(x == x, rounded, x)


@triton.jit
def inverse(x):
    """(a power of two that keeps x from the ends of float32's range, 1 / (x · it))."""
    size = tl.abs(x)
    low = tl.full([], 2.0**-64, tl.float32)
    high = tl.full([], 2.0**64, tl.float32)
    scale = tl.where(size < low, high, tl.where(size > high, low, tl.full([], 1.0, tl.float32)))
    return scale, tl.math.div_rn(1.0, x * scale)


@triton.jit
def quotient(a, b, inverted, scale):
    """a / b by what `inverse(b)` gave; rounded as eager's, but where it is subnormal.

    The remainder of a first guess is exact, and what it adds rounds the guess right (Markstein,
    "Computation of elementary functions on the IBM RISC System/6000 processor", 1990).
    """
    a = a * scale
    b = b * scale
    guess = a * inverted
    better = tl.fma(tl.fma(-guess, b, a), inverted, guess)
    # Infinite and zero divisors leave no remainder to speak of.
    return tl.where(tl.abs(better) < float("inf"), better, guess)


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
def log_add_exp(a, b):
    """log(exp(a) + exp(b))."""
    low = tl.minimum(a, b, tl.PropagateNan.ALL)
    high = tl.maximum(a, b, tl.PropagateNan.ALL)
    # Equal infinities are their own sum.
    same = (low == high) & (tl.abs(low) == float("inf"))
    return tl.where(same, high, high + libdevice.log1p(libdevice.exp(low - high)))


@triton.jit
def last_larger_at(a, i, b, j):
    """(value, place) of the larger of two neighbours: the later among equals, and any NaN."""
    take = ((b >= a) & (a == a)) | (b != b)
    return tl.where(take, b, a), tl.where(take, j, i)


@triton.jit
def last_smaller_at(a, i, b, j):
    """(value, place) of the smaller of two neighbours: the later among equals, and any NaN."""
    take = ((b <= a) & (a == a)) | (b != b)
    return tl.where(take, b, a), tl.where(take, j, i)


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
