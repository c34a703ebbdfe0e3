"""Normalisations that are one expression at each point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from sympy import Expr, Integer

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.values import Value, Values
from .lazy import SUPPORTED, Lazy, held
from .table import lowering


@lowering("aten._native_batch_norm_legit_no_training.default")
def batch_norm_inference(
    lower: Any,
    node: torch.fx.Node,
    x: Lazy,
    weight: Lazy | None,
    bias: Lazy | None,
    mean: Lazy,
    variance: Lazy,
    momentum: float,
    eps: float,
) -> tuple[Lazy, Lazy, Lazy]:
    """(x - mean) / sqrt(variance + eps) · weight + bias, by channel.

    The statistics come back where torch says so (on a GPU: the mean as given, and the scale).
    """
    values: Values = lower.values
    out, saved_mean, saved_scale = node.meta["val"]
    computed = held(x.dtype)
    given = [t for t in (x, weight, bias, mean, variance) if t is not None]
    if not computed.is_floating_point or any(t.dtype not in SUPPORTED for t in given):
        raise LoweringError(f"batch norm of {x.dtype}")

    def of_channel(t: Lazy, channel: Expr) -> Value:
        return values.cast(t.at([channel]), computed)

    def scale_of(channel: Expr) -> Value:
        spread = values.call("add", of_channel(variance, channel), values.const(eps, computed))
        return values.call("rsqrt", spread)

    def at(index: Sequence[Expr]) -> Value:
        channel = index[1] if x.size[1] != 1 else Integer(0)
        scale = scale_of(channel)
        if weight is not None:
            scale = values.call("mul", scale, of_channel(weight, channel))
        centred = values.call("sub", values.cast(x.at(index), computed), of_channel(mean, channel))
        result = values.call("mul", centred, scale)
        return result if bias is None else values.call("add", result, of_channel(bias, channel))

    def statistic(example: torch.Tensor, of: Callable[[Expr], Value]) -> Lazy:
        size = ix.exprs(example.shape)
        dtype = held(example.dtype)
        return Lazy(
            size, example.dtype, example.device, lambda index: values.cast(of(index[0]), dtype)
        )

    return (
        Lazy(x.size, out.dtype, x.device, at),
        statistic(saved_mean, lambda channel: of_channel(mean, channel)),
        statistic(saved_scale, scale_of),
    )
