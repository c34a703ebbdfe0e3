"""Tensors that are joined along their channels, made side by side in one buffer.

A dense block joins the same tensors again and again, each time with one more. Where each is made in
its place of the longest join, every join is a window on one buffer and costs nothing.
"""

from __future__ import annotations

from typing import Any

import torch
from sympy import Expr, Integer

from ..ir import index as ix
from ..ir.nodes import Buffer, View
from .layout import Layout, channels_last
from .lazy import Lazy

JOIN = torch.ops.aten.cat.default


class Homes:
    """The place of each tensor that is made where it will be joined.

    Only in graphs whose images are channels-last, and for tensors that nothing else reads: a
    window is no dense image, which convolutions by ATen would copy.
    """

    def __init__(self, gm: torch.fx.GraphModule, layout: Layout) -> None:
        self._longest: dict[torch.fx.Node, torch.fx.Node] = {}  # by part, and by join
        self._offset: dict[torch.fx.Node, int] = {}
        self._buffers: dict[torch.fx.Node, Buffer] = {}
        families: dict[torch.fx.Node, list[torch.fx.Node]] = {}
        for node in gm.graph.nodes:
            if layout.turned and node.target is JOIN and _along_channels(node):
                families.setdefault(_parts(node)[0], []).append(node)
        for joins in families.values():
            self._settle(sorted(joins, key=lambda join: len(_parts(join))))

    def place(self, lower: Any, node: torch.fx.Node) -> View | None:
        """Where a node's tensor belongs, or a join's window; None for all others."""
        longest = self._longest.get(node)
        if longest is None:
            return None
        value = node.meta["val"]
        size = ix.exprs(value.shape)
        if longest not in self._buffers:
            whole = ix.exprs(longest.meta["val"].shape)
            self._buffers[longest] = lower.new_buffer(
                value.dtype, value.device, whole, channels_last(whole)
            )
        buffer = self._buffers[longest]
        return View(buffer, size, buffer.stride, Integer(self._offset.get(node, 0)))

    def joined(self, lower: Any, node: torch.fx.Node, parts: list[Lazy]) -> Lazy | None:
        """A join as a window; parts that lie elsewhere are copied. None if it isn't one."""
        window = self.place(lower, node)
        if window is None:
            return None
        for given, part in zip(_parts(node), parts, strict=True):
            lower.realize_in(part, self.place(lower, given))
        return lower.lazy(window)

    def holds(self, buffer: str) -> bool:
        """Whether several tensors are made in a buffer."""
        return any(home.name == buffer for home in self._buffers.values())

    def inplace(self, lower: Any, buffer: Buffer) -> frozenset[str]:
        """What a node that writes this buffer writes in place: a home that is there already."""
        if not self.holds(buffer.name):
            return frozenset()
        made = any(buffer.name in _written(node) for node in lower.graph.nodes)
        return frozenset({buffer.name}) if made else frozenset()

    def _settle(self, joins: list[torch.fx.Node]) -> None:
        *shorter, longest = joins
        parts = _parts(longest)
        nested = all(_parts(join) == parts[: len(_parts(join))] for join in shorter)
        lengths = {len(_parts(join)) for join in joins}
        if not shorter or not nested or len(lengths) < len(joins) or len(set(parts)) < len(parts):
            return
        dtype = longest.meta["val"].dtype
        for part in parts:
            if part.op != "call_function" or set(part.users) - set(joins):
                return
            if part.meta["val"].dtype != dtype or part in self._longest:
                return
        offset = 0
        for part in parts:
            self._longest[part], self._offset[part] = longest, offset
            offset += int(part.meta["val"].shape[1])
        for join in joins:
            self._longest[join] = longest


def _parts(join: torch.fx.Node) -> list[torch.fx.Node]:
    return list(join.args[0])  # type: ignore[arg-type]


def _along_channels(node: torch.fx.Node) -> bool:
    value = node.meta["val"]
    dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
    images = value.dim() == 4 and dim in (1, -3) and ix.is_static(ix.exprs(value.shape))
    sizes: list[tuple[Expr, ...]] = [ix.exprs(part.meta["val"].shape) for part in _parts(node)]
    return images and all(len(size) == 4 and ix.is_static(size) for size in sizes)


def _written(node: Any) -> set[str]:
    stores = getattr(node, "stores", None)
    if stores is not None:
        return {store.buffer.name for store in stores}
    return {buffer.name for _, buffer in node.outputs}
