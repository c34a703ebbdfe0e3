"""Reads at places that are data: gather, index, embedding, index_select."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from sympy import Expr, Integer

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.values import Value, Values
from .lazy import SUPPORTED, Lazy, broadcast_index
from .table import lowering


def place(lower: Any, index: Value, length: Expr, wrap: bool = True) -> Expr:
    """An index value as an expression: from the end if negative."""
    values: Values = lower.values
    index = values.cast(index, torch.int64)
    if index.op == "index":
        return index.attrs[0]
    if index.op == "const":
        number = index.attrs[0]
        return Integer(number) + (length if number < 0 else 0)
    if wrap:
        negative = values.call("lt", index, values.const(0, torch.int64))
        from_end = values.call("add", index, values.index(length))
        index = values.where(negative, from_end, index)
    return values.indirect(values.make("bounded", (index, values.index(length)), (), torch.int64))


def _check(*tensors: Lazy) -> None:
    for t in tensors:
        if t.dtype not in SUPPORTED:
            raise LoweringError(f"indexes {t.dtype}")


def as_rank(i: Sequence[Expr], rank: int) -> Sequence[Expr]:
    """An index of a 0-dim tensor as one of a tensor with one element, and back."""
    return [*i, *[Integer(0)] * (rank - len(i))][:rank]


def along(lower: Any, x: Lazy, dim: int, index: Lazy, i: Sequence[Expr]) -> list[Expr]:
    """The index into x: i, but in `dim` what `index` says there."""
    if not x.size:
        return []
    dim %= len(x.size)
    p = place(lower, index.at(i), x.size[dim], wrap=False)
    return [p if d == dim else j for d, j in enumerate(as_rank(i, len(x.size)))]


@lowering("aten.gather")
def gather(lower: Any, node: torch.fx.Node, x: Lazy, dim: int, index: Lazy, **kwargs: Any) -> Lazy:
    _check(x, index)
    return Lazy(index.size, x.dtype, x.device, lambda i: x.at(along(lower, x, dim, index, i)))


@lowering("aten.index_select")
def index_select(lower: Any, node: torch.fx.Node, x: Lazy, dim: int, index: Lazy) -> Lazy:
    _check(x, index)
    dim %= max(len(x.size), 1)

    def at(i: Sequence[Expr]) -> Value:
        if not x.size:
            return x.at([])
        p = place(lower, index.at(as_rank(i[dim : dim + 1], len(index.size))), x.size[dim], False)
        return x.at([p if d == dim else j for d, j in enumerate(i)])

    return Lazy(lower.size_of(node), x.dtype, x.device, at)


@lowering("aten.take")
def take(lower: Any, node: torch.fx.Node, x: Lazy, index: Lazy) -> Lazy:
    _check(x, index)
    length = ix.product(x.size)
    if length == 0:
        raise LoweringError("takes from an empty tensor")

    def at(i: Sequence[Expr]) -> Value:
        return x.at(ix.unflatten(place(lower, index.at(i), length), x.size))

    return Lazy(index.size, x.dtype, x.device, at)


@lowering("aten.embedding")
def embedding(
    lower: Any, node: torch.fx.Node, weight: Lazy, index: Lazy, *args: Any, **kwargs: Any
) -> Lazy:
    _check(weight, index)
    rank = len(index.size)

    def at(i: Sequence[Expr]) -> Value:
        row = place(lower, index.at(i[:rank]), weight.size[0], wrap=False)
        return weight.at([row, *i[rank:]])

    return Lazy(lower.size_of(node), weight.dtype, weight.device, at)


@lowering("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index_tensor(lower: Any, node: torch.fx.Node, x: Lazy, indices: Sequence[Lazy | None]) -> Lazy:
    given = [(d, t) for d, t in enumerate(indices) if t is not None]
    _check(x, *(t for _, t in given))
    if any(t.dtype in (torch.bool, torch.uint8) for _, t in given):
        raise LoweringError("indexes by a mask")
    size = lower.size_of(node)
    begin, rank = indexed_dims(given), max(len(t.size) for _, t in given)
    point = indexed_point(lower, x, given, begin, size[begin : begin + rank])
    return Lazy(size, x.dtype, x.device, lambda i: x.at(point(i)))


def indexed_dims(given: Sequence[tuple[int, Lazy]]) -> int:
    """Where the indices' dimensions stand in the result: in place if side by side, else first."""
    dims = [d for d, _ in given]
    return dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0


def indexed_point(
    lower: Any,
    x: Lazy,
    given: Sequence[tuple[int, Lazy]],
    begin: int,
    indexed: Sequence[Expr],
) -> Callable[[Sequence[Expr]], list[Expr]]:
    """From an index of the result to the index into x, whose dimensions in `given` are indexed.

    Args:
        begin, indexed: Where the indices' dimensions stand in the result, and their sizes.
    """
    rank, by_dim = len(indexed), dict(given)

    def point(i: Sequence[Expr]) -> list[Expr]:
        inner = i[begin : begin + rank]
        rest = iter([*i[:begin], *i[begin + rank :]])
        found = []
        for d, length in enumerate(x.size):
            t = by_dim.get(d)
            if t is None:
                found.append(next(rest))
            else:
                at = t.at(broadcast_index(t.size, inner, indexed))
                found.append(place(lower, at, length))
        return found

    return point
