"""Which tensors lie with their channels last.

cuDNN's tensor-core convolutions read images channels-last: given others, it turns each one there
and its result back. So in a network of such convolutions every image is kept channels-last from
the first convolution to the last, whatever eager does; results of the graph have eager's layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sympy import Expr, Integer
from torch.utils import _pytree as pytree

from ..errors import LoweringError
from ..ir import index as ix
from .geometry import image_side

FEWEST = 4  # convolutions; for fewer, turning images there and back costs what it saves
NARROW = 16  # channels: with fewer, a tensor core's tile is mostly padding
CONVOLUTION = torch.ops.aten.convolution.default
# By ATen, these give images channels-last when they get them so.
KEEPING = (CONVOLUTION, torch.ops.aten.cat.default)


class Layout:
    """The layout of each node's tensors.

    Args:
        gm: The graph.
        tensor_cores, tf32: As the `Lowerer` has them.
        saved: How many results a backward graph reads. Training keeps eager's layout: batch norm's
            statistics, whose images would be read by columns, cost more than convolutions gain.
    """

    def __init__(
        self, gm: torch.fx.GraphModule, tensor_cores: bool, tf32: bool, saved: int
    ) -> None:
        self._last: set[torch.fx.Node] = set()
        self.turned = tensor_cores and not saved and _pays(gm, tf32)
        if self.turned:
            for node in gm.graph.nodes:
                if node.op == "call_function" and self._keeps(node):
                    self._last.add(node)

    def stride(self, node: torch.fx.Node, example: torch.Tensor) -> tuple[Expr, ...] | None:
        """The strides of a node's tensor in memory; None for contiguous ones."""
        if node in self._last and _is_image(example):
            return channels_last(ix.exprs(example.shape))
        return dense_stride(example)

    def operand(self, reader: torch.fx.Node, given: torch.fx.Node) -> tuple[Expr, ...] | None:
        """The strides that an operator run by ATen wants of an operand; None if any will do."""
        value = given.meta["val"]
        if reader in self._last and reader.target in KEEPING and _is_image(value):
            return channels_last(ix.exprs(value.shape))
        if self.turned and getattr(reader.target, "namespace", "") != "aten":
            return dense_stride(value)  # a kernel of the user's may rely on what it saw in eager
        return None

    def by_aten(self, node: torch.fx.Node, part: torch.Tensor) -> tuple[Expr, ...]:
        """The strides of what an operator run by ATen returns."""
        if node in self._last and node.target in KEEPING:
            return channels_last(ix.exprs(part.shape))
        return ix.exprs(part.stride())

    def _keeps(self, node: torch.fx.Node) -> bool:
        value = node.meta.get("val")
        if not any(_is_image(x) for x in pytree.tree_leaves(value)):
            return False
        return node.target is CONVOLUTION or any(x in self._last for x in node.all_input_nodes)


def channels_last(size: Sequence[Expr]) -> tuple[Expr, ...]:
    """The strides of images [count, channels, height, width] whose channels are neighbours."""
    _, channels, height, width = size
    return (height * width * channels, Integer(1), width * channels, channels)


def _pays(gm: torch.fx.GraphModule, tf32: bool) -> bool:
    """Whether most of the convolutions' work is for tensor cores, by cuDNN or by us."""
    good = total = count = 0
    for node in gm.graph.nodes:
        if node.target is torch.ops.aten.convolution_backward.default:
            return False
        if "as_strided" in str(node.target):
            return False  # which asks where in memory an element is
        if node.target is not CONVOLUTION:
            continue
        image, weight = (given.meta["val"] for given in node.args[:2])
        result = node.meta["val"]
        if not _is_image(result) or not ix.is_static(ix.exprs((*result.shape, *weight.shape))):
            return False
        half = image.dtype in (torch.float16, torch.bfloat16)
        products = result.numel() * weight[0].numel()
        count, total = count + 1, total + products
        if half or (tf32 and image.dtype == torch.float32):
            suits = node.args[8] == 1 and min(weight.shape[:2]) >= NARROW
        else:
            suits = image.dtype == torch.float32 and _ours(image, weight, node.args[3:9])
        good += products if suits else 0
    return count >= FEWEST and 2 * good > total


def _ours(image: torch.Tensor, weight: torch.Tensor, geometry: Sequence[Any]) -> bool:
    """Whether a kernel of ours, in three passes of TF32, is faster than cuDNN without any."""
    try:
        return bool(image_side(ix.exprs(image.shape), ix.exprs(weight.shape), geometry))
    except LoweringError:
        return False


def _is_image(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() == 4


def dense_stride(example: torch.Tensor) -> tuple[Expr, ...] | None:
    """The strides of a tensor that fills its memory; None (contiguous) for one that doesn't."""
    size, stride = ix.exprs(example.shape), ix.exprs(example.stride())
    if not ix.is_static((*size, *stride)):
        return None if any(t == 0 and n != 1 for n, t in zip(size, stride)) else stride
    step = 1
    for t, n in sorted((int(t), int(n)) for n, t in zip(size, stride) if n != 1):
        if t != step:
            return None
        step *= n
    return stride
