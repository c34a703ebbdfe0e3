"""Operators that read one of several tensors, or none, depending on the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sympy import Expr, Integer

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.values import Value, Values
from .creation import number
from .lazy import Lazy, held
from .table import lowering


def between(values: Values, i: Expr, low: Expr, high: Expr, size: Expr) -> Value | None:
    """low <= i < high as a value; None when that always holds for an index below `size`."""
    tests = []
    if low != 0:
        tests.append(values.call("ge", values.index(i), values.index(low)))
    if high != size:
        tests.append(values.call("lt", values.index(i), values.index(high)))
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else values.call("logical_and", *tests)


@lowering("aten.cat")
def cat(lower: Any, node: torch.fx.Node, tensors: Sequence[Lazy], dim: int = 0) -> Lazy:
    window = lower.homes.joined(lower, node, tensors)
    if window is not None:
        return window
    result = node.meta["val"]
    values: Values = lower.values
    size = lower.size_of(node)
    dim %= max(len(size), 1)
    # A legacy of torch: empty 1-d tensors are left out, whatever the rank of the others.
    parts = [t for t in tensors if not (len(t.size) == 1 and t.size[0] == 0 and len(size) != 1)]
    if len(parts) > 16:
        raise LoweringError("joins more than 16 tensors")

    def at(index: Sequence[Expr]) -> Value:
        chosen: Value | None = None
        end = size[dim]
        for part in reversed(parts):
            begin = end - part.size[dim]
            moved = [i - begin if d == dim else i for d, i in enumerate(index)]
            inside = between(values, index[dim], begin, end, size[dim])
            if inside is None:
                value = part.at(moved)
            else:
                with values.masked(inside):
                    value = part.at(moved)
            value = values.cast(value, held(result.dtype))
            if chosen is None:
                chosen = value
            else:
                before = values.call("lt", values.index(index[dim]), values.index(end))
                chosen = values.where(before, value, chosen)
            end = begin
        if chosen is None:
            raise LoweringError("joins nothing")
        return chosen

    return Lazy(size, result.dtype, result.device, at)


@lowering("aten.stack")
def stack(lower: Any, node: torch.fx.Node, tensors: Sequence[Lazy], dim: int = 0) -> Lazy:
    result = node.meta["val"]
    values: Values = lower.values
    size = lower.size_of(node)
    dim %= len(size)

    def at(index: Sequence[Expr]) -> Value:
        chosen: Value | None = None
        for k, part in reversed(list(enumerate(tensors))):
            inner = [i for d, i in enumerate(index) if d != dim]
            here = values.call("eq", values.index(index[dim]), values.index(Integer(k)))
            if here.op == "const":
                value = part.at(inner)
            else:
                with values.masked(here):
                    value = part.at(inner)
            value = values.cast(value, held(result.dtype))
            chosen = value if chosen is None else values.where(here, value, chosen)
        if chosen is None:
            raise LoweringError("stacks nothing")
        return chosen

    return Lazy(size, result.dtype, result.device, at)


@lowering("aten.constant_pad_nd")
def pad(lower: Any, node: torch.fx.Node, x: Lazy, widths: Sequence[Any], fill: Any = 0) -> Lazy:
    values: Values = lower.values
    size = lower.size_of(node)
    before: list[Expr] = [Integer(0)] * len(size)
    for k in range(len(widths) // 2):
        before[len(size) - 1 - k] = ix.expr(widths[2 * k])

    def at(index: Sequence[Expr]) -> Value:
        tests = [
            between(values, i, b, b + n, whole)
            for i, b, n, whole in zip(index, before, x.size, size)
        ]
        # Padding may be negative: then that side is cut off, and no test is needed there.
        inside: Value | None = None
        for test in tests:
            if test is not None:
                inside = test if inside is None else values.call("logical_and", inside, test)
        moved = [i - b for i, b in zip(index, before)]
        if inside is None:
            return x.at(moved)
        with values.masked(inside):
            value = x.at(moved)
        return values.where(inside, value, number(values, fill, value.dtype))

    return Lazy(size, x.dtype, x.device, at)


def _quotient(lower: Any, e: Expr, by: Expr) -> Expr:
    quotient: Expr = ix.Div(e, by)  # type: ignore[assignment]
    return ix.simplify(quotient, lower.loops)


@lowering("aten.slice_scatter", "aten.select_scatter")
def replace_part(
    lower: Any, node: torch.fx.Node, x: Lazy, part: Lazy, dim: int = 0, *args: Any, **kwargs: Any
) -> Lazy:
    values: Values = lower.values
    dim %= len(x.size)
    length = x.size[dim]
    step = Integer(1)
    if str(node.target).startswith("aten.select_scatter"):
        place = ix.expr(args[0] if args else kwargs["index"])
        begin = place + length if place.is_Integer and int(place) < 0 else place
        count, whole = Integer(1), True
    else:
        names = dict(zip(("start", "end", "step"), args), **kwargs)
        start = names.get("start")
        begin = ix.expr(0 if start is None else start)
        if begin.is_Integer and int(begin) < 0:
            begin = begin + length
        if begin.is_Integer and length.is_Integer:
            begin = Integer(max(0, min(int(begin), int(length))))
        step = ix.expr(names.get("step", 1))
        count, whole = part.size[dim], False
    if not begin.is_Integer or not step.is_Integer:
        raise LoweringError("replaces a part that starts at an unknown place")

    def at(index: Sequence[Expr]) -> Value:
        i = values.index(index[dim])
        distance = index[dim] - begin
        last = begin + (count - 1) * step
        tests = [
            values.call("ge", i, values.index(begin)),
            values.call("le", i, values.index(last)),
        ]
        if step != 1:
            rest = values.call("int_rem", values.index(distance), values.index(step))
            tests.append(values.call("eq", rest, values.const(0, torch.int64)))
        inside = tests[0]
        for test in tests[1:]:
            inside = values.call("logical_and", inside, test)
        inner = [
            _quotient(lower, distance, step) if d == dim else j
            for d, j in enumerate(index)
            if not (whole and d == dim)
        ]
        with values.masked(inside):
            new = values.cast(part.at(inner), held(x.dtype))
        return values.where(inside, new, x.at(index))

    return Lazy(x.size, x.dtype, x.device, at)
