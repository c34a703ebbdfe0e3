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
def erf(x):
    """The error function of float32, to 1.5 units in the last place but for `exp2`'s own error.

    Below 0.9 x + x·P(x²), beyond it 1 - 2^Q(|x|): polynomials fitted to the largest error. Both are
    computed and one is chosen: that takes two thirds of the instructions of CUDA's own, which
    chooses coefficients instead.
    """
    s = x * x
    p = tl.fma(s, -6.090356e-4, 5.0119618e-3)
    p = tl.fma(p, s, -0.026778908)
    p = tl.fma(p, s, 0.11282141)
    p = tl.fma(p, s, -0.37612525)
    p = tl.fma(p, s, 0.12837915)
    near = tl.fma(p, x, x)
    size = tl.abs(x)
    t = tl.minimum(size, 4.0)
    q = tl.fma(t, 2.859709e-4, -4.422571e-3)
    q = tl.fma(q, t, 0.03219406)
    q = tl.fma(q, t, -0.15020432)
    q = tl.fma(q, t, -0.9189622)
    q = tl.fma(q, t, -1.6270674)
    q = tl.fma(q, t, -2.4012933e-4)
    far = 1.0 - tl.exp2(q)
    return tl.where(size >= 0.9, tl.where(x < 0, -far, far), near)


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
