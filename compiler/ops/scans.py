"""Running sums, products, extremes and log-sums along a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sympy import Expr, Symbol

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.values import Value, Values
from . import scalars as s
from .lazy import SUPPORTED, Lazy, held
from .table import lowering

LONGEST = 4096  # what one program holds in registers


@lowering("aten.cumsum", "aten.cumprod", "aten.logcumsumexp")
def cumulative(lower: Any, node: torch.fx.Node, x: Lazy, dim: int, **kwargs: Any) -> Lazy:
    name = str(node.target).split(".")[1]
    kind = {"cumsum": "sum", "cumprod": "prod", "logcumsumexp": "logsumexp"}[name]
    return scanned(lower, kind, x, dim, node.meta["val"])


@lowering("aten.cummax", "aten.cummin")
def cumulative_extreme(lower: Any, node: torch.fx.Node, x: Lazy, dim: int) -> tuple[Lazy, Lazy]:
    kind = "max" if str(node.target).startswith("aten.cummax") else "min"
    best, places = node.meta["val"]
    return (
        scanned(lower, kind, x, dim, best),
        scanned(lower, f"arg{kind}", x, dim, places),
    )


def scanned(lower: Any, kind: str, x: Lazy, dim: int, result: torch.Tensor) -> Lazy:
    """x scanned along `dim`.

    Args:
        kind: "sum", "prod", "logsumexp", "max", "min", or "argmax", "argmin": where the extreme so
            far is, the last among equals.
        result: What torch gives, for its dtype and strides.
    """
    values: Values = lower.values
    if x.dtype not in SUPPORTED or result.dtype not in SUPPORTED:
        raise LoweringError(f"scans {x.dtype}")
    places = kind.startswith("arg")
    dtype = x.dtype if places else result.dtype

    def alone(point: Sequence[Expr]) -> Value:
        if places:
            return values.const(0, torch.int64)
        return s.convert(values, x.at(point), held(dtype))

    if not x.size:
        return Lazy(x.size, result.dtype, x.device, alone)
    dim %= len(x.size)
    length = x.size[dim]
    if not length.is_Integer or int(length) > LONGEST:
        raise LoweringError(f"scans more than {LONGEST} elements, or an unknown number")

    def value(point: Sequence[Expr], inner: Symbol | None) -> Value:
        if inner is None:  # one element only
            return alone(point)
        element = s.convert(values, x.at(point), held(dtype))
        if kind == "logsumexp":  # as ATen does: what is a rounding here is a factor of its exp
            element = values.cast(element, torch.float64)
        if element.dtype == torch.bool:
            element = values.cast(element, torch.int32)
        operands = (element, values.index(inner)) if places else (element,)
        scan = values.make("scan", operands, (kind, inner), operands[-1].dtype)
        return values.cast(scan, held(result.dtype))

    return lower.scan(x, dim, value, result.dtype, ix.exprs(result.stride()))
