"""Tensors made of numbers: full, arange, empty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from sympy import Expr

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.values import Value, Values
from . import scalars as s
from .lazy import SUPPORTED, Lazy, held
from .table import lowering


def number(values: Values, x: Any, dtype: torch.dtype) -> Value:
    """A number or a size expression as a value of a dtype."""
    if isinstance(x, Expr):
        if not x.is_integer:
            raise LoweringError(f"a fraction that isn't known: {x}")
        return s.convert(values, values.index(x), dtype)
    if isinstance(x, complex):
        raise LoweringError("a complex number")
    if not dtype.is_floating_point and isinstance(x, float):
        if not math.isfinite(x) and dtype != torch.bool:
            raise LoweringError(f"{x} as {dtype}")
        x = int(x) if dtype != torch.bool else bool(x)
    return values.const(x, dtype)


@lowering(
    "aten.full",
    "aten.full_like",
    "aten.new_full",
    "aten.scalar_tensor",
    "aten.fill.Scalar",
    "aten.zeros",
    "aten.ones",
    "aten.zeros_like",
    "aten.ones_like",
    "aten.new_zeros",
    "aten.new_ones",
    "aten.empty.memory_format",
    "aten.empty_like",
    "aten.new_empty",
    "aten.empty_strided",
    "aten.new_empty_strided",
    "aten.empty_permuted",
)
def full(lower: Any, node: torch.fx.Node, *args: Any, **kwargs: Any) -> Lazy:
    result = node.meta["val"]
    if result.dtype not in SUPPORTED:
        raise LoweringError(f"makes {result.dtype}")
    name = str(node.target).split(".")[1]
    if name == "scalar_tensor":
        fill = args[0]
    elif name in ("full", "full_like", "fill"):
        fill = args[1] if len(args) > 1 else kwargs["fill_value"]
    elif name == "new_full":
        fill = args[2] if len(args) > 2 else kwargs["fill_value"]
    else:
        # What empty holds is anyone's guess; zeros are a fine guess.
        fill = 1 if "ones" in name else 0
    size = lower.size_of(node)
    if 0 in size:
        fill = 0  # a fill that the dtype can't hold fills nothing
    value = number(lower.values, fill, held(result.dtype))
    if held(result.dtype) != result.dtype and value.op == "const":
        rounded = torch.tensor(value.attrs[0], dtype=result.dtype).item()
        value = lower.values.const(rounded, value.dtype)
    return Lazy(size, result.dtype, result.device, lambda i: value)


@lowering("prims.iota", "aten.arange.start_step", "aten.arange.default", "aten.arange.start")
def iota(lower: Any, node: torch.fx.Node, *args: Any, **kwargs: Any) -> Lazy:
    result = node.meta["val"]
    values: Values = lower.values
    if str(node.target).startswith("prims"):
        start, step = kwargs["start"], kwargs["step"]
    elif len(args) == 1:
        start, step = 0, 1
    else:
        start, step = args[0], args[2] if len(args) > 2 else 1
    if result.dtype not in SUPPORTED:
        raise LoweringError(f"makes {result.dtype}")

    def at(index: Sequence[Expr]) -> Value:
        if result.dtype.is_floating_point:
            computed = torch.float64 if result.dtype == torch.float64 else torch.float32
            first, by = number(values, start, computed), number(values, step, computed)
            place = values.cast(values.index(index[0]), computed)
            return values.cast(
                values.call("add", first, values.call("mul", place, by)), held(result.dtype)
            )
        if isinstance(start, float) or isinstance(step, float):
            raise LoweringError("whole numbers from a range of fractions")
        return values.cast(values.index(ix.expr(start) + ix.expr(step) * index[0]), result.dtype)

    return Lazy(lower.size_of(node), result.dtype, result.device, at)
