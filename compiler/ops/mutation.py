"""Writes into inputs: what functionalisation leaves at the end of a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from sympy import Expr

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.values import Value
from . import scalars as s
from .lazy import SUPPORTED, Lazy, broadcast_index, held
from .table import lowering


@lowering("aten.copy_")
def copy_into(
    lower: Any, node: torch.fx.Node, x: Lazy, source: Lazy, non_blocking: bool = False
) -> Lazy:
    """Store `source` where x lies, in place: x is an input, or a window on one."""
    if x.view is None or x.dtype not in SUPPORTED or source.dtype not in SUPPORTED:
        raise LoweringError(f"writes {source.dtype} into {x.dtype}")
    if x.device != source.device:
        raise LoweringError("copies between devices")
    if any(t == 0 and n != 1 for n, t in zip(x.size, x.view.stride)):
        raise LoweringError("writes one place several times")

    def value(index: Sequence[Expr]) -> Value:
        element = source.at(broadcast_index(source.size, index, x.size))
        return s.convert(lower.values, element, held(x.dtype))

    if _reads_elsewhere(lower, x, value):
        # Other points would read what this one has overwritten: compute all of it before.
        source = lower.lazy(
            lower.realize(Lazy(source.size, source.dtype, source.device, source.at))
        )
    lower.scatter(x.view, x.size, lambda index: index, value, "set")
    return lower.lazy(x.view)


def _reads_elsewhere(lower: Any, x: Lazy, value: Callable[[Sequence[Expr]], Value]) -> bool:
    """Whether the value at some point reads x's buffer at another."""
    assert x.view is not None
    index, variables = lower.variables("d", x.size, range(len(x.size)))
    lower.loops = {variables[d]: x.size[d] for d in variables}
    here = ix.simplify(sympy.expand(ix.flat(index, x.view.stride, x.view.offset)), lower.loops)
    return any(
        v.op == "load" and v.attrs[0] == x.view.buffer.name and v.attrs[1] != here
        for v in lower.values.ordered([value(index)])
    )


@lowering("aten.copy")
def copied(
    lower: Any, node: torch.fx.Node, x: Lazy, source: Lazy, non_blocking: bool = False
) -> Lazy:
    """What x would hold after `x.copy_(source)`."""
    if x.device != source.device or source.dtype not in SUPPORTED:
        raise LoweringError("copies between devices, or from an unsupported dtype")

    def at(index: Sequence[Expr]) -> Value:
        element = source.at(broadcast_index(source.size, index, x.size))
        element = s.convert(lower.values, element, held(x.dtype))
        if source.dtype != x.dtype and held(x.dtype) != x.dtype:
            element = lower.values.round_to(element, x.dtype)
        return element

    return Lazy(x.size, x.dtype, x.device, at)
