"""From a functional ATen graph to loop nests and ATen calls, node by node."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from sympy import Expr, Integer, Symbol
from torch.utils import _pytree as pytree

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.nodes import Buffer, Call, Graph, Nest, Ref, Store, View
from ..ir.values import Value, Values
from . import scalars
from .lazy import SUPPORTED, Lazy, held
from .origins import origin_of
from .table import lowering_of

log = logging.getLogger("compile_lint.lowering")


class Lowerer:
    """Lowers one graph; `run` gives the graph of nests and calls.

    Attributes:
        values: Makes the graph's values.
        loops: The loop variables of the nest being traced, and their sizes.
        fallbacks: Names of the operators left to ATen, in order.
    """

    def __init__(self, gm: torch.fx.GraphModule) -> None:
        self.gm = gm
        self.graph = Graph()
        self.values = Values()
        self.loops: dict[Symbol, Expr] = {}
        self.fallbacks: list[str] = []
        self._env: dict[torch.fx.Node, Any] = {}
        self._node: torch.fx.Node | None = None
        self._homes: dict[tuple, tuple[Lazy, View]] = {}
        self._count = 0

    # What lowerings ask for.

    def size_of(self, node: torch.fx.Node) -> tuple[Expr, ...]:
        return ix.exprs(node.meta["val"].shape)

    def device_of(self, node: torch.fx.Node) -> torch.device:
        return node.meta["val"].device

    def examples(self, args: Sequence[Any]) -> list[Any]:
        """Arguments as torch has them: fake tensors, numbers and symbolic numbers."""
        return [a.meta["val"] if isinstance(a, torch.fx.Node) else a for a in args]

    def lazy(self, view: View) -> Lazy:
        """A tensor in memory."""
        buffer = view.buffer

        def at(index: Sequence[Expr]) -> Value:
            if buffer.dtype not in SUPPORTED:
                raise LoweringError(f"reads {buffer.dtype}")
            position = sympy.expand(ix.flat(index, view.stride, view.offset))
            position = ix.simplify(position, self.loops)
            return self.values.load(buffer.name, position, held(buffer.dtype))

        return Lazy(view.size, buffer.dtype, buffer.device, at, view)

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
        index, variables = self._variables("d", x.size, range(len(x.size)))
        order = sorted(variables, key=lambda d: _rank_of(stride[d], d))
        self.loops = {variables[d]: x.size[d] for d in order}
        store = Store(buffer, sympy.expand(ix.flat(index, stride)), x.at(index))
        self._add(Nest(tuple(self.loops), tuple(self.loops.values()), (), (), (store,)))
        view = View(buffer, x.size, stride)
        self._homes[(id(x), stride)] = (x, view)  # x is kept, so that its id stays its own
        return view

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
        shape = tuple(
            Integer(1) if d in dims else n for d, n in enumerate(size) if keepdim or d not in dims
        )
        if any(size[d] == 0 for d in dims):
            if kind in ("max", "min", "argmax", "argmin"):
                raise LoweringError(f"{kind} of nothing")
            empty = self.values.const(
                scalars.identity(kind, dtype), torch.bool if kind in ("any", "all") else held(dtype)
            )
            return Lazy(shape, dtype, device, lambda i: finish(empty))
        index, outer = self._variables("d", size, kept)
        inner_index, inner = self._variables("r", size, dims)
        point = [inner_index[d] if d in dims else index[d] for d in range(len(size))]
        self.loops = {
            **{outer[d]: size[d] for d in outer},
            **{inner[d]: size[d] for d in inner},
        }
        buffer = self.new_buffer(dtype, device, shape, tuple(stride))
        result = finish(value(point, tuple(inner.values())))
        place = [Integer(0) if d in dims else index[d] for d in range(len(size))]
        if not keepdim:
            place = [index[d] for d in kept]
        store = Store(buffer, sympy.expand(ix.flat(place, stride)), result)
        self._add(
            Nest(
                tuple(outer.values()),
                tuple(size[d] for d in outer),
                tuple(inner.values()),
                tuple(size[d] for d in inner),
                (store,),
            )
        )
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
        index, outer = self._variables("d", x.size, kept)
        inner_index, inner = self._variables("r", x.size, [dim])
        index[dim] = inner_index[dim]
        self.loops = {
            **{outer[d]: x.size[d] for d in outer},
            **{inner[d]: x.size[d] for d in inner},
        }
        buffer = self.new_buffer(dtype, x.device, x.size, tuple(stride))
        result = value(index, inner.get(dim))
        store = Store(buffer, sympy.expand(ix.flat(index, stride)), result)
        self._add(
            Nest(
                tuple(outer.values()),
                tuple(x.size[d] for d in outer),
                tuple(inner.values()),
                tuple(x.size[d] for d in inner),
                (store,),
            )
        )
        return self.lazy(View(buffer, x.size, tuple(stride)))

    def new_buffer(
        self,
        dtype: torch.dtype,
        device: torch.device,
        size: tuple[Expr, ...],
        stride: tuple[Expr, ...],
    ) -> Buffer:
        buffer = Buffer(f"buf{self._count}", dtype, device, size, stride)
        self._count += 1
        return buffer

    # The walk.

    def run(self) -> Graph:
        """Lower every node."""
        for node in self.gm.graph.nodes:
            self._node = node
            getattr(self, f"_{node.op}")(node)
        return self.graph

    def _placeholder(self, node: torch.fx.Node) -> None:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            size, stride = ix.exprs(value.shape), ix.exprs(value.stride())
            buffer = Buffer(f"arg{len(self.graph.inputs)}", value.dtype, value.device, size, stride)
            self.graph.inputs.append(buffer)
            self._env[node] = self.lazy(View(buffer, size, stride))
        elif isinstance(value, (torch.SymInt, torch.SymFloat)):
            self._env[node] = value.node.expr
            self.graph.inputs.append(value.node.expr)
        else:
            self._env[node] = value
            self.graph.inputs.append(None)

    def _get_attr(self, node: torch.fx.Node) -> None:
        value = operator.attrgetter(str(node.target))(self.gm)
        name = f"constant_{len(self.graph.constants)}"
        self.graph.constants[name] = value
        if isinstance(value, torch.Tensor):
            size, stride = ix.exprs(value.shape), ix.exprs(value.stride())
            buffer = Buffer(name, value.dtype, value.device, size, stride)
            self._env[node] = self.lazy(View(buffer, size, stride))
        else:
            self._env[node] = Constant(name)

    def _call_function(self, node: torch.fx.Node) -> None:
        if node.target is operator.getitem:
            self._env[node] = self._argument(node.args[0])[node.args[1]]
            return
        value = node.meta.get("val")
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) and not isinstance(
            node.target, torch._ops.OpOverload
        ):
            self._env[node] = value.node.expr
            return
        if isinstance(value, (int, float, bool)):
            self._env[node] = value
            return
        lowered = lowering_of(node.target)
        if lowered is not None:
            before = len(self.graph.nodes)
            try:
                self._env[node] = self._lowered(node, lowered)
                return
            except LoweringError as error:
                log.info("%s runs by ATen: %s", node.target, error)
                del self.graph.nodes[before:]
        self._env[node] = self._by_aten(node)

    def _lowered(self, node: torch.fx.Node, lowered: Callable) -> Any:
        args = pytree.tree_map_only(torch.fx.Node, self._argument, node.args)
        kwargs = pytree.tree_map_only(torch.fx.Node, self._argument, node.kwargs)
        result = lowered(self, node, *args, **kwargs)
        expected = node.meta["val"]
        if isinstance(result, tuple):
            return tuple(self._settled(node, r, e) for r, e in zip(result, expected))
        return self._settled(node, result, expected)

    def _settled(self, node: torch.fx.Node, x: Lazy, expected: torch.Tensor) -> Lazy:
        """x traced once, so that what it can't do is known now, and kept if many will read it."""
        if x.size != ix.exprs(expected.shape) or x.dtype != expected.dtype:
            raise LoweringError(
                f"gave {x.dtype}{list(x.size)}, not {expected.dtype}{list(expected.shape)}"
            )
        if x.device != expected.device or any(a.device != x.device for a in self._tensors_of(node)):
            raise LoweringError("tensors on several devices")
        if x.view is not None:
            return x
        x = Lazy(x.size, x.dtype, x.device, self._remembering(x.at))
        index, variables = self._variables("d", x.size, range(len(x.size)))
        self.loops = {v: x.size[d] for d, v in variables.items()}
        if 0 in x.size:
            return x
        traced = x.at(index)
        if len(node.users) > 1 and not _cheap(traced):
            return self.lazy(self.realize(x, dense_stride(expected)))
        return x

    def _tensors_of(self, node: torch.fx.Node) -> list[Lazy]:
        flat, _ = pytree.tree_flatten((node.args, node.kwargs))
        found = [self._env.get(a) for a in flat if isinstance(a, torch.fx.Node)]
        return [a for a in found if isinstance(a, Lazy)]

    def _remembering(self, at: Callable) -> Callable:
        seen: dict[tuple, Value] = {}

        def remembered(index: Sequence[Expr]) -> Value:
            mask = self.values.mask
            key = (tuple(index), None if mask is None else id(mask))
            if key not in seen:
                seen[key] = at(index)
            return seen[key]

        return remembered

    def _by_aten(self, node: torch.fx.Node) -> Any:
        """The operator itself, called on tensors in memory."""
        reads: set[str] = set()

        def operand(given: torch.fx.Node) -> Any:
            x = self._env[given]
            if not isinstance(x, Lazy):
                return x
            view = x.view or self.realize(x, dense_stride(given.meta["val"]))
            reads.add(view.buffer.name)
            return Ref(view)

        args, kwargs = pytree.tree_map_only(torch.fx.Node, operand, (node.args, node.kwargs))
        result = f"out{self._count}"
        self._count += 1
        outputs: list[tuple[tuple[int, ...], Buffer]] = []
        value = node.meta.get("val")

        def name_parts(part: Any, path: tuple[int, ...]) -> Any:
            if isinstance(part, torch.Tensor):
                buffer = self.new_buffer(
                    part.dtype, part.device, ix.exprs(part.shape), ix.exprs(part.stride())
                )
                outputs.append((path, buffer))
                return self.lazy(View(buffer, buffer.size, buffer.stride))
            if isinstance(part, (tuple, list)):
                return tuple(name_parts(p, (*path, k)) for k, p in enumerate(part))
            if isinstance(part, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                return part.node.expr
            return part

        env = name_parts(value, ())
        bindings = node.meta.get("unbacked_bindings") or {}
        inplace = frozenset(self._written_by(node))
        self._add_call(
            Call(
                node.target,
                args,
                kwargs,
                result,
                tuple(outputs),
                tuple((s, tuple(p)) for s, p in bindings.items()),
                frozenset(reads),
                inplace,
                (origin_of(node),),
            )
        )
        self.fallbacks.append(str(node.target))
        return env

    def _written_by(self, node: torch.fx.Node) -> list[str]:
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.is_mutable:
            return []
        written = []
        for argument, given in zip(schema.arguments, node.args):
            if argument.alias_info is not None and argument.alias_info.is_write:
                for x in pytree.tree_leaves(given):
                    lazy = self._env.get(x) if isinstance(x, torch.fx.Node) else None
                    if isinstance(lazy, Lazy) and lazy.view is not None:
                        written.append(lazy.view.buffer.name)
        return written

    def _output(self, node: torch.fx.Node) -> None:
        for given in pytree.tree_leaves(node.args[0], is_leaf=lambda x: x is None):
            value = self._argument(given)
            if isinstance(value, Lazy):
                expected = given.meta["val"]
                value = self.realize(value, self._output_stride(value, expected))
            self.graph.outputs.append(value)

    # Small parts.

    def _argument(self, x: Any) -> Any:
        return self._env[x] if isinstance(x, torch.fx.Node) else x

    def _variables(
        self, letter: str, size: Sequence[Expr], dims: Sequence[int]
    ) -> tuple[list[Expr], dict[int, Symbol]]:
        """(the index, the loop variable of each dimension that has more than one element)."""
        variables = {
            d: ix.Loop(f"{letter}{d}") for d in dims if size[d] != 1
        }
        return [variables.get(d, Integer(0)) for d in range(len(size))], variables

    def _same_layout(self, view: View, stride: Sequence[Expr] | None) -> bool:
        return stride is None or all(
            n == 1 or a == b for n, a, b in zip(view.size, view.stride, stride)
        )

    def _output_stride(self, x: Lazy, expected: torch.Tensor) -> tuple[Expr, ...] | None:
        """The layout that torch promises for a result; None where any will do."""
        stride = dense_stride(expected)
        return stride if x.view is None or stride is not None else None

    def _add(self, nest: Nest) -> None:
        origin = origin_of(self._node)
        self.graph.nodes.append(
            Nest(
                nest.variables,
                nest.sizes,
                nest.rvariables,
                nest.rsizes,
                nest.stores,
                nest.inplace,
                (origin,) if origin else (),
                (self._node.name if self._node is not None else "",),
            )
        )

    def _add_call(self, call: Call) -> None:
        self.graph.nodes.append(call)


class Constant(str):
    """The name of a constant of the graph that isn't a tensor: a subgraph."""


def _cheap(value: Value) -> bool:
    """Whether computing it again costs no more than reading it."""
    return (
        value.op in ("const", "index", "load")
        or not any(v.op == "load" for v in (value, *value.args))
        and all(a.op in ("const", "index") for a in value.args)
    )


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


def _rank_of(stride: Expr, dim: int) -> tuple:
    size = int(stride) if stride.is_Integer else 1 << 60
    return (-size, dim)
