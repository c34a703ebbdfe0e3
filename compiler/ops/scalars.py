"""The arithmetic of single elements, with torch's meaning of NaN, signs, division and booleans."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..errors import LoweringError
from ..ir.values import Value, Values

Scalar = Callable[..., Value]


def plain(op: str) -> Scalar:
    """An operation that needs no care."""
    return lambda v, *args: v.call(op, *args)


def is_float(value: Value) -> bool:
    return value.dtype.is_floating_point


def add(v: Values, a: Value, b: Value, alpha: Value | None = None) -> Value:
    if alpha is not None:
        b = mul(v, b, alpha)
    if a.dtype == torch.bool:
        return v.call("logical_or", a, b)
    return v.call("add", a, b)


def sub(v: Values, a: Value, b: Value, alpha: Value | None = None) -> Value:
    return v.call("sub", a, b if alpha is None else mul(v, b, alpha))


def mul(v: Values, a: Value, b: Value) -> Value:
    if a.dtype == torch.bool:
        return v.call("logical_and", a, b)
    return v.call("mul", a, b)


def true_divide(v: Values, a: Value, b: Value) -> Value:
    return v.call("div", a, b)


def trunc_divide(v: Values, a: Value, b: Value) -> Value:
    if is_float(a):
        return v.call("trunc", v.call("div", a, b))
    return v.call("int_div", a, b)


def floor_divide(v: Values, a: Value, b: Value) -> Value:
    zero = v.const(0, a.dtype)
    if not is_float(a):
        quotient = v.call("int_div", a, b)
        uneven = v.call("ne", v.call("int_rem", a, b), zero)
        if a.dtype == torch.uint8:
            return quotient
        signs = v.call("ne", v.call("lt", a, zero), v.call("lt", b, zero))
        down = v.call("sub", quotient, v.const(1, a.dtype))
        return v.where(v.call("logical_and", uneven, signs), down, quotient)
    # As CPython does for floats: exact where a / b rounds up to the next whole number.
    rest = v.call("fmod", a, b)
    quotient = v.call("div", v.call("sub", a, rest), b)
    signs = v.call("ne", v.call("lt", b, zero), v.call("lt", rest, zero))
    uneven = v.call("logical_and", v.call("ne", rest, zero), signs)
    quotient = v.where(uneven, v.call("sub", quotient, v.const(1, a.dtype)), quotient)
    down = v.call("floor", quotient)
    above = v.call("gt", v.call("sub", quotient, down), v.const(0.5, a.dtype))
    down = v.where(above, v.call("add", down, v.const(1, a.dtype)), down)
    exact = v.call("div", a, b)
    down = v.where(v.call("eq", quotient, zero), v.call("copysign", zero, exact), down)
    return v.where(v.call("eq", b, zero), exact, down)


def fmod(v: Values, a: Value, b: Value) -> Value:
    return v.call("fmod" if is_float(a) else "int_rem", a, b)


def remainder(v: Values, a: Value, b: Value) -> Value:
    rest = fmod(v, a, b)
    if a.dtype == torch.uint8:
        return rest
    zero = v.const(0, a.dtype)
    signs = v.call("ne", v.call("lt", rest, zero), v.call("lt", b, zero))
    wrong = v.call("logical_and", v.call("ne", rest, zero), signs)
    return v.where(wrong, v.call("add", rest, b), rest)


def power(v: Values, a: Value, b: Value) -> Value:
    if b.op == "const":
        n = b.attrs[0]
        if n == 2:
            return mul(v, a, a)
        if n == 1:
            return a
        if n == 3:
            return mul(v, mul(v, a, a), a)
        if is_float(a):
            if n == 0.5:
                return v.call("sqrt", a)
            if n == -0.5:
                return rsqrt(v, a)
            if n == -1:
                return reciprocal(v, a)
            if n == -2:
                return reciprocal(v, mul(v, a, a))
        elif 0 <= n <= 64:
            return _whole_power(v, a, int(n))
    if a.dtype == torch.bool:
        raise LoweringError("a power of booleans")
    if not is_float(a):
        return v.call("int_power", a, b)
    return v.call("pow", a, b)


def _whole_power(v: Values, a: Value, n: int) -> Value:
    result = v.const(1, a.dtype)
    while n:
        if n & 1:
            result = mul(v, result, a)
        a = mul(v, a, a)
        n >>= 1
    return result


def absolute(v: Values, a: Value) -> Value:
    return a if a.dtype in (torch.bool, torch.uint8) else v.call("abs", a)


def negative(v: Values, a: Value) -> Value:
    return v.call("neg", a)


def reciprocal(v: Values, a: Value) -> Value:
    return v.call("div", v.const(1, a.dtype), a)


def divide_as_kept(v: Values, a: Value, b: Value) -> Value:
    """Division that keeps the dtype: integers lose their fraction."""
    return v.call("div" if is_float(a) else "int_div", a, b)


def angle(v: Values, a: Value) -> Value:
    """0 or pi; NaN stays."""
    turned = v.where(v.call("lt", a, v.const(0, a.dtype)), v.const(math.pi, a.dtype), a)
    return v.where(v.call("ge", a, v.const(0, a.dtype)), v.const(0, a.dtype), turned)


def shrink_backward(v: Values, grad: Value, a: Value, width: Value) -> Value:
    low = v.call("ge", a, v.call("neg", width))
    inside = v.call("logical_and", low, v.call("le", a, width))
    return v.where(inside, v.const(0, a.dtype), grad)


def rsqrt(v: Values, a: Value) -> Value:
    return v.call("rsqrt", a)


def sigmoid(v: Values, a: Value) -> Value:
    one = v.const(1, a.dtype)
    return v.call("div", one, v.call("add", one, v.call("exp", v.call("neg", a))))


def relu(v: Values, a: Value) -> Value:
    zero = v.const(0, a.dtype)
    return v.where(v.call("lt", a, zero), zero, a)


def sign(v: Values, a: Value) -> Value:
    if a.dtype == torch.bool:
        return a
    zero = v.const(0, a.dtype)
    up = v.cast(v.call("gt", a, zero), a.dtype)
    down = v.cast(v.call("lt", a, zero), a.dtype)
    return v.call("sub", up, down)


def whole(op: str) -> Scalar:
    return lambda v, a: v.call(op, a) if is_float(a) else a


def isnan(v: Values, a: Value) -> Value:
    return v.call("ne", a, a) if is_float(a) else v.const(False, torch.bool)


def isinf(v: Values, a: Value) -> Value:
    if not is_float(a):
        return v.const(False, torch.bool)
    return v.call("eq", v.call("abs", a), v.const(float("inf"), a.dtype))


def signbit(v: Values, a: Value) -> Value:
    if is_float(a):
        return v.call("signbit", a)
    if a.dtype in (torch.bool, torch.uint8):
        return v.const(False, torch.bool)
    return v.call("lt", a, v.const(0, a.dtype))


def truth(v: Values, a: Value) -> Value:
    return a if a.dtype == torch.bool else v.call("ne", a, v.const(0, a.dtype))


def convert(v: Values, a: Value, dtype: torch.dtype) -> Value:
    """A cast as torch does it."""
    return truth(v, a) if dtype == torch.bool else v.cast(a, dtype)


def logical_not(v: Values, a: Value) -> Value:
    return v.call("logical_not", truth(v, a))


def logical(op: str) -> Scalar:
    return lambda v, a, b: v.call(op, truth(v, a), truth(v, b))


def logical_xor(v: Values, a: Value, b: Value) -> Value:
    return v.call("ne", truth(v, a), truth(v, b))


def bitwise_not(v: Values, a: Value) -> Value:
    return v.call("logical_not" if a.dtype == torch.bool else "bit_not", a)


def bitwise(op: str) -> Scalar:
    def scalar(v: Values, a: Value, b: Value) -> Value:
        if a.dtype != torch.bool:
            return v.call(f"bit_{op}", a, b)
        return v.call("ne", a, b) if op == "xor" else v.call(f"logical_{op}", a, b)

    return scalar


def _in_range(v: Values, b: Value, bits: int) -> Value:
    low = v.call("ge", b, v.const(0, b.dtype))
    return v.call("logical_and", low, v.call("lt", b, v.const(bits, b.dtype)))


def _bits(dtype: torch.dtype) -> int:
    return torch.iinfo(dtype).bits


def shift_left(v: Values, a: Value, b: Value) -> Value:
    # A shift by too much or by a negative number gives 0 in torch; in hardware, anything.
    fits = _in_range(v, b, _bits(a.dtype))
    zero = v.const(0, a.dtype)
    return v.where(fits, v.call("shl", a, v.where(fits, b, zero)), zero)


def shift_right(v: Values, a: Value, b: Value) -> Value:
    last = v.const(_bits(a.dtype) - 1, a.dtype)
    fits = _in_range(v, b, _bits(a.dtype))
    return v.call("shr", a, v.where(fits, b, last))


def compare(op: str) -> Scalar:
    return lambda v, a, b: v.call(op, a, b)


def maximum(v: Values, a: Value, b: Value) -> Value:
    return v.call("logical_or" if a.dtype == torch.bool else "maximum", a, b)


def minimum(v: Values, a: Value, b: Value) -> Value:
    return v.call("logical_and" if a.dtype == torch.bool else "minimum", a, b)


def fmax(v: Values, a: Value, b: Value) -> Value:
    if not is_float(a):
        return maximum(v, a, b)
    pick = v.call("logical_or", isnan(v, b), v.call("ge", a, b))
    return v.where(pick, a, b)


def fmin(v: Values, a: Value, b: Value) -> Value:
    if not is_float(a):
        return minimum(v, a, b)
    pick = v.call("logical_or", isnan(v, b), v.call("le", a, b))
    return v.where(pick, a, b)


def identity(kind: str, dtype: torch.dtype) -> Any:
    """What a reduction of nothing gives."""
    if kind in ("sum", "any"):
        return 0
    if kind in ("prod", "all"):
        return 1
    if dtype == torch.bool:
        return kind in ("min", "argmin")
    if dtype.is_floating_point:
        return float("-inf") if kind in ("max", "argmax") else float("inf")
    info = torch.iinfo(dtype)
    return info.min if kind in ("max", "argmax") else info.max
