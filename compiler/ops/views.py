"""Views: the same elements under another index. No data moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import sympy
import torch
from sympy import Expr, Integer

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.nodes import View
from .lazy import Lazy
from .table import lowering

Index = Sequence[Expr]


def _known(e: Any) -> int | None:
    return int(e) if isinstance(e, int) or getattr(e, "is_Integer", False) else None


def reindexed(
    x: Lazy,
    size: Sequence[Expr],
    index: Callable[[Index], Index],
    strided: tuple[Sequence[Expr], Expr] | None = None,
) -> Lazy:
    """x under another index; `strided` gives (stride, offset) when it is a window on memory."""
    view = None
    if x.view is not None and strided is not None:
        view = View(x.view.buffer, tuple(size), tuple(strided[0]), sympy.expand(strided[1]))
    return Lazy(tuple(size), x.dtype, x.device, lambda i: x.at(index(i)), view)


def _stride(x: Lazy) -> tuple[Expr, ...]:
    return x.view.stride if x.view is not None else ()


def _offset(x: Lazy) -> Expr:
    return x.view.offset if x.view is not None else Integer(0)


@lowering("aten.permute", "aten.transpose", "aten.t", "prims.transpose")
def permute(lower: Any, node: torch.fx.Node, x: Lazy, *args: Any) -> Lazy:
    rank = len(x.size)
    name = str(node.target)
    if name.startswith(("aten.permute", "prims.transpose")):
        order = [d % rank for d in args[0]]
    else:
        order = list(range(rank))
        if rank > 1:
            a, b = (0, 1) if name.startswith("aten.t.") else args
            order[a], order[b] = order[b], order[a]

    def index(i: Index) -> Index:
        source: list[Expr] = [Integer(0)] * rank
        for d, o in enumerate(order):
            source[o] = i[d]
        return source

    stride = _stride(x)
    return reindexed(
        x,
        [x.size[o] for o in order],
        index,
        ([stride[o] for o in order], _offset(x)) if stride or not rank else None,
    )


@lowering("aten.expand", "prims.broadcast_in_dim")
def expand(lower: Any, node: torch.fx.Node, x: Lazy, *args: Any, **kwargs: Any) -> Lazy:
    size = lower.size_of(node)
    if str(node.target).startswith("prims."):
        places = list(args[1])
    else:
        places = list(range(len(size) - len(x.size), len(size)))

    def index(i: Index) -> Index:
        return [
            Integer(0) if x.size[d] == 1 and size[p] != 1 else i[p] for d, p in enumerate(places)
        ]

    strided = None
    if x.view is not None:
        stride: list[Expr] = [Integer(0)] * len(size)
        for d, p in enumerate(places):
            stride[p] = Integer(0) if x.size[d] == 1 and size[p] != 1 else x.view.stride[d]
        strided = (stride, x.view.offset)
    return reindexed(x, size, index, strided)


@lowering("aten.unsqueeze", "aten.squeeze", "prims.squeeze")
def squeeze(lower: Any, node: torch.fx.Node, x: Lazy, *args: Any) -> Lazy:
    size = lower.size_of(node)
    if str(node.target).startswith("aten.unsqueeze"):
        at = args[0] % len(size)
        kept = [d for d in range(len(size)) if d != at]
        places: list[int | None] = [None] * len(size)
        for d, p in enumerate(kept):
            places[p] = d
    else:
        kept = _kept_by_squeeze(x, args, len(size))
        places = list(kept)

    def index(i: Index) -> Index:
        source: list[Expr] = [Integer(0)] * len(x.size)
        for position, d in enumerate(places):
            if d is not None:
                source[d] = i[position]
        return source

    strided = None
    if x.view is not None:
        ones = Integer(1)
        stride = [x.view.stride[d] if d is not None else ones for d in places]
        strided = (stride, x.view.offset)
    return reindexed(x, size, index, strided)


def _kept_by_squeeze(x: Lazy, args: tuple, rank: int) -> list[int]:
    if not args:
        named = set(range(len(x.size)))
    else:
        dims = args[0] if isinstance(args[0], (list, tuple)) else [args[0]]
        named = {d % max(len(x.size), 1) for d in dims}
    kept = [d for d, n in enumerate(x.size) if not (d in named and n == 1)]
    if len(kept) != rank:
        raise LoweringError("squeezes a size that isn't known")
    return kept


@lowering(
    "aten.view",
    "aten._unsafe_view",
    "aten.reshape",
    "prims.reshape",
    "aten.view_copy",
    "aten._reshape_alias",
)
def view(lower: Any, node: torch.fx.Node, x: Lazy, *args: Any) -> Lazy:
    if node.meta["val"].dtype != x.dtype:
        raise LoweringError("reads the bytes as another dtype")
    size = lower.size_of(node)
    if size == x.size:
        return x
    pairs = _blocks(x.size, size)

    def index(i: Index) -> Index:
        source: list[Expr] = []
        for old, new in pairs:
            position = ix.flat([i[d] for d in new], ix.contiguous_stride([size[d] for d in new]))
            parts = ix.unflatten(position, [x.size[d] for d in old])
            source.extend(ix.simplify(part, lower.loops) for part in parts)
        return source

    strided = None
    if x.view is not None:
        stride = _reshaped_stride(x.size, x.view.stride, size, pairs)
        if stride is not None:
            strided = (stride, x.view.offset)
    return reindexed(x, size, index, strided)


def _blocks(old: Sequence[Expr], new: Sequence[Expr]) -> list[tuple[list[int], list[int]]]:
    """Groups of dimensions with equal products: the reshape only mixes within a group."""
    pairs: list[tuple[list[int], list[int]]] = []
    a = b = 0
    while a < len(old) or b < len(new):
        left, right = [], []
        product_a: Expr = Integer(1)
        product_b: Expr = Integer(1)
        first = True
        while first or product_a != product_b:
            first = False
            take_left = a < len(old) and (
                b >= len(new) or product_a == product_b or _behind(product_a, product_b)
            )
            if take_left:
                left.append(a)
                product_a = sympy.expand(product_a * old[a])
                a += 1
            elif b < len(new):
                right.append(b)
                product_b = sympy.expand(product_b * new[b])
                b += 1
            else:
                # Sizes that aren't provably equal: one group of everything.
                return [(list(range(len(old))), list(range(len(new))))]
            if product_a == product_b and not right and not left:
                break
        pairs.append((left, right))
    return pairs


def _behind(a: Expr, b: Expr) -> bool:
    if a.is_Integer and b.is_Integer:
        return int(a) < int(b)
    numerator, denominator = (b / a).as_numer_denom()
    return denominator == 1 and numerator != 1


def _reshaped_stride(
    old: Sequence[Expr],
    stride: Sequence[Expr],
    new: Sequence[Expr],
    pairs: list[tuple[list[int], list[int]]],
) -> list[Expr] | None:
    """Strides of the reshaped view; None when it needs a copy."""
    result: list[Expr] = [Integer(1)] * len(new)
    for left, right in pairs:
        solid = [d for d in left if old[d] != 1]
        for d, e in pairwise(solid):
            if sympy.expand(stride[d] - old[e] * stride[e]) != 0:
                return None
        step: Expr = stride[solid[-1]] if solid else Integer(1)
        for d in reversed(right):
            result[d] = step
            step = sympy.expand(step * new[d])
    return result


@lowering("aten.select.int")
def select(lower: Any, node: torch.fx.Node, x: Lazy, dim: int, at: Any) -> Lazy:
    dim %= len(x.size)
    place = ix.expr(at)
    if place.is_Integer and int(place) < 0:
        place = x.size[dim] + place
    elif not place.is_Integer and not place.is_nonnegative:
        raise LoweringError("selects at a place of unknown sign")
    stride = _stride(x)
    return reindexed(
        x,
        [n for d, n in enumerate(x.size) if d != dim],
        lambda i: [*i[:dim], place, *i[dim:]],
        ([t for d, t in enumerate(stride) if d != dim], _offset(x) + place * stride[dim])
        if stride
        else None,
    )


@lowering("aten.slice.Tensor")
def slice_tensor(
    lower: Any,
    node: torch.fx.Node,
    x: Lazy,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
) -> Lazy:
    size = lower.size_of(node)
    dim %= len(size)
    begin = ix.expr(0 if start is None else start)
    length = x.size[dim]
    if begin.is_Integer and int(begin) < 0:
        begin = begin + length
        known = _known(begin)
        if known is not None and known < 0:
            begin = Integer(0)
        elif known is None:
            raise LoweringError("a slice from the end of a size that isn't known")
    if _known(begin) is not None and _known(length) is not None:
        begin = Integer(min(int(begin), int(length)))
    elif begin != 0 and not (
        ix.known_less(begin, length)
        # torch has found out already that it starts within.
        or (step == 1 and sympy.expand(size[dim] - length + begin) == 0)
    ):
        raise LoweringError("a slice that may start beyond the end")
    stride = _stride(x)
    step = ix.expr(step)

    def index(i: Index) -> Index:
        return [begin + i[d] * step if d == dim else i[d] for d in range(len(size))]

    strided = None
    if stride:
        strided = (
            [t * step if d == dim else t for d, t in enumerate(stride)],
            _offset(x) + begin * stride[dim],
        )
    return reindexed(x, size, index, strided)


@lowering("aten.diagonal", "aten.diagonal_copy")
def diagonal(
    lower: Any, node: torch.fx.Node, x: Lazy, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Lazy:
    size = lower.size_of(node)
    rank = len(x.size)
    a, b = dim1 % rank, dim2 % rank
    others = [d for d in range(rank) if d not in (a, b)]
    begin = (Integer(max(-offset, 0)), Integer(max(offset, 0)))

    def index(i: Index) -> Index:
        source: list[Expr] = [Integer(0)] * rank
        for position, d in enumerate(others):
            source[d] = i[position]
        source[a], source[b] = i[-1] + begin[0], i[-1] + begin[1]
        return source

    stride = _stride(x)
    strided = None
    if stride:
        strided = (
            [*(stride[d] for d in others), stride[a] + stride[b]],
            _offset(x) + begin[0] * stride[a] + begin[1] * stride[b],
        )
    return reindexed(x, size, index, strided)


@lowering("aten.split", "aten.split_with_sizes", "aten.unbind", "aten.chunk")
def split(lower: Any, node: torch.fx.Node, x: Lazy, *args: Any, **kwargs: Any) -> tuple[Lazy, ...]:
    dim = kwargs.get("dim", args[-1] if len(args) > 1 else 0)
    unbound = str(node.target).startswith("aten.unbind")
    if unbound:
        dim = args[0] if args else kwargs.get("dim", 0)
    dim %= len(x.size)
    stride = _stride(x)
    parts = []
    begin: Expr = Integer(0)
    for piece in node.meta["val"]:
        size = ix.exprs(piece.shape)
        start = begin

        def index(i: Index, start: Expr = start) -> Index:
            if unbound:
                return [*i[:dim], start, *i[dim:]]
            return [start + i[d] if d == dim else i[d] for d in range(len(i))]

        kept = [t for d, t in enumerate(stride) if not (unbound and d == dim)]
        strided = (kept, _offset(x) + start * stride[dim]) if stride else None
        parts.append(reindexed(x, size, index, strided))
        begin = begin + (Integer(1) if unbound else size[dim])
    return tuple(parts)


@lowering("aten.flip", "prims.rev")
def flip(lower: Any, node: torch.fx.Node, x: Lazy, dims: Sequence[int]) -> Lazy:
    turned = {d % len(x.size) for d in dims} if x.size else set()

    def index(i: Index) -> Index:
        return [x.size[d] - 1 - i[d] if d in turned else i[d] for d in range(len(i))]

    return reindexed(x, x.size, index)


@lowering("aten.unfold")
def unfold(lower: Any, node: torch.fx.Node, x: Lazy, dim: int, length: Any, step: Any) -> Lazy:
    size = lower.size_of(node)
    if not x.size:
        return reindexed(x, size, lambda i: [])
    dim %= len(x.size)
    step = ix.expr(step)

    def index(i: Index) -> Index:
        return [i[d] * step + i[-1] if d == dim else i[d] for d in range(len(x.size))]

    return reindexed(x, size, index)


@lowering("aten.as_strided")
def as_strided(
    lower: Any, node: torch.fx.Node, x: Lazy, size: Any, stride: Any, offset: Any = None
) -> Lazy:
    if x.view is None or not x.view.whole or x.view.offset != 0:
        raise LoweringError("as_strided of a tensor that isn't a whole buffer")
    if x.view.buffer.name.startswith("arg"):
        raise LoweringError("as_strided of an input, whose storage may start elsewhere")
    window = View(x.view.buffer, ix.exprs(size), ix.exprs(stride), ix.expr(offset or 0))
    return lower.lazy(window)
