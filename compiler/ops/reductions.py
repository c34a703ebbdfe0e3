"""Reductions: a value for each outer index from all values along some dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from sympy import Expr, Integer

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.values import Value, Values
from . import scalars as s
from .lazy import SUPPORTED, Lazy, held, reduced_size
from .table import lowering

Prepare = Callable[[Values, Value], Value]


def reduced_dims(x: Lazy, dims: Any) -> tuple[int, ...]:
    """The reduced dimensions, sorted; all of them for None or ()."""
    rank = len(x.size)
    if dims is None:
        return tuple(range(rank))
    given = list(dims) if isinstance(dims, (list, tuple)) else [dims]
    if not given:
        return tuple(range(rank))
    return tuple(sorted({d % rank for d in given})) if rank else ()


def reduce(
    lower: Any,
    node: torch.fx.Node,
    kind: str,
    x: Lazy,
    dims: Sequence[int],
    keepdim: bool,
    dtype: torch.dtype,
    prepare: Prepare | None = None,
    finish: Prepare | None = None,
    example: Any = None,
) -> Lazy:
    """Reduce x over `dims`.

    Args:
        kind: "sum", "prod", "max", "min", "any", "all", "argmax" or "argmin".
        example: Has the result's strides; None for the node's own result.
        dtype: The result's dtype; values are cast to it (held) before, except for arg reductions.
        prepare, finish: Applied to each value before, and to the reduced value.
    """
    if x.dtype not in SUPPORTED or dtype not in SUPPORTED:
        raise LoweringError(f"reduces {x.dtype} to {dtype}")
    values: Values = lower.values
    example = node.meta["val"] if example is None else example

    def value(point: Sequence[Expr], marks: tuple) -> Value:
        element = x.at(point)
        if prepare is not None:
            element = prepare(values, element)
        if kind in ("argmax", "argmin"):
            if element.dtype == torch.bool:
                element = values.cast(element, torch.int32)
            inner = [point[d] for d in dims]
            place = ix.flat(inner, ix.contiguous_stride([x.size[d] for d in dims]))
            operands = (element, values.index(place))
        else:
            if kind in ("any", "all"):
                element = s.truth(values, element)
            else:
                element = s.convert(values, element, held(dtype))
            operands = (element,)
        if not marks:  # every reduced dimension has size 1
            return operands[-1] if kind in ("argmax", "argmin") else operands[0]
        return values.make("reduce", operands, (kind, marks), _result(kind, operands))

    def finished(result: Value) -> Value:
        result = finish(values, result) if finish is not None else result
        return values.cast(result, held(dtype))

    return lower.reduction(
        x.size, dims, keepdim, value, finished, kind, dtype, x.device, ix.exprs(example.stride())
    )


def _result(kind: str, operands: tuple[Value, ...]) -> torch.dtype:
    if kind in ("any", "all"):
        return torch.bool
    return operands[-1].dtype


def count(x: Lazy, dims: Sequence[int]) -> Expr:
    return sympy.Mul(*(x.size[d] for d in dims))


@lowering("aten.sum", "prims.sum")
def total(
    lower: Any, node: torch.fx.Node, x: Lazy, dims: Any = None, keepdim: bool = False, **kwargs: Any
) -> Lazy:
    dtype = node.meta["val"].dtype
    return reduce(lower, node, "sum", x, reduced_dims(x, dims), keepdim, dtype)


@lowering("aten.prod.default", "aten.prod.dim_int")
def prod(
    lower: Any, node: torch.fx.Node, x: Lazy, dims: Any = None, keepdim: bool = False, **kwargs: Any
) -> Lazy:
    dtype = node.meta["val"].dtype
    return reduce(lower, node, "prod", x, reduced_dims(x, dims), keepdim, dtype)


@lowering("aten.mean")
def mean(
    lower: Any, node: torch.fx.Node, x: Lazy, dims: Any = None, keepdim: bool = False, **kwargs: Any
) -> Lazy:
    dims = reduced_dims(x, dims)
    dtype = node.meta["val"].dtype

    def finish(v: Values, a: Value) -> Value:
        return v.call("div", a, v.cast(v.index(count(x, dims)), a.dtype))

    return reduce(lower, node, "sum", x, dims, keepdim, dtype, finish=finish)


@lowering("aten.amax", "aten.amin")
def extreme(
    lower: Any, node: torch.fx.Node, x: Lazy, dims: Any = (), keepdim: bool = False
) -> Lazy:
    kind = "max" if str(node.target).startswith("aten.amax") else "min"
    return _extreme(lower, node, kind, x, reduced_dims(x, dims), keepdim, node.meta["val"])


def _extreme(
    lower: Any, node: torch.fx.Node, kind: str, x: Lazy, dims: Any, keepdim: bool, example: Any
) -> Lazy:
    if x.dtype == torch.bool:
        kind = "any" if kind == "max" else "all"
    return reduce(lower, node, kind, x, dims, keepdim, x.dtype, example=example)


@lowering("aten.max.default", "aten.min.default")
def extreme_of_all(lower: Any, node: torch.fx.Node, x: Lazy) -> Lazy:
    kind = "max" if str(node.target).startswith("aten.max") else "min"
    dims = tuple(range(len(x.size)))
    return _extreme(lower, node, kind, x, dims, False, node.meta["val"])


@lowering("aten.max.dim", "aten.min.dim")
def extreme_and_place(
    lower: Any, node: torch.fx.Node, x: Lazy, dim: int, keepdim: bool = False
) -> tuple[Lazy, Lazy]:
    kind = "max" if str(node.target).startswith("aten.max") else "min"
    dims = reduced_dims(x, dim)
    best, place = node.meta["val"]
    return (
        _extreme(lower, node, kind, x, dims, keepdim, best),
        reduce(lower, node, f"arg{kind}", x, dims, keepdim, torch.int64, example=place),
    )


@lowering("aten.argmax", "aten.argmin")
def place_of_extreme(
    lower: Any, node: torch.fx.Node, x: Lazy, dim: int | None = None, keepdim: bool = False
) -> Lazy:
    kind = "argmax" if str(node.target).startswith("aten.argmax") else "argmin"
    return reduce(lower, node, kind, x, reduced_dims(x, dim), keepdim, torch.int64)


@lowering("aten.any", "aten.all")
def some_or_every(
    lower: Any, node: torch.fx.Node, x: Lazy, dims: Any = None, keepdim: bool = False
) -> Lazy:
    kind = "any" if str(node.target).startswith("aten.any") else "all"
    dtype = node.meta["val"].dtype
    return reduce(lower, node, kind, x, reduced_dims(x, dims), keepdim, dtype)


@lowering("aten.var.correction", "aten.var_mean.correction", "prims.var")
def var(
    lower: Any,
    node: torch.fx.Node,
    x: Lazy,
    dims: Any = None,
    correction: Any = None,
    keepdim: bool = False,
    **kwargs: Any,
) -> Lazy | tuple[Lazy, Lazy]:
    both = str(node.target).startswith("aten.var_mean")
    dims = reduced_dims(x, dims)
    if x.dtype not in SUPPORTED or not x.dtype.is_floating_point:
        raise LoweringError(f"var of {x.dtype}")
    example = node.meta["val"][0] if both else node.meta["val"]
    correction = 1 if correction is None else correction
    n = count(x, dims)
    values: Values = lower.values
    computed = held(x.dtype)

    def of_count(v: Values, a: Value) -> Value:
        return v.call("div", a, v.cast(v.index(n), a.dtype))

    # Two passes, as the meaning has it: the mean first. Fused, both read the input once.
    middle = reduce(
        lower, node, "sum", x, dims, True, computed, finish=of_count, example=Kept(x, dims)
    )

    def squared(index: Sequence[Expr]) -> Value:
        m = middle.at([Integer(0) if d in dims else i for d, i in enumerate(index)])
        delta = values.call("sub", values.cast(x.at(index), computed), m)
        return values.call("mul", delta, delta)

    deviation = Lazy(x.size, computed, x.device, squared)

    def corrected(v: Values, a: Value) -> Value:
        if n.is_Integer:  # the number itself in the kernel: dividing by it may cost nothing
            return v.call("div", a, v.const(max(float(n) - float(correction), 0.0), a.dtype))
        degrees = v.call("sub", v.cast(v.index(n), a.dtype), v.const(float(correction), a.dtype))
        return v.call("div", a, s.maximum(v, degrees, v.const(0, a.dtype)))

    variance = reduce(
        lower,
        node,
        "sum",
        deviation,
        dims,
        keepdim,
        example.dtype,
        finish=corrected,
        example=example,
    )
    if not both:
        return variance
    kept = reduced_size(x.size, dims, keepdim)
    places = [d for d in range(len(x.size)) if keepdim or d not in dims]

    def mean_at(index: Sequence[Expr]) -> Value:
        point: list[Expr] = [Integer(0)] * len(x.size)
        for position, d in enumerate(places):
            point[d] = Integer(0) if d in dims else index[position]
        return middle.at(point)

    return variance, Lazy(kept, example.dtype, x.device, mean_at)


class Kept:
    """Stands for the fake tensor of a contiguous result with the reduced dimensions kept."""

    def __init__(self, x: Lazy, dims: Sequence[int]) -> None:
        self._size = [Integer(1) if d in dims else n for d, n in enumerate(x.size)]

    def stride(self) -> tuple[Expr, ...]:
        return ix.contiguous_stride(self._size)
