"""Pointwise operators: one row each, from operands' values at a point to the result's there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from sympy import Expr
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as KIND
from torch._prims_common import elementwise_dtypes

from ..errors import LoweringError
from ..ir.values import Value, Values
from . import scalars as s
from .lazy import SUPPORTED, Lazy, broadcast_index, held
from .table import lowering

DEFAULT = KIND.DEFAULT
FLOAT = KIND.INT_TO_FLOAT
BOOL = KIND.ALWAYS_BOOL
KEEP = KIND.NO_OPMATH


PLAIN_PRIMS = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh erf erfc lgamma atan2 hypot nextafter"
).split()


@dataclass(frozen=True, slots=True)
class Row:
    """How one operator computes one element.

    `scalar` gets `Values` and the operands, cast to the dtype that torch computes the operator in
    (`kind` is torch's rule for that); keyword arguments that are numbers come as values too.
    """

    names: str
    scalar: Callable[..., Value]
    kind: KIND = DEFAULT


ROWS = (
    Row("aten.abs", s.absolute, KIND.COMPLEX_TO_FLOAT),
    Row("aten.neg", s.negative),
    Row("aten.sign", s.sign),
    Row("aten.reciprocal", s.reciprocal, FLOAT),
    Row("aten.square", lambda v, a: s.mul(v, a, a)),
    Row("aten.exp", s.plain("exp"), FLOAT),
    Row("aten.exp2", s.plain("exp2"), FLOAT),
    Row("aten.expm1", s.plain("expm1"), FLOAT),
    Row("aten.log", s.plain("log"), FLOAT),
    Row("aten.log2", s.plain("log2"), FLOAT),
    Row("aten.log10", s.plain("log10"), FLOAT),
    Row("aten.log1p", s.plain("log1p"), FLOAT),
    Row("aten.sqrt", s.plain("sqrt"), FLOAT),
    Row("aten.rsqrt", s.rsqrt, FLOAT),
    Row("aten.sin", s.plain("sin"), FLOAT),
    Row("aten.cos", s.plain("cos"), FLOAT),
    Row("aten.tan", s.plain("tan"), FLOAT),
    Row("aten.asin", s.plain("asin"), FLOAT),
    Row("aten.acos", s.plain("acos"), FLOAT),
    Row("aten.atan", s.plain("atan"), FLOAT),
    Row("aten.sinh", s.plain("sinh"), FLOAT),
    Row("aten.cosh", s.plain("cosh"), FLOAT),
    Row("aten.tanh", s.plain("tanh"), FLOAT),
    Row("aten.asinh", s.plain("asinh"), FLOAT),
    Row("aten.acosh", s.plain("acosh"), FLOAT),
    Row("aten.atanh", s.plain("atanh"), FLOAT),
    Row("aten.erf", s.plain("erf"), FLOAT),
    Row("aten.erfc", s.plain("erfc"), FLOAT),
    Row("aten.erfinv", s.plain("erfinv"), FLOAT),
    Row("aten.lgamma", s.plain("lgamma"), FLOAT),
    Row("aten.sigmoid", s.sigmoid, FLOAT),
    Row("aten.ceil", s.whole("ceil")),
    Row("aten.floor", s.whole("floor")),
    Row("aten.trunc", s.whole("trunc")),
    Row("aten.round.default", s.whole("round")),
    Row("aten.relu", s.relu),
    Row("aten.isnan", s.isnan, BOOL),
    Row("aten.isinf", s.isinf, BOOL),
    Row("aten.signbit", s.signbit, BOOL),
    Row("aten.logical_not", s.logical_not, BOOL),
    Row("aten.bitwise_not", s.bitwise_not),
    Row("aten.add", s.add),
    Row("aten.sub", s.sub),
    Row("aten.mul", s.mul),
    Row("aten.div.Tensor aten.div.Scalar", s.true_divide, FLOAT),
    Row("aten.fmod", s.fmod),
    Row("aten.remainder", s.remainder),
    Row("aten.pow", s.power),
    Row("aten.atan2", s.plain("atan2"), FLOAT),
    Row("aten.hypot", s.plain("hypot")),
    Row("aten.copysign", s.plain("copysign"), FLOAT),
    Row("aten.nextafter", s.plain("nextafter"), KEEP),
    Row("aten.maximum", s.maximum),
    Row("aten.minimum", s.minimum),
    Row("aten.fmax", s.fmax),
    Row("aten.fmin", s.fmin),
    Row("aten.clamp_min", s.maximum),
    Row("aten.clamp_max", s.minimum),
    Row("aten.eq", s.compare("eq"), BOOL),
    Row("aten.ne", s.compare("ne"), BOOL),
    Row("aten.lt", s.compare("lt"), BOOL),
    Row("aten.le", s.compare("le"), BOOL),
    Row("aten.gt", s.compare("gt"), BOOL),
    Row("aten.ge", s.compare("ge"), BOOL),
    Row("aten.logical_and", s.logical("logical_and"), BOOL),
    Row("aten.logical_or", s.logical("logical_or"), BOOL),
    Row("aten.logical_xor", s.logical_xor, BOOL),
    Row("aten.bitwise_and", s.bitwise("and")),
    Row("aten.bitwise_or", s.bitwise("or")),
    Row("aten.bitwise_xor", s.bitwise("xor")),
    Row("aten.bitwise_left_shift aten.__lshift__", s.shift_left, KEEP),
    Row("aten.bitwise_right_shift aten.__rshift__", s.shift_right, KEEP),
    Row("aten.angle", s.angle, FLOAT),
    Row("aten.hardshrink_backward aten.softshrink_backward", s.shrink_backward),
    Row("aten.gcd prims.gcd", s.plain("gcd"), KEEP),
    *(Row(f"prims.{name}", s.plain(name), KEEP) for name in PLAIN_PRIMS),
    *(Row(f"prims.{name}", s.compare(name), BOOL) for name in "eq ne lt le gt ge".split()),
    Row("prims.add", s.add, KEEP),
    Row("prims.sub", s.sub, KEEP),
    Row("prims.mul", s.mul, KEEP),
    Row("prims.div", s.divide_as_kept, KEEP),
    Row("prims.neg", s.negative, KEEP),
    Row("prims.abs", s.absolute, KEEP),
    Row("prims.sign", s.sign, KEEP),
    Row("prims.reciprocal", s.reciprocal, KEEP),
    Row("prims.pow", s.power, KEEP),
    Row("prims.fmod", s.fmod, KEEP),
    Row("prims.remainder", s.remainder, KEEP),
    Row("prims.maximum", s.maximum, KEEP),
    Row("prims.minimum", s.minimum, KEEP),
    Row("prims.signbit", s.signbit, BOOL),
    Row("prims.bitwise_not", s.bitwise_not, KEEP),
    Row("prims.bitwise_and", s.bitwise("and"), KEEP),
    Row("prims.bitwise_or", s.bitwise("or"), KEEP),
    Row("prims.bitwise_xor", s.bitwise("xor"), KEEP),
    Row("prims.shift_left", s.shift_left, KEEP),
    Row("prims.shift_right_arithmetic", s.shift_right, KEEP),
    *(Row(f"prims.{name}", s.whole(name), KEEP) for name in "ceil floor trunc round".split()),
)


def elementwise(
    lower: Any,
    node: torch.fx.Node,
    scalar: Callable[..., Value],
    kind: KIND,
    operands: Sequence[Any],
    examples: Sequence[Any],
    **extra: Any,
) -> Lazy:
    """A pointwise result: `scalar` at every point of the broadcast operands.

    Args:
        operands: `Lazy`s, numbers and size expressions.
        examples: The same as torch has them, for its promotion rules.
        extra: Numbers given to `scalar` by keyword, as values in the computing dtype.
    """
    compute, result = elementwise_dtypes(*examples, type_promotion_kind=kind)
    compute = held(compute)
    if compute not in SUPPORTED or result not in SUPPORTED:
        raise LoweringError(f"computes in {compute}")
    size = lower.size_of(node)
    values: Values = lower.values

    def operand(x: Any, index: Sequence[Expr]) -> Value:
        if isinstance(x, Lazy):
            value = x.at(broadcast_index(x.size, index, size))
        elif isinstance(x, Expr):
            if not x.is_integer:  # index arithmetic is whole
                raise LoweringError(f"a fraction that isn't known: {x}")
            value = values.index(x)
        else:
            value = values.const(x, compute)
        return values.cast(value, compute)

    def at(index: Sequence[Expr]) -> Value:
        arguments = [operand(x, index) for x in operands]
        named = {key: operand(x, index) for key, x in extra.items()}
        return values.cast(scalar(values, *arguments, **named), held(result))

    return Lazy(size, result, lower.device_of(node), at)


def register(row: Row) -> None:
    """Put a row into the table of lowerings."""

    @lowering(*row.names.split())
    def lower_row(lower: Any, node: torch.fx.Node, *args: Any, **kwargs: Any) -> Lazy:
        if any(x is None for x in args):
            raise LoweringError("an operand is None")
        return elementwise(
            lower, node, row.scalar, row.kind, args, lower.examples(node.args), **kwargs
        )


for _row in ROWS:
    register(_row)


@lowering("aten.where.self", "prims.where")
def where(lower: Any, node: torch.fx.Node, condition: Any, a: Any, b: Any) -> Lazy:
    values: Values = lower.values
    size = lower.size_of(node)
    result = elementwise(
        lower,
        node,
        lambda v, x, y: y,  # never called: only its dtype rule is wanted
        KEEP,
        (a, b),
        lower.examples(node.args[1:]),
    ).dtype

    def at(index: Sequence[Expr]) -> Value:
        test, x, y = (t.at(broadcast_index(t.size, index, size)) for t in (condition, a, b))
        return values.where(
            values.cast(test, torch.bool),
            values.cast(x, held(result)),
            values.cast(y, held(result)),
        )

    return Lazy(size, result, lower.device_of(node), at)


@lowering("aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.floor_divide")
def div_mode(
    lower: Any, node: torch.fx.Node, a: Any, b: Any, *, rounding_mode: str | None = "floor"
) -> Lazy:
    scalar = {
        None: s.true_divide,
        "floor": s.floor_divide,
        "trunc": s.trunc_divide,
    }[rounding_mode]
    kind = FLOAT if rounding_mode is None else DEFAULT
    return elementwise(lower, node, scalar, kind, (a, b), lower.examples(node.args))


@lowering("aten.clamp")
def clamp(
    lower: Any, node: torch.fx.Node, a: Any, low: Any = None, high: Any = None, **kwargs: Any
) -> Lazy:
    low, high = kwargs.get("min", low), kwargs.get("max", high)

    def scalar(v: Values, x: Value, *bounds: Value) -> Value:
        rest = list(bounds)
        if low is not None:
            x = s.maximum(v, x, rest.pop(0))
        return s.minimum(v, x, rest.pop(0)) if high is not None else x

    operands = [x for x in (a, low, high) if x is not None]
    given = [x for x in (*node.args, *node.kwargs.values()) if x is not None]
    return elementwise(lower, node, scalar, DEFAULT, operands, lower.examples(given))


@lowering("aten._to_copy", "prims.convert_element_type", "aten.to.dtype")
def to_copy(
    lower: Any, node: torch.fx.Node, x: Lazy, dtype: torch.dtype | None = None, **kwargs: Any
) -> Lazy:
    result = node.meta["val"]
    if result.device != x.device:
        raise LoweringError(f"copies from {x.device} to {result.device}")
    values: Values = lower.values
    if result.dtype not in SUPPORTED:
        raise LoweringError(f"casts to {result.dtype}")

    def at(index: Sequence[Expr]) -> Value:
        value = s.convert(values, x.at(index), held(result.dtype))
        if result.dtype != x.dtype and held(result.dtype) != result.dtype:
            value = values.round_to(value, result.dtype)
        return value

    return Lazy(x.size, result.dtype, x.device, at)


@lowering("aten.clone", "aten.detach", "aten.alias", "aten.lift_fresh_copy", "aten.contiguous")
def clone(lower: Any, node: torch.fx.Node, x: Lazy, **kwargs: Any) -> Lazy:
    # A new tensor for torch; for us the same values, laid out anew if they are wanted in memory.
    keep = str(node.target) in ("aten.detach.default", "aten.alias.default")
    return x if keep else Lazy(x.size, x.dtype, x.device, x.at)
