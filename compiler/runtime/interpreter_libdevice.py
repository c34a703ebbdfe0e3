"""CUDA's libdevice on NumPy arrays, by symbol: what `__nv_tanhf` and its like compute.

Which symbol a call means, by its operands' types, is decided by Triton's own table, so what a GPU
would refuse is refused here. The functions are ATen's where it has them, so that numbers agree
with eager's. Source: NVIDIA's "libdevice User's Guide" and "CUDA Math API".

Left out, and said so when called: arithmetic with directed rounding on doubles, `rcp64h`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np
import torch

from .interpreter_libdevice_ints import BITS, INTEGER


def call(symbol: str, arguments: Sequence[np.ndarray]) -> np.ndarray:
    """What the libdevice function `symbol` gives, item by item.

    Raises:
        NotImplementedError: There is no such function here.
    """
    name = symbol.removeprefix("__nv_")
    function = _find(name)
    if function is None:
        raise NotImplementedError(f"libdevice's {symbol} can't be interpreted")
    return function(*np.broadcast_arrays(*arguments))


def _find(name: str) -> Callable | None:
    # "powf", "fmaf_rn", "fast_expf": the same function on float32.
    single = re.sub(r"f(?=$|_r[nzud]$)", "", name)
    for table in (BITS, INTEGER):
        if name in table:
            return table[name]
    for candidate in (name, single):
        found = _ATEN.get(candidate)
        if found is not None:
            return _on_tensors(found)
        found = _NUMPY.get(candidate)
        if found is not None:
            return found
    return _converted(name) or _rounded(name)


def _on_tensors(function: Callable) -> Callable:
    def on_arrays(*arguments: np.ndarray) -> np.ndarray:
        return function(*(torch.from_numpy(np.ascontiguousarray(a)) for a in arguments)).numpy()

    return on_arrays


def _away(x: np.ndarray) -> np.ndarray:
    """Rounded, halves away from zero."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1, x), 0).astype(x.dtype)


def _each(function: Callable[..., float]) -> Callable:
    """`function` of Python floats on each item; NaN where it isn't defined, inf where too large."""

    def one(*arguments: float) -> float:
        try:
            return function(*arguments)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    def on_arrays(*arguments: np.ndarray) -> np.ndarray:
        wide = np.frompyfunc(one, len(arguments), 1)(*(a.astype(np.float64) for a in arguments))
        return np.asarray(wide, np.float64).astype(arguments[-1].dtype)

    return on_arrays


def _gamma(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else math.gamma(x)


def _exponent(x: np.ndarray) -> np.ndarray:
    return np.frexp(x)[1] - 1


def _logb(x: np.ndarray) -> np.ndarray:
    special = np.where(x == 0, -np.inf, np.where(np.isinf(x), np.inf, x))
    finite = np.isfinite(x) & (x != 0)
    return np.where(finite, _exponent(x), special).astype(x.dtype)


def _ilogb(x: np.ndarray) -> np.ndarray:
    special = np.where((x == 0) | np.isnan(x), -(2**31), 2**31 - 1)
    return np.where(np.isfinite(x) & (x != 0), _exponent(x), special).astype(np.int32)


def _sin_pi(x: np.ndarray) -> np.ndarray:
    rest = np.fmod(x.astype(np.float64), 2)
    return np.where(rest == np.trunc(rest), rest * 0, np.sin(np.pi * rest)).astype(x.dtype)


def _cos_pi(x: np.ndarray) -> np.ndarray:
    rest = np.abs(np.fmod(x.astype(np.float64), 2))
    return np.where(np.fmod(rest, 1) == 0.5, 0, np.cos(np.pi * rest)).astype(x.dtype)


def _norm(*parts: np.ndarray) -> np.ndarray:
    wide = np.sqrt(sum(part.astype(np.float64) ** 2 for part in parts))
    infinite = np.any([np.isinf(part) for part in parts], axis=0)
    return np.where(infinite, np.inf, wide).astype(parts[0].dtype)


def _inverse_norm(*parts: np.ndarray) -> np.ndarray:
    return (1 / _norm(*parts)).astype(parts[0].dtype)


def _fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)
    return wide.astype(x.dtype)


