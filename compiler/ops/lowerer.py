"""From a functional ATen graph to loop nests and ATen calls, node by node."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import sympy
import torch
from sympy import Expr, Integer, Symbol
from torch.utils import _pytree as pytree

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.nodes import Buffer, Call, Constant, Convolution, Graph, Nest, Ref, Store, View
from ..ir.values import Value
from .control import hosted, writes
from .homes import Homes
from .images import absorbed, given_back
from .layout import Layout, dense_stride
from .lazy import Lazy
from .nests import NestBuilder
from .origins import origin_of
from .pending import Pending
from .table import lowering_of
from .unbacked import bindings_of, makes_symbols

log = logging.getLogger("compile_lint.lowering")


class Lowerer(NestBuilder):
    """Lowers one graph; `run` gives the graph of nests and calls.

    Attributes:
        saved: How many results, the last ones, another graph reads by the strides that tracing
            gave them.
        fallbacks: Names of the operators left to ATen, in order.
        tensor_cores: The kernels' GPU multiplies float32 on tensor cores, in TF32.
        tf32: The user allows convolutions in TF32.
        homes: The places of tensors that are made where they are joined.
        open: By their buffers, convolutions that may still write what is made of their result.
        taken: By the buffers that they would have written, convolutions that write what is made of
            that, as they were, and the nest that it took.
    """

    def __init__(
        self,
        gm: torch.fx.GraphModule,
        constants: dict[str, Any] | None = None,
        on_cpu: bool = True,
        saved: int = 0,
        tensor_cores: bool = False,
        tf32: bool = False,
    ) -> None:
        super().__init__()
        self.gm = gm
        self.saved = saved
        self.tensor_cores = tensor_cores
        self.tf32 = tf32
        self.layout = Layout(gm, tensor_cores, tf32, saved)
        self.homes = Homes(gm, self.layout)
        self.open: dict[str, Convolution] = {}
        self.taken: dict[str, tuple[Convolution, Nest]] = {}
        self.on_cpu = on_cpu  # kernels are interpreted, or built for another machine
        if constants is not None:
            self.graph.constants = constants  # a program's, so that their names are unique in it
        self.fallbacks: list[str] = []
        self._env: dict[torch.fx.Node, Any] = {}
        self._pending = Pending(self, gm)

    # What lowerings ask for.

    def size_of(self, node: torch.fx.Node) -> tuple[Expr, ...]:
        return ix.exprs(node.meta["val"].shape)

    def device_of(self, node: torch.fx.Node) -> torch.device:
        return node.meta["val"].device

    def examples(self, args: Sequence[Any]) -> list[Any]:
        """Arguments as torch has them: fake tensors, numbers and symbolic numbers."""
        return [a.meta["val"] if isinstance(a, torch.fx.Node) else a for a in args]

    # The walk.

    def run(self) -> Graph:
        """Lower every node."""
        for node in self.gm.graph.nodes:
            self._node = node
            getattr(self, f"_{node.op}")(node)
        given_back(self)
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
        from .loops import one_kernel  # which lowers the loop's body by a lowerer

        if node.target is operator.getitem:
            self._env[node] = self._argument(node.args[0])[node.args[1]]
            return
        value = node.meta.get("val")
        if makes_symbols(node):
            # What names a size must run, even where its result has a lowering.
            self._env[node] = self._by_aten(node)
            return
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            self._env[node] = value.node.expr
            return
        if isinstance(value, (int, float, bool)):
            self._env[node] = value
            return
        if written := self._written_by(node):
            self._pending.settle(node, written, self._env)
        lowered = lowering_of(node.target)
        if hosted(node.target) == "while_loop":
            attempt = one_kernel
        elif lowered is not None:
            attempt = partial(Lowerer._lowered, lowered=lowered)
        else:
            attempt = None
        if attempt is not None:
            before, homes = list(self.graph.nodes), len(self._homes)
            opened, taken = dict(self.open), dict(self.taken)
            try:
                self._env[node] = attempt(self, node)
                return
            except LoweringError as error:
                log.info("%s isn't lowered: %s", node.target, error)
                self.graph.nodes[:] = before
                self.open, self.taken = opened, taken
                while len(self._homes) > homes:  # they lay in buffers of these nests
                    self._homes.popitem()
        self._env[node] = self._by_aten(node)

    def _lowered(self, node: torch.fx.Node, lowered: Callable) -> Any:
        args = pytree.tree_map_only(torch.fx.Node, self._argument, node.args)
        kwargs = pytree.tree_map_only(torch.fx.Node, self._argument, node.kwargs)
        known = len(self.made)
        result = lowered(self, node, *args, **kwargs)
        expected = node.meta["val"]
        if not may_alias(node.target):
            result = pytree.tree_map_only(Lazy, lambda x: self._unshared(x, known), result)
        if isinstance(result, tuple):
            return tuple(
                None if r is None else self._settled(node, r, e, _parts(node, k))
                for k, (r, e) in enumerate(zip(result, expected))
            )
        return self._settled(node, result, expected, [node])

    def _unshared(self, x: Lazy, known: int) -> Lazy:
        """x as a tensor of its own, where its operator promises one: no window on known memory."""
        if x.view is None or x.view.buffer.name in self.made[known:]:
            return x
        if self.homes.holds(x.view.buffer.name):  # nothing else reads what is there
            return x
        return Lazy(x.size, x.dtype, x.device, x.at)

    def _settled(
        self, node: torch.fx.Node, x: Lazy, expected: torch.Tensor, names: Sequence[torch.fx.Node]
    ) -> Lazy:
        """x traced once, so that what it can't do is known now, and kept if many will read it.

        `names` are the nodes that stand for x.
        """
        if x.size != ix.exprs(expected.shape) or x.dtype != expected.dtype:
            raise LoweringError(
                f"gave {x.dtype}{list(x.size)}, not {expected.dtype}{list(expected.shape)}"
            )
        if x.device != expected.device or any(a.device != x.device for a in self._tensors_of(node)):
            raise LoweringError("tensors on several devices")
        if x.device.type == "cpu" and not self.on_cpu:
            raise LoweringError("a tensor on the CPU")
        if x.view is not None:
            return x
        x = Lazy(x.size, x.dtype, x.device, self._remembering(x.at))
        index, variables = self.variables("d", x.size, range(len(x.size)))
        self.loops = {v: x.size[d] for d, v in variables.items()}
        if 0 in x.size:
            return x
        traced = x.at(index)
        home = self.homes.place(self, names[0]) if names else None
        if home is not None:
            return self.lazy(self.realize_in(x, home))
        if sum(len(name.users) for name in names) > 1 and not _cheap(traced):
            return self.lazy(self.realize(x, self.layout.stride(node, expected)))
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
            wanted = self.layout.operand(node, given)
            if wanted is None:
                view = x.view or self.realize(x, self.layout.stride(given, given.meta["val"]))
            else:
                view = self.realize(x, wanted)
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
                    part.dtype, part.device, ix.exprs(part.shape), self.layout.by_aten(node, part)
                )
                outputs.append((path, buffer))
                return self.lazy(View(buffer, buffer.size, buffer.stride))
            if isinstance(part, (tuple, list)):
                return tuple(name_parts(p, (*path, k)) for k, p in enumerate(part))
            if isinstance(part, (torch.SymInt, torch.SymFloat, torch.SymBool)):
                return part.node.expr
            return part

        env = name_parts(value, ())
        bindings = bindings_of(node)
        inplace = frozenset(self._written_by(node))
        if self._subgraphs_write(node):
            inplace = frozenset(reads)
        self.graph.nodes.append(
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
        if hosted(node.target) is None:
            self.fallbacks.append(str(node.target))
        return env

    def _subgraphs_write(self, node: torch.fx.Node) -> bool:
        if hosted(node.target) is None:
            return False
        used = [getattr(self.gm, str(n.target)) for n in node.all_input_nodes if n.op == "get_attr"]
        return any(writes(part) for part in used if isinstance(part, torch.fx.GraphModule))

    def _written_by(self, node: torch.fx.Node) -> set[str]:
        """Buffers that an operator may write into."""
        if self._subgraphs_write(node):
            return _buffers_of(self._env.get(n) for n in node.all_input_nodes)
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.is_mutable:
            return set()
        written: set[str] = set()
        for k, argument in enumerate(schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                given = node.args[k] if k < len(node.args) else node.kwargs.get(argument.name)
                nodes = [x for x in pytree.tree_leaves(given) if isinstance(x, torch.fx.Node)]
                written |= _buffers_of(self._env.get(x) for x in nodes)
        return written

    def _output(self, node: torch.fx.Node) -> None:
        results = pytree.tree_leaves(node.args[0], is_leaf=lambda x: x is None)
        for k, given in enumerate(results):
            value = self._argument(given)
            if isinstance(value, Lazy):
                expected = given.meta["val"]
                if k >= len(results) - self.saved:
                    value = self._laid_out(value, ix.exprs(expected.stride()))
                else:
                    value = self.realize(value, self._output_stride(value, expected))
            self.graph.outputs.append(value)

    def _laid_out(self, x: Lazy, stride: tuple[Expr, ...]) -> View:
        """x in memory with these very strides, even if they leave gaps or overlap."""
        if x.view is not None and self._same_layout(x.view, stride):
            return x.view
        repeated = [t == 0 and n != 1 for n, t in zip(x.size, stride)]
        if any(repeated):  # one element stands for all of its dimension
            size = tuple(Integer(1) if r else n for r, n in zip(repeated, x.size))
            view = self.realize(Lazy(size, x.dtype, x.device, x.at), stride)
            return View(view.buffer, x.size, stride)
        return self.realize(x, stride)

    def realize_in(self, x: Lazy, place: View) -> View:
        """x in a place of its own in a buffer that others are made in, too."""
        known = self._homes.get((id(x), place))
        if x.view == place or known is not None:
            return place
        index, variables = self.variables("d", x.size, range(len(x.size)))
        order = [d for d in (0, 2, 3, 1) if d in variables]  # channels are neighbours
        self.loops = {variables[d]: x.size[d] for d in order}
        position = sympy.expand(ix.flat(index, place.stride, place.offset))
        store = Store(place.buffer, position, x.at(index))
        if not self._absorbed(store):
            self._add(store, inplace=self.homes.inplace(self, place.buffer))
        self._homes[(id(x), place)] = (x, place)
        return place

    def _absorbed(self, store: Store) -> bool:
        return bool(self.open) and absorbed(self, store, self.loops)

    # Small parts.

    def operand(self, x: Any) -> Any:
        """What a node of the graph was lowered to."""
        return self._argument(x)

    def space(self, size: Sequence[Expr]) -> tuple[list[Expr], tuple[Symbol, ...]]:
        """(the index of a point of an index space, its loop variables)."""
        index, variables = self.variables("d", size, range(len(size)))
        return index, tuple(variables.values())

    def _argument(self, x: Any) -> Any:
        return self._env[x] if isinstance(x, torch.fx.Node) else x

    def _output_stride(self, x: Lazy, expected: torch.Tensor) -> tuple[Expr, ...] | None:
        """The layout that torch promises for a result; None where any will do."""
        stride = dense_stride(expected)
        return stride if x.view is None or stride is not None else None


def may_alias(target: Any) -> bool:
    """Whether an operator's result may share memory with its operands."""
    schema = getattr(target, "_schema", None)
    if schema is None or schema.name == "aten::_unsafe_view":  # whose operand nobody uses again
        return True
    return any(returned.alias_info is not None for returned in schema.returns)


def _buffers_of(values: Iterable[Any]) -> set[str]:
    return {x.view.buffer.name for x in values if isinstance(x, Lazy) and x.view is not None}


def _parts(node: torch.fx.Node, part: int) -> list[torch.fx.Node]:
    """The nodes that stand for one of the tensors in a node's result."""
    parts = [user for user in node.users if user.target is operator.getitem]
    return [user for user in parts if user.args[1] == part]


def _cheap(value: Value) -> bool:
    """Whether computing it again costs no more than reading it."""
    return value.op in ("const", "index", "load") or (
        not any(v.op == "load" for v in (value, *value.args))
        and all(a.op in ("const", "index") for a in value.args)
    )
