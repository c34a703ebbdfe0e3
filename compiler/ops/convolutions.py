"""Convolutions in float32 by kernels of ours, where these are faster than cuDNN's.

They are where a sum is long and its results are few, as in the later layers of a network, or where
the window is one pixel wide, which makes a convolution a matrix product. All else runs by ATen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sympy import Expr, Integer

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.nodes import Call, Contraction, Ref, View
from ..ir.values import Value, Values
from ..triton.contraction import parts_of
from .geometry import products_of, window_side
from .images import image_convolution
from .lazy import Lazy
from .origins import origin_of
from .table import lowering

# With more, cuDNN is faster; by measurement on an H200, layers of DenseNet-121 and ResNet-50.
MOST_WINDOW_PIXELS = 1024  # of a 3×3 convolution
MOST_ROWS = 512  # an image is read again for every 32 of them
MOST_PRODUCTS_IN_TF32 = 600_000_000


@lowering("aten.convolution.default")
def convolution(
    lower: Any,
    node: torch.fx.Node,
    x: Lazy,
    weight: Lazy,
    bias: Lazy | None,
    *geometry: Any,
) -> Lazy:
    """The convolution, and its bias at each point of what reads it."""
    if lower.layout.turned:
        return image_convolution(lower, node, x, weight, bias, geometry)
    window = _window(lower, x, weight, geometry)
    images, weights = _by_channel(lower, x), _by_channel(lower, weight)
    size = (x.size[0], weight.size[0], *x.size[2:])
    product = _product(lower, node, "pixels", weights, images, size, window=window)
    if bias is None:
        return product
    values: Values = lower.values

    def at(index: Sequence[Expr]) -> Value:
        return values.call("add", product.at(index), bias.at([index[1]]))

    return Lazy(size, x.dtype, x.device, at)


@lowering("aten.convolution_backward.default")
def convolution_backward(
    lower: Any,
    node: torch.fx.Node,
    grad: Lazy,
    x: Lazy,
    weight: Lazy,
    bias_sizes: Any,
    *geometry: Any,
) -> tuple[Lazy | None, ...]:
    """The gradients by x and by the weight; each by ATen where that is faster."""
    *window_geometry, wanted = geometry
    window = _window(lower, x, weight, window_geometry)
    if wanted[2] or not any(wanted[:2]):
        raise LoweringError("the gradient by a bias")
    by_x = by_weight = None
    images = _by_channel(lower, grad)
    if wanted[0]:
        weights = _by_channel(lower, weight)
        by_x = _product(
            lower, node, "pixels", weights, images, x.size, window=window, transposed=True
        )
    if wanted[1]:
        if window == 1:
            columns = _by_channel(lower, x)
            by_weight = _product(lower, node, "weights", images, columns, weight.size)
        else:
            by_weight = _weight_gradient_by_aten(lower, node, (grad, x, weight), window_geometry)
    return by_x, by_weight, None


def _window(lower: Any, x: Lazy, weight: Lazy, geometry: Sequence[Any]) -> int:
    """The window's side.

    Raises:
        LoweringError: It's a convolution that ATen does better, or that isn't written here.
    """
    if not lower.tensor_cores:
        raise LoweringError("a convolution where there are no tensor cores for float32")
    if x.dtype != torch.float32 or weight.dtype != torch.float32:
        raise LoweringError(f"a convolution of {x.dtype}")
    side = window_side(x.size, weight.size, geometry)
    rows, channels, pixels = products_of(x.size, weight.size)
    slow = rows > MOST_ROWS or (lower.tf32 and rows * channels * pixels > MOST_PRODUCTS_IN_TF32)
    if slow or (side > 1 and (pixels > MOST_WINDOW_PIXELS or lower.tf32)):
        raise LoweringError("a convolution that cuDNN does faster")
    return side


def _by_channel(lower: Any, x: Lazy) -> View:
    """Images, or windows of weights, in memory, each one's pixels one after the other.

    Raises:
        LoweringError: They lie otherwise, channels last say.
    """
    view = lower.realize(x)
    _, _, height, width = view.size
    rows = view.stride[3] == 1 or width == 1
    lines = view.stride[2] == width or height == 1
    if view.offset != 0 or not rows or not lines or not ix.is_static(view.stride):
        raise LoweringError("images that aren't laid out channel by channel")
    return view


def _product(
    lower: Any,
    node: torch.fx.Node,
    kind: str,
    left: View,
    right: View,
    size: Sequence[Expr],
    window: int = 1,
    transposed: bool = False,
) -> Lazy:
    """A contraction added to the graph: its result, or the sum of its parts."""
    count, columns, height, width = (int(n) for n in right.size)
    if kind == "weights":
        rows, length = int(left.size[1]), count * height * width
    else:
        rows, length = int(size[1]), columns
        columns = count * height * width
    parts = parts_of(kind, rows, columns, length, window)
    shape = (Integer(parts), *size) if parts > 1 else tuple(size)
    device = right.buffer.device
    buffer = lower.new_buffer(torch.float32, device, shape, ix.contiguous_stride(shape))
    lower.graph.nodes.append(
        Contraction(
            node.target,
            (),
            {},
            buffer.name,
            (((), buffer),),
            reads=frozenset({left.buffer.name, right.buffer.name}),
            origins=(origin_of(node),),
            kind=kind,
            left=left,
            right=right,
            window=window,
            transposed=transposed,
            parts=parts,
            tf32=lower.tf32,
        )
    )
    whole = lower.lazy(View(buffer, shape, buffer.stride))
    if parts == 1:
        return whole

    def at(index: Sequence[Expr]) -> Value:
        total = whole.at([Integer(0), *index])
        for part in range(1, parts):
            total = lower.values.call("add", total, whole.at([Integer(part), *index]))
        return total

    return Lazy(tuple(size), torch.float32, device, at)


def _weight_gradient_by_aten(
    lower: Any, node: torch.fx.Node, operands: Sequence[Lazy], geometry: Sequence[Any]
) -> Lazy:
    """The gradient by the weight alone, by ATen."""
    views = [lower.realize(x) for x in operands]
    value = node.meta["val"][1]
    size, stride = ix.exprs(value.shape), ix.exprs(value.stride())
    buffer = lower.new_buffer(value.dtype, value.device, size, stride)
    result = f"out{buffer.name.removeprefix('buf')}"
    lower.graph.nodes.append(
        Call(
            node.target,
            (*(Ref(view) for view in views), None, *geometry, [False, True, False]),
            {},
            result,
            (((1,), buffer),),
            reads=frozenset(view.buffer.name for view in views),
            origins=(origin_of(node),),
        )
    )
    lower.fallbacks.append(str(node.target))
    return lower.lazy(View(buffer, size, stride))
