"""Pooling: a value for each window of an image, from the elements in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from sympy import Expr, Integer

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.values import Value, Values
from . import scalars as s
from .lazy import SUPPORTED, Lazy, held
from .table import lowering

LARGEST = 64  # elements of a window; each is spelt out in the kernel


@dataclass(frozen=True, slots=True)
class Windows:
    """Where windows lie along each spatial dimension.

    Attributes:
        kernel, stride, padding, dilation: One number for each spatial dimension.
        size: Of the image.
        count: How many windows.
        ragged: The last window may reach beyond the padding (`ceil_mode`).
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    size: tuple[Expr, ...]
    count: tuple[Expr, ...]
    ragged: bool

    @property
    def offsets(self) -> list[tuple[int, ...]]:
        return list(product(*(range(k) for k in self.kernel)))

    def element(self, window: Sequence[Expr], offset: Sequence[int]) -> list[Expr]:
        """The place in the image of an element of a window; it may lie outside."""
        return [
            w * t + k * e - p
            for w, t, k, e, p in zip(window, self.stride, offset, self.dilation, self.padding)
        ]

    def inside(self, values: Values, place: Sequence[Expr], beyond: bool = False) -> Value | None:
        """Whether a place is in the image (`beyond`: or in its padding); None where it must be."""
        whole: Value | None = None
        for p, n, pad in zip(place, self.size, self.padding):
            tests = []
            if pad and not beyond:
                tests.append(values.call("ge", values.index(p), values.const(0, torch.int64)))
            if self.ragged or (pad and not beyond):
                end = n + pad if beyond else n
                tests.append(values.call("lt", values.index(p), values.index(end)))
            for test in tests:
                whole = test if whole is None else values.call("logical_and", whole, test)
        return whole


def windows(
    image: Sequence[Expr],
    count: Sequence[Expr],
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ragged: bool,
    rank: int,
) -> Windows:
    def each(given: Any) -> tuple[int, ...]:
        numbers = list(given) if isinstance(given, (list, tuple)) else [given]
        if not all(isinstance(n, int) for n in numbers):
            raise LoweringError("windows of a size that isn't known")
        return tuple(numbers * rank if len(numbers) == 1 else numbers)

    made = Windows(
        each(kernel),
        each(stride or kernel),
        each(padding),
        each(dilation),
        tuple(image[-rank:]),
        tuple(count[-rank:]),
        ragged,
    )
    if len(made.offsets) > LARGEST:
        raise LoweringError(f"windows of more than {LARGEST} elements")
    return made


def read(values: Values, x: Lazy, index: Sequence[Expr], inside: Value | None) -> Value:
    """x at an index that lies inside if `inside` holds, else any number."""
    if inside is None:
        return x.at(index)
    with values.masked(inside):
        return x.at(index)


@lowering("aten.max_pool2d_with_indices", "aten.max_pool3d_with_indices")
def max_pool(
    lower: Any,
    node: torch.fx.Node,
    x: Lazy,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Lazy, Lazy]:
    rank = 2 if "max_pool2d" in str(node.target) else 3
    best, places = node.meta["val"]
    if x.dtype not in SUPPORTED or x.dtype == torch.bool:
        raise LoweringError(f"pools {x.dtype}")
    size = ix.exprs(best.shape)
    w = windows(x.size, size, kernel, stride, padding, dilation, ceil_mode, rank)
    values: Values = lower.values
    lowest = values.const(s.identity("max", x.dtype), held(x.dtype))

    def at(i: Sequence[Expr]) -> tuple[Value, Value]:
        best, where = lowest, values.const(-1, torch.int64)
        for offset in w.offsets:
            place = w.element(i[-rank:], offset)
            inside = w.inside(values, place)
            element = read(values, x, [*i[:-rank], *place], inside)
            # The first one counts even if it is the lowest number there is; NaN always.
            take = values.call("lt", where, values.const(0, torch.int64))
            take = values.call("logical_or", take, values.call("gt", element, best))
            take = values.call("logical_or", take, s.isnan(values, element))
            if inside is not None:
                take = values.call("logical_and", take, inside)
            here = values.index(ix.flat(place, ix.contiguous_stride(w.size)))
            best, where = values.where(take, element, best), values.where(take, here, where)
        return best, where

    return (
        Lazy(size, x.dtype, x.device, lambda i: at(i)[0]),
        Lazy(size, places.dtype, x.device, lambda i: at(i)[1]),
    )


def _area(
    values: Values, w: Windows, window: Sequence[Expr], padded: bool, override: int | None
) -> Value:
    """What the sum over a window is divided by."""
    if override is not None:
        return values.const(override, torch.int64)
    area: Value = values.const(1, torch.int64)
    for d, kernel in enumerate(w.kernel):
        along = Windows(
            (kernel,),
            w.stride[d : d + 1],
            w.padding[d : d + 1],
            w.dilation[d : d + 1],
            w.size[d : d + 1],
            w.count[d : d + 1],
            w.ragged,
        )
        count: Value = values.const(0, torch.int64)
        for k in range(kernel):
            test = along.inside(values, along.element([window[d]], [k]), beyond=padded)
            one = values.const(1, torch.int64)
            count = values.call(
                "add", count, one if test is None else values.cast(test, torch.int64)
            )
        area = values.call("mul", area, count)
    return area


