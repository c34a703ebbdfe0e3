"""Orthogonal polynomials of a degree that is data: closed forms where they hold, or recurrences."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ..ir.values import Value, Values

Scalar = Callable[[Values, Value, Value], Value]
LONGEST = 1e9  # a degree beyond it is no degree


def _degree(v: Values, n: Value) -> Value:
    """n as a whole number; -1 for what isn't a number of steps."""
    if not n.dtype.is_floating_point:
        return v.cast(n, torch.int64)
    known = v.call("lt", v.call("abs", n), v.const(LONGEST, n.dtype))
    return v.cast(v.where(known, n, v.const(-1, n.dtype)), torch.int64)


def _int(v: Values, number: int) -> Value:
    return v.const(number, torch.int64)


def _signed(v: Values, k: Value, magnitude: Value) -> Value:
    """The magnitude, negative for odd k."""
    even = v.call("eq", v.call("bit_and", k, _int(v, 1)), _int(v, 0))
    return v.where(even, magnitude, v.call("neg", magnitude))


def _ends(v: Values, k: Value, x: Value, result: Value, first: Value) -> Value:
    """The result where k >= 2; 0 below degree 0, 1 at 0, `first` at 1."""
    result = v.where(v.call("eq", k, _int(v, 1)), first, result)
    result = v.where(v.call("eq", k, _int(v, 0)), v.const(1, x.dtype), result)
    return v.where(v.call("lt", k, _int(v, 0)), v.const(0, x.dtype), result)


def chebyshev(kind: str, shifted: bool) -> Scalar:
    """Chebyshev's polynomials of the first to fourth kind, "t", "u", "v", "w"."""
    threshold = {"t": 6, "u": 8, "v": 8, "w": 8}[kind]
    if shifted:
        threshold = 4 if kind == "w" else 6

    def scalar(v: Values, x: Value, n: Value) -> Value:
        dtype = x.dtype
        one = v.const(1, dtype)
        k = _degree(v, n)
        degree = v.cast(k, dtype)
        if shifted:
            x = v.call("sub", v.call("add", x, x), one)
        twice = v.call("add", x, x)
        first = {
            "t": x,
            "u": twice,
            "v": v.call("sub", twice, one),
            "w": v.call("add", twice, one),
        }[kind]
        inside = v.call("lt", v.call("abs", x), one)
        closed = v.call("logical_and", inside, v.call("gt", k, _int(v, threshold)))
        walked = v.call("chebyshev", x, first, v.where(closed, _int(v, 0), k), dtype=dtype)
        result = v.where(closed, _closed(v, kind, x, degree), _ends(v, k, x, walked, first))
        next_ = v.call("add", degree, one)
        wide = v.call("add", degree, next_)
        at_one = {"t": one, "u": next_, "v": one, "w": wide}[kind]
        at_minus = {"t": one, "u": next_, "v": wide, "w": one}[kind]
        result = v.where(v.call("eq", x, one), at_one, result)
        minus = v.call("eq", x, v.const(-1, dtype))
        result = v.where(minus, _signed(v, k, at_minus), result)
        return v.where(v.call("lt", k, _int(v, 0)), v.const(0, dtype), result)

    return scalar


def _closed(v: Values, kind: str, x: Value, degree: Value) -> Value:
    angle = v.call("acos", x)
    if kind == "t":
        return v.call("cos", v.call("mul", degree, angle))
    if kind == "u":
        moved = v.call("mul", v.call("add", degree, v.const(1, x.dtype)), angle)
        return v.call("div", v.call("sin", moved), v.call("sin", angle))
    moved = v.call("mul", v.call("add", degree, v.const(0.5, x.dtype)), angle)
    half = v.call("div", angle, v.const(2, x.dtype))
    op = "cos" if kind == "v" else "sin"
    return v.call("div", v.call(op, moved), v.call(op, half))


def hermite(physicist: bool) -> Scalar:
    """Hermite's polynomials: H (of the physicists) or He."""

    def scalar(v: Values, x: Value, n: Value) -> Value:
        # Beyond this degree ATen gives NaN.
        limit = 512 if x.dtype == torch.float64 else 128
        k = _degree(v, n)
        y = v.call("add", x, x) if physicist else x
        beyond = v.call("gt", k, _int(v, limit))
        steps = v.where(beyond, _int(v, 0), k)
        walked = v.call("hermite", y, steps, _int(v, 2 if physicist else 1), dtype=x.dtype)
        result = v.where(beyond, v.const(math.nan, x.dtype), walked)
        return _ends(v, k, x, result, y)

    return scalar


def laguerre(v: Values, x: Value, n: Value) -> Value:
    k = _degree(v, n)
    first = v.call("sub", v.const(1, x.dtype), x)
    result = _ends(v, k, x, v.call("laguerre", x, k, dtype=x.dtype), first)
    zero = v.call("logical_and", v.call("eq", x, v.const(0, x.dtype)), v.call("ge", k, _int(v, 0)))
    return v.where(zero, v.const(1, x.dtype), result)


def legendre(v: Values, x: Value, n: Value) -> Value:
    k = _degree(v, n)
    one = v.const(1, x.dtype)
    result = _ends(v, k, x, v.call("legendre", x, k, dtype=x.dtype), x)
    result = v.where(v.call("eq", x, one), one, result)
    minus = v.call("eq", x, v.const(-1, x.dtype))
    result = v.where(minus, _signed(v, k, one), result)
    return v.where(v.call("lt", k, _int(v, 0)), v.const(0, x.dtype), result)


POLYNOMIALS: dict[str, Scalar] = {
    **{f"chebyshev_polynomial_{kind}": chebyshev(kind, False) for kind in "tuvw"},
    **{f"shifted_chebyshev_polynomial_{kind}": chebyshev(kind, True) for kind in "tuvw"},
    "hermite_polynomial_h": hermite(True),
    "hermite_polynomial_he": hermite(False),
    "laguerre_polynomial_l": laguerre,
    "legendre_polynomial_p": legendre,
}
