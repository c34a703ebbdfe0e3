"""Every pointwise row against eager, on values at the edges, many rows in one program."""

from __future__ import annotations

import math

import pytest
import torch
from compile_lint.compiler.ops.table import lowered_names

from .operator_checks import check, same

INF, NAN = math.inf, math.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.0, 9.5, -7.25, 1e-8, 30.0, INF, -INF, NAN]
A = torch.tensor([a for a in EDGES for _ in EDGES])
B = torch.tensor([b for _ in EDGES for b in EDGES])
# Where a comparison means something for functions that explode.
TAME = torch.linspace(-4.3, 4.3, 64)
WHOLE = torch.tensor([-(2**63), -7, -3, -2, -1, 1, 2, 3, 5, 7, 62, 63, 64, 2**62, 2**63 - 1])
M, N = WHOLE.repeat_interleave(15), WHOLE.repeat(15)
SMALL = torch.tensor([-9, -3, -2, -1, 0, 1, 2, 3, 4, 7, 13], dtype=torch.int64)

sp = torch.special
UNARY = (
    "abs neg sign reciprocal square exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan "
    "asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv sigmoid ceil floor trunc "
    "round relu isnan isinf signbit logical_not angle frac isfinite nan_to_num sgn"
).split()
SPECIAL = (
    "digamma i0 i0e i1 i1e bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_k0 ndtri erfcx "
    "modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0 "
    "entr log_ndtr ndtr gammaln"
).split()
BINARY = (
    "add sub mul div fmod remainder pow atan2 hypot copysign nextafter maximum minimum fmax fmin "
    "eq ne lt le gt ge logical_and logical_or logical_xor floor_divide xlogy ldexp logaddexp"
).split()
INTEGER = (
    "add sub mul maximum minimum eq lt ge bitwise_and bitwise_or bitwise_xor gcd div logical_xor"
).split()
SHIFTS = "bitwise_left_shift bitwise_right_shift".split()
DIVISIONS = "floor_divide remainder fmod".split()
POLYNOMIALS = [
    f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"
]
POLYNOMIALS += (
    "hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p".split()
)


def test_unary_functions_at_the_edges() -> None:
    same(UNARY, torch, torch.tensor(EDGES))


def test_unary_functions_of_integers() -> None:
    names = (
        "abs neg sign reciprocal square exp sigmoid ceil isnan signbit bitwise_not angle".split()
    )
    same(names, torch, SMALL)


def test_special_functions() -> None:
    same(SPECIAL, sp, torch.cat([TAME, torch.tensor([0.0, -0.0, 9.0, 20.0, NAN])]))


def test_polygamma_and_zeta() -> None:
    def f(x: torch.Tensor) -> list[torch.Tensor]:
        return [*(torch.polygamma(n, x) for n in range(5)), sp.zeta(x, x.abs() + 0.5), *x.frexp()]

    check(f, [*"01234", "zeta", "mantissa", "exponent"], TAME)


def test_binary_functions_at_the_edges() -> None:
    same(BINARY, torch, A, B)


def test_integers_wrap_and_divide_as_in_eager() -> None:
    same(INTEGER, torch, M, N)
    same(DIVISIONS, torch, M[N != -1], N[N != -1])
    same(SHIFTS, torch, M, N.clamp(-3, 70))
    same(["pow"], torch, SMALL, SMALL.flip(0).abs())


def test_polynomials_of_any_degree() -> None:
    x = torch.tensor([-1.5, -1.0, -0.3, 0.0, 0.5, 0.9, 1.0, 1.25])
    n = torch.arange(-1.0, 11.0)
    # Near the ends some closed forms lose digits, in eager too; away from them all agree.
    same(POLYNOMIALS, sp, x.repeat_interleave(len(n)), n.repeat(len(x)))


def test_booleans() -> None:
    a, b = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
    names = "add mul maximum minimum eq lt logical_and logical_xor bitwise_or bitwise_xor".split()
    same(names, torch, a, b)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_float_types(dtype: torch.dtype) -> None:
    names = "add mul div maximum pow sub atan2 copysign fmod".split()
    same(names, torch, A.to(dtype), B.to(dtype))
    same("exp log sin tanh sigmoid sqrt rsqrt relu round".split(), torch, TAME.abs().to(dtype))


def test_promotion() -> None:
    def f(x: torch.Tensor, i: torch.Tensor, s: torch.Tensor) -> list[torch.Tensor]:
        return [
            x + s,
            i + 1.5,
            i / 2,
            i * s,
            x**2,
            2**i,
            i.clamp(0.5, 3),
            x.half() + s,
            i // 2,
            s + i,
        ]

    check(f, list("0123456789"), TAME[:11], SMALL, torch.tensor(3))


def test_every_name_is_an_operator() -> None:
    for name in lowered_names():
        namespace, _, rest = name.partition(".")
        operator = rest.partition(".")[0]
        assert hasattr(getattr(torch.ops, namespace), operator), name