def _bessel_jn(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Bessel's integral by the trapezoid rule, which converges faster than any power."""

    def one(order: float, at: float) -> float:
        if not math.isfinite(at):
            return 0.0 if math.isinf(at) else math.nan
        points = int(abs(order) + abs(at)) + 64
        turn = np.arange(points) * (2 * np.pi / points)
        return float(np.mean(np.cos(order * turn - at * np.sin(turn))))

    return _each(one)(n, x)


def _bessel_yn(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Upward recurrence, which is stable for the second kind."""

    def one(order: float, at: float) -> float:
        if at < 0:
            return math.nan
        value = torch.tensor(at, dtype=torch.float64)
        before = float(torch.special.bessel_y0(value))
        now = float(torch.special.bessel_y1(value))
        if order == 0 or at == 0:
            return before if at else -math.inf
        for k in range(1, int(abs(order))):
            before, now = now, 2 * k / at * now - before
        return -now if order < 0 and order % 2 else now

    return _each(one)(n, x)


def _erfc_inverse(x: torch.Tensor) -> torch.Tensor:
    # By the normal distribution's quantile, which keeps the digits of small arguments.
    return -torch.special.ndtri(x / 2) / math.sqrt(2)


_ATEN: dict[str, Callable] = {
    **{
        name: getattr(torch, name)
        for name in (
            "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc erfinv exp "
            "exp2 expm1 floor fmod hypot lgamma log log10 log1p log2 nextafter rsqrt sin "
            "sinh sqrt tan tanh trunc pow"
        ).split()
    },
    "abs": torch.abs,
    "fabs": torch.abs,
    "rint": torch.round,
    "nearbyint": torch.round,
    "cyl_bessel_i0": torch.special.i0,
    "cyl_bessel_i1": torch.special.i1,
    "erfcinv": _erfc_inverse,
    "erfcx": torch.special.erfcx,
    "j0": torch.special.bessel_j0,
    "j1": torch.special.bessel_j1,
    "y0": torch.special.bessel_y0,
    "y1": torch.special.bessel_y1,
    "normcdf": torch.special.ndtr,
    "normcdfinv": torch.special.ndtri,
    "powi": lambda x, n: torch.pow(x.double(), n.double()).to(x.dtype),
    "exp10": lambda x: torch.pow(torch.tensor(10.0, dtype=torch.float64), x.double()).to(x.dtype),
    "fast_cos": torch.cos,
    "fast_sin": torch.sin,
    "fast_tan": torch.tan,
    "fast_exp": torch.exp,
    "fast_log": torch.log,
    "fast_log2": torch.log2,
    "fast_log10": torch.log10,
    "fast_pow": torch.pow,
}
_ATEN["fast_exp10"] = _ATEN["exp10"]

_NUMPY: dict[str, Callable] = {
    "cbrt": np.cbrt,
    "rcbrt": lambda x: (1 / np.cbrt(x)).astype(x.dtype),
    "sinpi": _sin_pi,
    "cospi": _cos_pi,
    "fdim": lambda x, y: np.where(x <= y, 0, x - y).astype(x.dtype),
    "remainder": _each(math.remainder),
    "tgamma": _each(_gamma),
    "rhypot": _inverse_norm,
    "norm3d": _norm,
    "norm4d": _norm,
    "rnorm3d": _inverse_norm,
    "rnorm4d": _inverse_norm,
    "fma": _fma,
    "jn": _bessel_jn,
    "yn": _bessel_yn,
    "ldexp": np.ldexp,
    "scalbn": np.ldexp,
    "logb": _logb,
    "ilogb": _ilogb,
    "round": _away,
    "llround": lambda x: _away(x).astype(np.int64),
    "llrint": lambda x: np.rint(x).astype(np.int64),
    "saturate": lambda x: np.fmin(np.fmax(x, 0), 1).astype(x.dtype),
    "fast_fdivide": np.divide,
    **dict.fromkeys(("isnand", "isnanf"), np.isnan),
    **dict.fromkeys(("isinfd", "isinff"), np.isinf),
    **dict.fromkeys(("isfinited", "finitef"), np.isfinite),
    **dict.fromkeys(("signbitd", "signbitf"), np.signbit),
}

_DIRECTIONS = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}
_WIDTHS = {
    "int": np.int32,
    "uint": np.uint32,
    "ll": np.int64,
    "ull": np.uint64,
    "float": np.float32,
    "double": np.float64,
}
_ARITHMETIC = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rcp": np.reciprocal,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


def _converted(name: str) -> Callable | None:
    """Conversions between types, "float2int_rz": out of range they saturate, as on the GPU."""
    match = re.fullmatch(r"(float|double|int|uint|ll|ull)2(\w+?)_(r[nzud])", name)
    if match is None:
        return None
    target = np.dtype(_WIDTHS[match[2]])
    if target.kind == "f":
        if match[1] == "double" or match[3] != "rn":
            return lambda x: _directed(x, target, match[3])
        return lambda x: x.astype(target)
    limits = np.iinfo(target)

    def convert(x: np.ndarray) -> np.ndarray:
        whole = _DIRECTIONS[match[3]](np.where(np.isnan(x), 0, x).astype(np.float64))
        low, high = float(limits.min), float(limits.max)
        inside = (whole > low) & (whole < high)
        held = np.where(inside, whole, 0).astype(target)
        return np.where(inside, held, np.where(whole <= low, limits.min, limits.max)).astype(target)

    return convert


def _directed(x: np.ndarray, target: np.dtype, direction: str) -> np.ndarray:
    """`x` in a narrower float type, rounded in `direction`."""
    near = x.astype(target)
    if direction == "rn":
        return near
    back = near.astype(x.dtype)
    infinity = target.type(np.inf)
    down, up = np.nextafter(near, -infinity), np.nextafter(near, infinity)
    low, high = np.where(back > x, down, near), np.where(back < x, up, near)
    if direction == "rz":
        return np.where(x < 0, high, low).astype(target)
    return (low if direction == "rd" else high).astype(target)


def _rounded(name: str) -> Callable | None:
    """Arithmetic with a stated rounding: "fadd_rn", "ddiv_rn", "fsqrt_rz", "fmaf_rd"."""
    match = re.fullmatch(r"(f|d)(add|sub|mul|div|rcp|sqrt|rsqrt)_(r[nzud])", name)
    if match is None:
        match = re.fullmatch(r"fmaf?()()_rn", name)
        return _fma if match else None
    operation, direction = _ARITHMETIC[match[2]], match[3]
    if direction == "rn":
        return lambda *args: np.asarray(operation(*args)).astype(args[0].dtype)
    if match[1] == "d":
        return None
    # float64 holds these exactly, or closely enough to tell on which side of a float32 they are.
    return lambda *args: _directed(
        operation(*(a.astype(np.float64) for a in args)), np.dtype(np.float32), direction
    )
