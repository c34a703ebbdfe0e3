"""Triton functions for mathematics that needs a loop whose length is data.

Recurrences are rounded as ATen's are once compiled, a product and a sum at once: near the zeros of
a polynomial that is the difference between its digits and none. (`x * -1`, since Triton's `-x` is
0 - x and loses the sign of 0.)
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def largest(n):
    """The largest element of a block of integers, or a lone integer."""
    return tl.max(n + tl.zeros([1], tl.int64), axis=None)


@triton.jit
def gcd(a, b):
    """The greatest common divisor, by Euclid."""
    a, b = tl.broadcast(tl.abs(a), tl.abs(b))
    left = largest(a)
    while left > 0:
        rest = tl.where(a == 0, a, b % tl.where(a == 0, 1, a))
        b = tl.where(a == 0, b, a)
        a = rest.to(b.dtype)
        left = largest(a)
    return b


@triton.jit
def int_power(a, n):
    """a to the power n in integers, wrapping around; a negative power is 0 except of 1 and -1."""
    a, n = tl.broadcast(a, n)
    base = a
    result = tl.zeros_like(a) + 1
    left = tl.where(n < 0, 0, n)
    more = largest(left)
    while more > 0:
        result = tl.where((left & 1) == 1, result * base, result)
        base = base * base
        left = left >> 1
        more = largest(left)
    odd = (n & 1) == 1
    inverse = tl.where(a == 1, 1, tl.where(a == -1, tl.where(odd, -1, 1), 0))
    return tl.where(n < 0, inverse, result).to(a.dtype)


@triton.jit
def chebyshev(x, first, n):
    """p[k] = 2 x p[k-1] - p[k-2] at k = n, from 1 and `first`; stays at NaN."""
    x, n = tl.broadcast(x, n)
    q, x = tl.broadcast(first, x)
    p = tl.zeros_like(x) + 1
    for k in range(2, largest(n) + 1):
        more = (k <= n) & (q == q)
        r = tl.fma(x + x, q, p * -1)
        p = tl.where(more, q, p)
        q = tl.where(more, r, q)
    return q


@triton.jit
def hermite(x, n, factor):
    """p[k + 1] = x p[k] - factor k p[k-1] up to n, from 1 and x."""
    x, n = tl.broadcast(x, n)
    q = x
    p = tl.zeros_like(x) + 1
    for k in range(1, largest(n)):
        r = tl.fma(x, q, (factor * k).to(x.dtype) * p * -1)
        p = tl.where(k < n, q, p)
        q = tl.where(k < n, r, q)
    return q


@triton.jit
def laguerre(x, n):
    """The Laguerre polynomial of degree n >= 1."""
    x, n = tl.broadcast(x, n)
    q = 1 - x
    p = tl.zeros_like(x) + 1
    for k in range(1, largest(n)):
        more = (k < n) & (q == q)
        j = k * tl.full([], 1, x.dtype)
        r = tl.fma(j + j + (1 - x), q, j * p * -1) / (j + 1)
        p = tl.where(more, q, p)
        q = tl.where(more, r, q)
    return q


@triton.jit
def legendre(x, n):
    """The Legendre polynomial of degree n >= 1."""
    x, n = tl.broadcast(x, n)
    q = x
    p = tl.zeros_like(x) + 1
    for k in range(1, largest(n)):
        more = (k < n) & (q == q)
        j = k * tl.full([], 1, x.dtype)
        r = tl.fma((j + j + 1) * x, q, j * p * -1) / (j + 1)
        p = tl.where(more, q, p)
        q = tl.where(more, r, q)
    return q


@triton.jit
def zeta_sum(x, q):
    """The sum of (q + i)^-x for i to 9, and on until q + i > 9, or terms no longer count."""
    x, q = tl.broadcast(x, q)
    total = libdevice.pow(q, -x)
    i = 0
    going = tl.where(total == total, 1, 0)
    more = largest(going)
    while more > 0:
        i += 1
        term = libdevice.pow(q + i, -x)
        total = tl.where(going == 1, total + term, total)
        small = tl.abs(term) < 1.11022302462515654042e-16 * tl.abs(total)
        going = tl.where((going == 1) & (small == 0) & ((i < 9) | (q + i <= 9)), 1, 0)
        more = largest(going)
    return total


@triton.jit
def zeta_last(x, q):
    """The last q + i of that sum where it isn't cut short."""
    x, q = tl.broadcast(x, q)
    return q + tl.maximum(tl.floor(9 - q) + 1, 9)


@triton.jit
def exponent(x):
    """The exponent of frexp: x = m 2^e with ½ <= |m| < 1; 0 for 0, infinities and NaN."""
    usual = (x != 0) & (tl.abs(x) < float("inf"))
    power = libdevice.ilogb(tl.where(usual, x, 1))
    return tl.where(usual, power + 1, 0)  # type: ignore[operator] (Triton's stubs return None)


@triton.jit
def mantissa(x):
    """The mantissa of frexp; 0, infinities and NaN are their own."""
    return libdevice.ldexp(x, -exponent(x))
