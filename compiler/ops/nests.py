"""Loop nests made from lazy tensors: where they are realised, reduced and scanned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from sympy import Expr, Integer, Symbol

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.nodes import Buffer, Graph, Nest, Store, View
from ..ir.values import Value, Values
from . import scalars
from .lazy import SUPPORTED, Lazy, held, reduced_size
from .origins import origin_of
from .split import pieces


class NestBuilder:
    """Adds nests to a graph.

    Attributes:
        values: Makes the graph's values.
        loops: The loop variables of the nest being traced, and their sizes.
        made: The names of its buffers, in order.
    """

    def __init__(self) -> None:
        self.graph = Graph()
        self.values = Values()
        self.loops: dict[Symbol, Expr] = {}
        self._node: torch.fx.Node | None = None
        self._homes: dict[tuple[int, Any], tuple[Lazy, View]] = {}
        self._count = 0
        self.made: list[str] = []

    def lazy(self, view: View) -> Lazy:
        """A tensor in memory."""
        buffer = view.buffer

        def at(index: Sequence[Expr]) -> Value:
            if buffer.dtype not in SUPPORTED:
                raise LoweringError(f"reads {buffer.dtype}")
            position = sympy.expand(ix.flat(index, view.stride, view.offset))
            position = ix.simplify(position, self.loops)
            inside = self._surely_inside(position, buffer)
            return self.values.load(buffer.name, position, held(buffer.dtype), masked=not inside)

        return Lazy(view.size, buffer.dtype, buffer.device, at, view)

    def _surely_inside(self, position: Expr, buffer: Buffer) -> bool:
        """Whether a place lies in a buffer wherever the loops are: then no mask need guard it.

        Loads without masks are one load for all taps of a window, or for all parts of a join.
        """
        if self.values.mask is None or position.has(ix.Rem):
            return False
        last = ix.upper(position, self.loops)
        return last is not None and ix.known_less(last, buffer.extent)

    def realize(self, x: Lazy, stride: Sequence[Expr] | None = None) -> View:
        """Where x lies in memory; it is computed into a new buffer if it lies nowhere."""
        if x.view is not None and stride is None:
            return x.view
        if x.view is not None and self._same_layout(x.view, stride):
            return x.view
        stride = tuple(ix.contiguous_stride(x.size) if stride is None else stride)
        home = self._homes.get((id(x), stride))
        if home is not None:
            return home[1]
        buffer = self.new_buffer(x.dtype, x.device, x.size, stride)
        index, variables = self.variables("d", x.size, range(len(x.size)))
        order = sorted(variables, key=lambda d: _rank_of(stride[d], d))
        self.loops = {variables[d]: x.size[d] for d in order}
        store = Store(buffer, sympy.expand(ix.flat(index, stride)), x.at(index))
        if not self._absorbed(store):
            self._add(store)
        view = View(buffer, x.size, stride)
        self._homes[(id(x), stride)] = (x, view)  # x is kept, so that its id stays its own
        return view

    def _absorbed(self, store: Store) -> bool:
        """Whether a node that is there already will write this."""
        return False

    def reduction(
        self,
        size: Sequence[Expr],
        dims: Sequence[int],
        keepdim: bool,
        value: Callable[[Sequence[Expr], tuple[Symbol, ...]], Value],
        finish: Callable[[Value], Value],
        kind: str,
        dtype: torch.dtype,
        device: torch.device,
        stride: Sequence[Expr],
    ) -> Lazy:
        """A buffer of values reduced over `dims` of an index space of `size`."""
        kept = [d for d in range(len(size)) if d not in dims]
        shape = reduced_size(size, dims, keepdim)
        if any(size[d] == 0 for d in dims):
            if kind in ("max", "min", "argmax", "argmin"):
                raise LoweringError(f"{kind} of nothing")
            empty = self.values.const(
                scalars.identity(kind, dtype), torch.bool if kind in ("any", "all") else held(dtype)
            )
            return Lazy(shape, dtype, device, lambda i: finish(empty))
        index, outer = self.variables("d", size, kept)
        inner_index, reduced_over = self.variables("r", size, dims)
        inner = tuple(reduced_over.values())
        point = [inner_index[d] if d in dims else index[d] for d in range(len(size))]
        self.loops = {
            **{outer[d]: size[d] for d in outer},
            **{reduced_over[d]: size[d] for d in reduced_over},
        }
        reduced = value(point, inner)
        cut = pieces(kind, size, dims, lambda: self._loads(reduced))
        if cut > 1:
            reduced, inner = self._in_pieces(cut, kind, size, dims, value, device)
        buffer = self.new_buffer(dtype, device, shape, tuple(stride))
        result = finish(reduced)
        place = [Integer(0) if d in dims else index[d] for d in range(len(size))]
        if not keepdim:
            place = [index[d] for d in kept]
        store = Store(buffer, sympy.expand(ix.flat(place, stride)), result)
        self._add(store, inner)
        return self.lazy(View(buffer, shape, tuple(stride)))

    def scan(
        self,
        x: Lazy,
        dim: int,
        value: Callable[[Sequence[Expr], Symbol | None], Value],
        dtype: torch.dtype,
        stride: Sequence[Expr],
    ) -> Lazy:
        """A buffer of values scanned along one dimension."""
        kept = [d for d in range(len(x.size)) if d != dim]
        index, outer = self.variables("d", x.size, kept)
        inner_index, inner = self.variables("r", x.size, [dim])
        index[dim] = inner_index[dim]
        self.loops = {
            **{outer[d]: x.size[d] for d in outer},
            **{inner[d]: x.size[d] for d in inner},
        }
        buffer = self.new_buffer(dtype, x.device, x.size, tuple(stride))
        result = value(index, inner.get(dim))
        store = Store(buffer, sympy.expand(ix.flat(index, stride)), result)
        self._add(store, tuple(inner.values()))
        return self.lazy(View(buffer, x.size, tuple(stride)))

    def scatter(
        self,
        view: View,
        size: Sequence[Expr],
        point: Callable[[Sequence[Expr]], Sequence[Expr]],
        value: Callable[[Sequence[Expr]], Value],
        mode: str,
    ) -> None:
        """Write `value(i)` to `point(i)` of a view, in place, for each i below `size`."""
        index, variables = self.variables("d", size, range(len(size)))
        self.loops = {variables[d]: size[d] for d in variables}
        place = sympy.expand(ix.flat(point(index), view.stride, view.offset))
        store = Store(view.buffer, ix.simplify(place, self.loops), value(index), mode)
        self._add(store, inplace=frozenset({view.buffer.name}))

    def new_buffer(
        self,
        dtype: torch.dtype,
        device: torch.device,
        size: tuple[Expr, ...],
        stride: tuple[Expr, ...],
    ) -> Buffer:
        buffer = Buffer(f"buf{self._count}", dtype, device, size, stride)
        self._count += 1
        self.made.append(buffer.name)
        return buffer

    def _in_pieces(
        self,
        cut: int,
        kind: str,
        size: Sequence[Expr],
        dims: Sequence[int],
        value: Callable[[Sequence[Expr], tuple[Symbol, ...]], Value],
        device: torch.device,
    ) -> tuple[Value, tuple[Symbol]]:
        """Reduce equal pieces of the inner index space into a buffer.

        Returns:
            (the reduction of the pieces' results, its inner variable, which runs over the pieces);
            `loops` are then those of the nest that stores it.
        """
        kept = [d for d in range(len(size)) if d not in dims]
        index, outer = self.variables("d", size, kept)
        lengths = [size[d] for d in dims]
        length = ix.product(lengths) / cut
        piece, inside = ix.Loop(f"d{len(size)}"), ix.Loop("r0")
        self.loops = {**{outer[d]: size[d] for d in outer}, piece: Integer(cut), inside: length}
        parts = ix.unflatten(piece * length + inside, lengths)
        point = list(index)
        for d, part in zip(dims, parts):
            point[d] = ix.simplify(part, self.loops)
        partial = value(point, (inside,))
        shape = (*(size[d] for d in kept), Integer(cut))
        stride = ix.contiguous_stride(shape)
        buffer = self.new_buffer(partial.dtype, device, shape, stride)
        place = [*(index[d] for d in kept), piece]
        self._add(Store(buffer, sympy.expand(ix.flat(place, stride)), partial), (inside,))
        across = ix.Loop("r0")
        self.loops = {**{outer[d]: size[d] for d in outer}, across: Integer(cut)}
        place = [*(index[d] for d in kept), across]
        load = self.values.load(
            buffer.name, sympy.expand(ix.flat(place, stride)), held(buffer.dtype)
        )
        total = self.values.make("reduce", (load,), (kind, (across,)), load.dtype)
        return total, (across,)

    def _loads(self, value: Value) -> list[Value]:
        return [v for v in self.values.ordered([value]) if v.op == "load"]

    # Small parts.

    def variables(
        self, letter: str, size: Sequence[Expr], dims: Sequence[int]
    ) -> tuple[list[Expr], dict[int, Symbol]]:
        """(the index, the loop variable of each dimension that has more than one element)."""
        variables: dict[int, Symbol] = {d: ix.Loop(f"{letter}{d}") for d in dims if size[d] != 1}
        return [variables.get(d, Integer(0)) for d in range(len(size))], variables

    def _same_layout(self, view: View, stride: Sequence[Expr] | None) -> bool:
        return stride is None or all(
            n == 1 or a == b for n, a, b in zip(view.size, view.stride, stride)
        )

    def _add(
        self,
        store: Store,
        inner: tuple[Symbol, ...] = (),
        inplace: frozenset[str] = frozenset(),
    ) -> None:
        self.graph.nodes.append(self.nest(store, inner, inplace))

    def nest(
        self,
        store: Store,
        inner: tuple[Symbol, ...] = (),
        inplace: frozenset[str] = frozenset(),
    ) -> Nest:
        """A nest of the loops being traced, `inner` of them inside."""
        outer = {v: n for v, n in self.loops.items() if v not in inner}
        origin = origin_of(self._node)
        return Nest(
            tuple(outer),
            tuple(outer.values()),
            inner,
            tuple(self.loops[v] for v in inner),
            (store,),
            inplace,
            (origin,) if origin else (),
            (self._node.name if self._node is not None else "",),
        )


def _rank_of(stride: Expr, dim: int) -> tuple:
    size = int(stride) if stride.is_Integer else 1 << 60
    return (-size, dim)