@lowering("aten.avg_pool2d", "aten.avg_pool3d")
def avg_pool(
    lower: Any,
    node: torch.fx.Node,
    x: Lazy,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Lazy:
    rank = 2 if "avg_pool2d" in str(node.target) else 3
    if x.dtype not in SUPPORTED or x.dtype == torch.bool:
        raise LoweringError(f"pools {x.dtype}")
    size = lower.size_of(node)
    w = windows(x.size, size, kernel, stride, padding, 1, ceil_mode, rank)
    values: Values = lower.values

    def at(i: Sequence[Expr]) -> Value:
        window = i[-rank:]
        total = values.const(0, held(x.dtype))
        for offset in w.offsets:
            place = w.element(window, offset)
            inside = w.inside(values, place)
            element = read(values, x, [*i[:-rank], *place], inside)
            total = values.call("add", total, _or_zero(values, inside, element))
        area = _area(values, w, window, count_include_pad, divisor_override)
        return s.divide_as_kept(values, total, values.cast(area, held(x.dtype)))

    return Lazy(size, x.dtype, x.device, at)


def _or_zero(values: Values, inside: Value | None, element: Value) -> Value:
    if inside is None:
        return element
    return values.where(inside, element, values.const(0, element.dtype))


def _quotient(lower: Any, e: Expr, by: int) -> Expr:
    quotient: Expr = ix.Div(e, Integer(by))  # type: ignore[assignment]
    return ix.simplify(quotient, lower.loops)


@lowering("aten.avg_pool2d_backward", "aten.avg_pool3d_backward")
def avg_pool_backward(
    lower: Any,
    node: torch.fx.Node,
    grad: Lazy,
    x: Lazy,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Lazy:
    rank = 2 if "avg_pool2d" in str(node.target) else 3
    w = windows(x.size, grad.size, kernel, stride, padding, 1, ceil_mode, rank)
    values: Values = lower.values
    # Windows that reach an element begin at most a kernel's width before it.
    steps = [range(-(-k // t)) for k, t in zip(w.kernel, w.stride)]

    def at(i: Sequence[Expr]) -> Value:
        total = values.const(0, held(x.dtype))
        for back in product(*steps):
            inside: Value | None = None
            window = []
            for d, p in enumerate(i[-rank:]):
                last = _quotient(lower, p + w.padding[d], w.stride[d])
                o = last - back[d]
                window.append(o)
                end = o * w.stride[d] - w.padding[d] + w.kernel[d]
                for test in (
                    values.call("ge", values.index(o), values.const(0, torch.int64)),
                    values.call("lt", values.index(o), values.index(w.count[d])),
                    values.call("lt", values.index(p), values.index(end)),
                ):
                    inside = test if inside is None else values.call("logical_and", inside, test)
            element = read(values, grad, [*i[:-rank], *window], inside)
            area = _area(values, w, window, count_include_pad, divisor_override)
            share = values.call("div", element, values.cast(area, held(x.dtype)))
            total = values.call("add", total, _or_zero(values, inside, share))
        return total

    return Lazy(x.size, x.dtype, x.device, at)


@lowering("aten._adaptive_avg_pool2d_backward", "aten._adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(lower: Any, node: torch.fx.Node, grad: Lazy, x: Lazy) -> Lazy:
    rank = 2 if "pool2d" in str(node.target) else 3
    if not ix.is_static((*grad.size[-rank:], *x.size[-rank:])):
        raise LoweringError("adaptive windows of a size that isn't known")
    counts = [int(n) for n in grad.size[-rank:]]
    sizes = [int(n) for n in x.size[-rank:]]
    values: Values = lower.values
    # Window o is [o·n // c, ceil((o + 1)·n / c)); the first that holds element i is i·c // n.
    steps = [range(-(-c // n) + 1) for c, n in zip(counts, sizes)]

    def at(i: Sequence[Expr]) -> Value:
        total = values.const(0, held(x.dtype))
        for ahead in product(*steps):
            inside = values.const(True, torch.bool)
            area = values.const(1, torch.int64)
            window = []
            for p, c, n, step in zip(i[-rank:], counts, sizes, ahead):
                o = _quotient(lower, p * c, n) + step
                begin = _quotient(lower, o * n, c)
                end = _quotient(lower, (o + 1) * n + c - 1, c)
                window.append(o)
                for test in (
                    values.call("lt", values.index(o), values.index(Integer(c))),
                    values.call("le", values.index(begin), values.index(p)),
                    values.call("lt", values.index(p), values.index(end)),
                ):
                    inside = values.call("logical_and", inside, test)
                area = values.call("mul", area, values.index(end - begin))
            element = read(values, grad, [*i[:-rank], *window], inside)
            share = values.call("div", element, values.cast(area, held(x.dtype)))
            total = values.call("add", total, _or_zero(values, inside, share))
        return total

    return Lazy(x.size, x.dtype, x.device, at)
