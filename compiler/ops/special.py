"""Special functions of single elements, and their rows."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..errors import LoweringError
from ..ir.values import Value, Values
from . import bessel
from . import scalars as s
from .lazy import SUPPORTED, Lazy
from .pointwise import FLOAT, Row, elementwise, register
from .polynomials import POLYNOMIALS
from .table import lowering

_DIGAMMA = (
    8.33333333333333333333e-2,
    -2.10927960927960927961e-2,
    7.57575757575757575758e-3,
    -4.16666666666666666667e-3,
    3.96825396825396825397e-3,
    -8.33333333333333333333e-3,
    8.33333333333333333333e-2,
)
_DIGAMMA_10 = 2.25175258906672110764
# (2k)! / B(2k), of Euler and Maclaurin's formula
_ZETA = (
    12.0,
    -720.0,
    30240.0,
    -1209600.0,
    47900160.0,
    -1.8924375803183791606e9,
    7.47242496e10,
    -2.950130727918164224e12,
    1.1646782814350067249e14,
    -4.5979787224074726105e15,
    1.8152105401943546773e17,
    -7.1661652561756670113e18,
)
_SPHERICAL = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(7))


def polynomial(v: Values, x: Value, coefficients: tuple[float, ...]) -> Value:
    """Highest power first."""
    result = v.const(coefficients[0], x.dtype)
    for c in coefficients[1:]:
        result = v.call("add", v.call("mul", result, x), v.const(c, x.dtype))
    return result


def digamma(v: Values, x: Value) -> Value:
    """By reflection below 0, recurrence up to 10, and the asymptotic series (Cephes)."""
    zero, one = v.const(0, x.dtype), v.const(1, x.dtype)
    below = v.call("lt", x, zero)
    y = v.where(below, v.call("sub", one, x), x)
    shift = zero
    for _ in range(10):
        low = v.call("lt", y, v.const(10, x.dtype))
        shift = v.where(low, v.call("sub", shift, v.call("div", one, y)), shift)
        y = v.where(low, v.call("add", y, one), y)
    square = v.call("div", one, v.call("mul", y, y))
    series = v.call("mul", square, polynomial(v, square, _DIGAMMA))
    series = v.where(v.call("lt", y, v.const(1e17, x.dtype)), series, zero)
    tail = v.call("sub", v.call("log", y), v.call("div", v.const(0.5, x.dtype), y))
    result = v.call("sub", v.call("add", shift, tail), series)
    at_10 = v.call("add", shift, v.const(_DIGAMMA_10, x.dtype))
    result = v.where(v.call("eq", y, v.const(10, x.dtype)), at_10, result)
    # In double, as tan is steep near the poles.
    fraction = v.call("sub", x, v.call("trunc", x))
    turn = v.call("mul", v.cast(fraction, torch.float64), v.const(math.pi, torch.float64))
    reflected = v.call("div", v.const(math.pi, torch.float64), v.call("tan", turn))
    result = v.where(below, v.call("sub", result, v.cast(reflected, x.dtype)), result)
    pole = v.call("logical_and", below, v.call("eq", x, v.call("trunc", x)))
    result = v.where(pole, v.const(math.nan, x.dtype), result)
    infinite = v.call("copysign", v.const(math.inf, x.dtype), v.call("neg", x))
    return v.where(v.call("eq", x, zero), infinite, result)


def trigamma(v: Values, x: Value) -> Value:
    """By reflection below ½, recurrence, and the asymptotic series."""
    one, pi = v.const(1, x.dtype), v.const(math.pi, x.dtype)
    below = v.call("lt", x, v.const(0.5, x.dtype))
    sine = v.call("sin", v.call("mul", pi, x))
    ratio = v.call("div", v.call("mul", pi, pi), v.call("mul", sine, sine))
    result = v.where(below, v.call("neg", ratio), v.const(0, x.dtype))
    y = v.where(below, v.call("sub", one, x), x)
    for _ in range(6):
        result = v.call("add", result, v.call("div", one, v.call("mul", y, y)))
        y = v.call("add", y, one)
    square = v.call("div", one, v.call("mul", y, y))
    inner = polynomial(v, square, (1 / 42, -1 / 30, 1 / 6))
    half = v.call("div", one, v.call("mul", v.const(2, x.dtype), y))
    total = v.call("add", v.call("add", one, half), v.call("mul", square, inner))
    result = v.call("add", result, v.call("div", total, y))
    return v.where(below, v.call("neg", result), result)


def zeta(v: Values, x: Value, q: Value) -> Value:
    """Hurwitz's zeta function by Euler and Maclaurin's formula (Cephes), in double."""
    dtype = x.dtype
    x, q = v.cast(x, torch.float64), v.cast(q, torch.float64)
    zero, one = v.const(0, torch.float64), v.const(1, torch.float64)
    total = v.call("zeta_sum", x, q)
    w = v.call("zeta_last", x, q)
    b = v.call("pow", w, v.call("neg", x))
    result = v.call("add", total, v.call("div", v.call("mul", b, w), v.call("sub", x, one)))
    result = v.call("sub", result, v.call("mul", v.const(0.5, torch.float64), b))
    a, k = one, 0
    for divisor in _ZETA:
        a = v.call("mul", a, v.call("add", x, v.const(k, torch.float64)))
        b = v.call("div", b, w)
        term = v.call("div", v.call("mul", a, b), v.const(divisor, torch.float64))
        result = v.call("add", result, term)
        a = v.call("mul", a, v.call("add", x, v.const(k + 1, torch.float64)))
        b = v.call("div", b, w)
        k += 2
    # The sum alone where its terms have died out; beyond, the formula overflows.
    result = v.where(s.isnan(v, result), total, result)
    below = v.call("le", q, zero)
    whole_q = v.call("eq", q, v.call("floor", q))
    odd = v.call("ne", x, v.call("floor", x))
    bad = v.call("logical_or", v.call("lt", x, one), v.call("logical_and", below, odd))
    result = v.where(bad, v.const(math.nan, torch.float64), result)
    pole = v.call("logical_and", below, whole_q)
    pole = v.call("logical_and", pole, v.call("ge", x, one))
    pole = v.call("logical_or", pole, v.call("eq", x, one))
    return v.cast(v.where(pole, v.const(math.inf, torch.float64), result), dtype)


def spherical_bessel_j0(v: Values, x: Value) -> Value:
    near = polynomial(v, v.call("mul", x, x), _SPHERICAL[::-1])
    close = v.call("lt", v.call("abs", x), v.const(0.5, x.dtype))
    result = v.where(close, near, v.call("div", v.call("sin", x), x))
    return v.where(s.isinf(v, x), v.const(0, x.dtype), result)


ROWS = (
    Row("aten.digamma prims.digamma", digamma, FLOAT),
    Row("aten.special_zeta prims.zeta", zeta, FLOAT),
    Row("aten.i0 aten.special_modified_bessel_i0 prims.bessel_i0", s.plain("i0"), FLOAT),
    Row("aten.special_i1 aten.special_modified_bessel_i1 prims.bessel_i1", s.plain("i1"), FLOAT),
    Row("aten.special_i0e prims.bessel_i0e", bessel.i0e, FLOAT),
    Row("aten.special_i1e prims.bessel_i1e", bessel.i1e, FLOAT),
    Row("aten.special_modified_bessel_k0", bessel.k0, FLOAT),
    Row("aten.special_modified_bessel_k1", bessel.k1, FLOAT),
    Row("aten.special_scaled_modified_bessel_k0", bessel.k0e, FLOAT),
    Row("aten.special_scaled_modified_bessel_k1", bessel.k1e, FLOAT),
    Row("aten.special_bessel_j0 prims.bessel_j0", s.plain("j0"), FLOAT),
    Row("aten.special_bessel_j1 prims.bessel_j1", s.plain("j1"), FLOAT),
    Row("aten.special_bessel_y0", s.plain("y0"), FLOAT),
    Row("aten.special_bessel_y1", s.plain("y1"), FLOAT),
    Row("aten.special_spherical_bessel_j0 prims.spherical_bessel_j0", spherical_bessel_j0, FLOAT),
    Row("aten.special_erfcx prims.erfcx", s.plain("erfcx"), FLOAT),
    Row("aten.special_ndtri prims.ndtri", s.plain("ndtri"), FLOAT),
    *(Row(f"aten.special_{name}", scalar, FLOAT) for name, scalar in POLYNOMIALS.items()),
)

for _row in ROWS:
    register(_row)


@lowering("aten.polygamma")
def polygamma(lower: Any, node: torch.fx.Node, n: int, x: Lazy) -> Lazy:
    def scalar(v: Values, a: Value) -> Value:
        if n == 0:
            return digamma(v, a)
        if n == 1:
            return trigamma(v, a)
        sign = 1.0 if n % 2 else -1.0
        factor = v.const(sign * math.factorial(n), a.dtype)
        return v.call("mul", factor, zeta(v, v.const(n + 1, a.dtype), a))

    if n > 100:
        raise LoweringError("a factorial that overflows")
    return elementwise(lower, node, scalar, FLOAT, (x,), lower.examples(node.args[1:]))


@lowering("aten.frexp.Tensor", "prims.frexp")
def frexp(lower: Any, node: torch.fx.Node, x: Lazy) -> tuple[Lazy, Lazy]:
    if x.dtype not in SUPPORTED:
        raise LoweringError(f"frexp of {x.dtype}")
    v: Values = lower.values
    mantissa = Lazy(x.size, x.dtype, x.device, lambda i: v.call("mantissa", x.at(i)))
    return mantissa, Lazy(
        x.size,
        torch.int32,
        x.device,
        lambda i: v.call("exponent", x.at(i), dtype=torch.int32),
    )
