"""How each scalar operation is written in Triton; one row an operation."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ..errors import LoweringError
from ..ir.values import Value

TYPE_NAMES = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "i1",
}
TL_NAMES = {
    torch.float64: "tl.float64",
    torch.float32: "tl.float32",
    torch.float16: "tl.float16",
    torch.bfloat16: "tl.bfloat16",
    torch.int64: "tl.int64",
    torch.int32: "tl.int32",
    torch.int16: "tl.int16",
    torch.int8: "tl.int8",
    torch.uint8: "tl.uint8",
    torch.bool: "tl.int1",
}
NAN = "tl.PropagateNan.ALL"


def infix(sign: str) -> Callable[..., str]:
    return lambda value, a, b: f"({a} {sign} {b})"


def function(name: str) -> Callable[..., str]:
    return lambda value, *args: f"{name}({', '.join(args)})"


def library(name: str) -> Callable[..., str]:
    return function(f"libdevice.{name}")


def ours(name: str) -> Callable[..., str]:
    return function(f"library.{name}")


def _divide(value: Value, a: str, b: str) -> str:
    by = value.args[1]
    if by.op == "const" and value.dtype.is_floating_point and _power_of_two(by.attrs[0]):
        return f"({a} * {1 / by.attrs[0]!r})"
    # Triton's `/` on float32 is fast but not correctly rounded; eager's is.
    return f"tl.math.div_rn({a}, {b})" if value.dtype == torch.float32 else f"({a} / {b})"


def _power_of_two(number: float) -> bool:
    """Whether dividing by it is multiplying by its inverse, exactly."""
    return abs(math.frexp(number)[0]) == 0.5 and 2.0**-60 <= abs(number) <= 2.0**60


def _sqrt(value: Value, a: str) -> str:
    return f"tl.math.sqrt_rn({a})" if value.dtype == torch.float32 else f"tl.sqrt({a})"


def _erf(value: Value, a: str) -> str:
    return f"library.erf({a})" if value.dtype == torch.float32 else f"libdevice.erf({a})"


def _max(value: Value, a: str, b: str) -> str:
    nan = f", {NAN}" if value.dtype.is_floating_point else ""
    return f"tl.maximum({a}, {b}{nan})"


def _min(value: Value, a: str, b: str) -> str:
    nan = f", {NAN}" if value.dtype.is_floating_point else ""
    return f"tl.minimum({a}, {b}{nan})"


def _cast(value: Value, a: str) -> str:
    if value.dtype == torch.bool:
        return f"({a} != 0)"
    return f"{a}.to({TL_NAMES[value.dtype]})"


def _round_to(value: Value, a: str) -> str:
    return f"{a}.to({TL_NAMES[value.attrs[0]]}).to(tl.float32)"


def _bounded(value: Value, a: str, length: str) -> str:
    return f"tl.minimum(tl.maximum({a}, 0), {length} - 1)"


def _neg(value: Value, a: str) -> str:
    # Triton's -a is 0 - a, which gives 0 for 0 where eager has -0.
    return f"({a} * -1.0)" if value.dtype.is_floating_point else f"(-{a})"


OPERATIONS: dict[str, Callable[..., str]] = {
    "add": infix("+"),
    "sub": infix("-"),
    "mul": infix("*"),
    "div": _divide,
    "int_div": infix("//"),
    "int_rem": infix("%"),
    "neg": _neg,
    "abs": function("tl.abs"),
    "eq": infix("=="),
    "ne": infix("!="),
    "lt": infix("<"),
    "le": infix("<="),
    "gt": infix(">"),
    "ge": infix(">="),
    "logical_and": infix("&"),
    "logical_or": infix("|"),
    "logical_not": lambda value, a: f"({a} == 0)",
    "bit_and": infix("&"),
    "bit_or": infix("|"),
    "bit_xor": infix("^"),
    "bit_not": lambda value, a: f"(~{a})",
    "shl": infix("<<"),
    "shr": infix(">>"),
    "where": function("tl.where"),
    "maximum": _max,
    "minimum": _min,
    "cast": _cast,
    "round_to": _round_to,
    "bounded": _bounded,
    "exp": library("exp"),
    "exp2": library("exp2"),
    "log": library("log"),
    "log2": library("log2"),
    "sin": library("sin"),
    "cos": library("cos"),
    "sqrt": _sqrt,
    "rsqrt": library("rsqrt"),
    "erf": _erf,
    "floor": library("floor"),
    "ceil": library("ceil"),
    "trunc": library("trunc"),
    "round": library("rint"),
    "i0": library("cyl_bessel_i0"),
    "i1": library("cyl_bessel_i1"),
    "ndtri": library("normcdfinv"),
    "to_tf32": ours("to_tf32"),
    "mantissa": ours("mantissa"),
    "exponent": ours("exponent"),
    "zeta_sum": ours("zeta_sum"),
    "zeta_last": ours("zeta_last"),
    **{name: ours(name) for name in "gcd int_power chebyshev hermite laguerre legendre".split()},
    "signbit": lambda value, a: f"(libdevice.signbit({a}) != 0)",
    **{
        name: library(name)
        for name in (
            "expm1 log10 log1p tan asin acos atan sinh cosh tanh asinh acosh atanh erfc "
            "erfinv lgamma atan2 hypot copysign nextafter fmod pow erfcx j0 j1 y0 y1"
        ).split()
    },
}


def constant(value: Value) -> str:
    """A constant's text."""
    return constant_text(value.attrs[0], value.dtype)


def constant_text(number: bool | int | float, dtype: torch.dtype) -> str:
    """A number of a dtype. Types are spelt out: a bare number is 32 bits wide to Triton."""
    if dtype.is_floating_point:
        text = repr(float(number)) if math.isfinite(number) else f'float("{number}")'
    else:
        text = str(int(number))
    return f"tl.full([], {text}, {TL_NAMES[dtype]})"


def operation(value: Value, args: list[str]) -> str:
    """The text of an operation on operands' names."""
    row = OPERATIONS.get(value.op)
    if row is None:
        raise LoweringError(f"no Triton for {value.op}")
    return row(value, *args)
