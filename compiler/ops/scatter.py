"""Writes at places that are data: scatter, index_put, put, into a copy of the tensor.

The copy is a nest of its own; a second one stores into its buffer, in place, by atomic additions
where several elements may meet. Half precision is added up in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from sympy import Expr, Integer

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.values import Value, Values
from . import scalars as s
from .creation import number
from .indexing import along, as_rank, indexed_dims, indexed_point, place
from .lazy import HELD_AS_FLOAT, SUPPORTED, Lazy, broadcast_index, held
from .lowerer import dense_stride
from .table import lowering

ATOMIC = frozenset({torch.float32, torch.float64, torch.int32, torch.int64})
# Where additions to these are made: there are no atomics on them, or they would round each time.
ADDED_AS = {
    **dict.fromkeys(HELD_AS_FLOAT, torch.float32),
    **dict.fromkeys((torch.bool, torch.int8, torch.uint8, torch.int16), torch.int32),
}
Point = Callable[[Sequence[Expr]], Sequence[Expr]]


def scattered(
    lower: Any,
    node: torch.fx.Node,
    x: Lazy,
    size: Sequence[Expr],
    point: Point,
    value: Callable[[Sequence[Expr]], Value],
    mode: str = "set",
) -> Lazy:
    """A copy of x with `value(i)` written to, or added at, `point(i)` for each i below `size`.

    Raises:
        LoweringError: Additions that no atomic instruction does, or whose order is asked for.
    """
    dtype = ADDED_AS.get(x.dtype, x.dtype) if mode == "add" else x.dtype
    if dtype not in SUPPORTED or (mode == "add" and dtype not in ATOMIC):
        raise LoweringError(f"scatters into {dtype}")
    ordered = torch.are_deterministic_algorithms_enabled()
    if ordered and (mode == "set" or dtype.is_floating_point):
        raise LoweringError("deterministic algorithms are asked for")
    values: Values = lower.values
    base = Lazy(x.size, dtype, x.device, lambda i: s.convert(values, x.at(i), held(dtype)))
    view = lower.realize(base, dense_stride(node.meta["val"]))
    lower.scatter(view, size, point, lambda i: s.convert(values, value(i), held(dtype)), mode)
    written = lower.lazy(view)
    if dtype == x.dtype:
        return written
    return Lazy(
        x.size, x.dtype, x.device, lambda i: s.convert(values, written.at(i), held(x.dtype))
    )


@lowering(
    "aten.scatter.src",
    "aten.scatter.value",
    "aten.scatter.reduce",
    "aten.scatter.value_reduce",
    "aten.scatter_add",
)
def scatter(
    lower: Any, node: torch.fx.Node, x: Lazy, dim: int, index: Lazy, src: Any, reduce: str = "set"
) -> Lazy:
    if str(node.target).startswith("aten.scatter_add"):
        reduce = "add"
    if reduce not in ("set", "add"):
        raise LoweringError(f"scatters by {reduce}")
    return _along(lower, node, x, dim, index, src, reduce)


def _along(
    lower: Any, node: torch.fx.Node, x: Lazy, dim: int, index: Lazy, src: Any, mode: str
) -> Lazy:
    def value(i: Sequence[Expr]) -> Value:
        if not isinstance(src, Lazy):
            return number(lower.values, src, held(x.dtype))
        return src.at(as_rank(i, len(src.size)))

    return scattered(
        lower, node, x, index.size, lambda i: along(lower, x, dim, index, i), value, mode
    )


@lowering("aten.scatter_reduce.two")
def scatter_reduce(
    lower: Any,
    node: torch.fx.Node,
    x: Lazy,
    dim: int,
    index: Lazy,
    src: Lazy,
    reduce: str,
    include_self: bool = True,
    **kwargs: Any,
) -> Lazy:
    if reduce != "sum" or not kwargs.get("include_self", include_self):
        raise LoweringError(f"reduces by {reduce}")
    return _along(lower, node, x, dim, index, src, "add")


@lowering("aten.index_put", "aten._unsafe_index_put")
def index_put(
    lower: Any,
    node: torch.fx.Node,
    x: Lazy,
    indices: Sequence[Lazy | None],
    values: Lazy,
    accumulate: bool = False,
) -> Lazy:
    given = [(d, t) for d, t in enumerate(indices) if t is not None]
    if any(t.dtype in (torch.bool, torch.uint8) for _, t in given):
        return _put_by_mask(lower, given, x, values, accumulate)
    begin, indexed = indexed_dims(given), _broadcast([t.size for _, t in given])
    rest = [n for d, n in enumerate(x.size) if d not in dict(given)]
    size = (*rest[:begin], *indexed, *rest[begin:])
    point = indexed_point(lower, x, given, begin, indexed)

    def value(i: Sequence[Expr]) -> Value:
        return values.at(broadcast_index(values.size, i, size))

    return scattered(lower, node, x, size, point, value, "add" if accumulate else "set")


def _broadcast(sizes: Sequence[Sequence[Expr]]) -> tuple[Expr, ...]:
    result: list[Expr] = []
    for size in sizes:
        for k, n in enumerate(reversed(size)):
            if k == len(result):
                result.append(n)
            elif result[k] == 1:
                result[k] = n
    return tuple(reversed(result))


def _put_by_mask(
    lower: Any, given: Sequence[tuple[int, Lazy]], x: Lazy, new: Lazy, accumulate: bool
) -> Lazy:
    """x where the mask is false, elsewhere a value that is the same for every place chosen."""
    if len(given) != 1:
        raise LoweringError("writes by several masks")
    first, mask = given[0]
    rank = len(mask.size)
    behind = len(x.size) - first - rank
    # Values are (…before, chosen, behind…): with one element for all chosen, nothing is compacted.
    if len(new.size) > behind and new.size[len(new.size) - behind - 1] != 1:
        raise LoweringError("writes one by one where a mask is true")
    values: Values = lower.values

    def at(i: Sequence[Expr]) -> Value:
        chosen = s.truth(values, mask.at(i[first : first + rank]))
        full = [*i[:first], Integer(0), *i[first + rank :]]
        inside = full[len(full) - len(new.size) :]
        value = new.at([Integer(0) if n == 1 else j for n, j in zip(new.size, inside)])
        value = values.cast(value, held(x.dtype))
        if accumulate:
            value = s.add(values, x.at(i), value)
        return values.where(chosen, value, x.at(i))

    return Lazy(x.size, x.dtype, x.device, at)


@lowering("aten.put")
def put(
    lower: Any, node: torch.fx.Node, x: Lazy, index: Lazy, source: Lazy, accumulate: bool = False
) -> Lazy:
    length = ix.product(x.size)

    def point(i: Sequence[Expr]) -> Sequence[Expr]:
        return ix.unflatten(place(lower, index.at(i), length), x.size)

    def value(i: Sequence[Expr]) -> Value:
        if source.size == index.size:
            return source.at(i)
        flat = ix.flat(i, ix.contiguous_stride(index.size))
        return source.at([ix.simplify(p, lower.loops) for p in ix.unflatten(flat, source.size)])

    mode = "add" if accumulate else "set"
    return scattered(lower, node, x, index.size, point, value, mode)


@lowering("aten.diagonal_scatter")
def diagonal_scatter(
    lower: Any,
    node: torch.fx.Node,
    x: Lazy,
    src: Lazy,
    offset: int = 0,
    dim1: int = 0,
    dim2: int = 1,
) -> Lazy:
    rank = len(x.size)
    a, b = dim1 % rank, dim2 % rank
    values: Values = lower.values

    def at(i: Sequence[Expr]) -> Value:
        along = i[a] if offset >= 0 else i[a] + offset
        on = values.call("eq", values.index(i[b] - i[a]), values.index(Integer(offset)))
        others = [j for d, j in enumerate(i) if d not in (a, b)]
        with values.masked(on):
            new = src.at([*others, along])
        return values.where(on, values.cast(new, held(x.dtype)), x.at(i))

    return Lazy(x.size, x.dtype, x.device, at)
