"""Cumulative sums and products along a dimension."""

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


@lowering("aten.cumsum", "aten.cumprod")
def cumulative(lower: Any, node: torch.fx.Node, x: Lazy, dim: int, **kwargs: Any) -> Lazy:
    result = node.meta["val"]
    values: Values = lower.values
    if x.dtype not in SUPPORTED or result.dtype not in SUPPORTED:
        raise LoweringError(f"scans {x.dtype}")
    if not x.size:
        return Lazy(
            x.size, result.dtype, x.device, lambda i: s.convert(values, x.at(i), held(result.dtype))
        )
    dim %= len(x.size)
    length = x.size[dim]
    if not length.is_Integer or int(length) > LONGEST:
        raise LoweringError(f"scans more than {LONGEST} elements, or an unknown number")
    kind = "sum" if str(node.target).startswith("aten.cumsum") else "prod"

    def value(point: Sequence[Expr], inner: Symbol | None) -> Value:
        element = s.convert(values, x.at(point), held(result.dtype))
        if inner is None:  # one element only
            return element
        return values.make("scan", (element,), (kind, inner), element.dtype)

    return lower.scan(x, dim, value, result.dtype, ix.exprs(result.stride()))
