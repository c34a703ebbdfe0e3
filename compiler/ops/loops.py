"""`while_loop` as one kernel, where every round of it stays inside one program.

Each state tensor has one element or the shape that all others share. The rounds are pointwise in
that shape: then any number of programs go round side by side, if the test needs only one-element
state. Or they reduce it to single numbers: then the whole state must fit one program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy
import torch
from sympy import Expr, Integer, Symbol
from torch.utils import _pytree as pytree

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.nodes import Call, Loop, Nest, Ref, Store, View
from ..ir.values import Value
from ..passes.predicate import predicate
from .indexing import place
from .lazy import SUPPORTED, Lazy, held, reduced_size
from .lowerer import Lowerer, dense_stride
from .origins import origin_of

MOST_ELEMENTS = 8192  # of a state that one program holds
MOST_VALUES = 400
aten = torch.ops.aten


def one_kernel(lower: Lowerer, node: torch.fx.Node) -> tuple[Lazy, ...]:
    """Lower a `while_loop` node to a `Loop`; the state after its last round.

    Raises:
        LoweringError: It isn't such a loop.
    """
    test_node, body_node, carried, *rest = node.args
    additional = rest[0] if rest else ()
    given = [lower.operand(x) for x in (*carried, *additional)]  # type: ignore[misc]
    device = _device(given)
    homes = [x.device if isinstance(x, Lazy) else device for x in given]
    given = [_moved(lower, x, device) if isinstance(x, Lazy) else x for x in given]
    states = given[: len(carried)]  # type: ignore[arg-type]
    expected = node.meta["val"]
    if not all(isinstance(x, Lazy) and x.dtype in SUPPORTED for x in states):
        raise LoweringError("a loop over something else than tensors")
    if device.type == "cpu" and not lower.on_cpu:
        raise LoweringError("a loop on the CPU")
    space = _space([x.size for x in states])
    index, variables = lower.space(space)
    lower.loops = dict(zip(variables, (n for n in space if n != 1)))
    start = tuple(x.at(_at(x, index)) for x in states)
    carries = [_carry(lower, k, x, index) for k, x in enumerate(states)]
    operands = [*carries, *given[len(states) :]]
    (test,) = _Round(lower, test_node, operands, space).results()
    rounds = _Round(lower, body_node, operands, space).results()
    going = test.at([Integer(0)] * len(test.size)) if isinstance(test, Lazy) else None
    if going is None or going.symbols:
        raise LoweringError("a loop whose test isn't one truth value")
    follow = []
    for x, y in zip(states, rounds, strict=True):
        if not isinstance(y, Lazy) or y.size != x.size or y.dtype != x.dtype:
            raise LoweringError("a loop that changes its state's shape")
        value = lower.values.cast(y.at(_at(x, index)), held(x.dtype))
        if held(x.dtype) != x.dtype:
            value = lower.values.round_to(value, x.dtype)
        follow.append(value)
    results = _added(lower, node, space, variables, (start, tuple(follow), going), states, expected)
    used = [u.args[1] for u in node.users if u.users]
    return tuple(
        _moved(lower, x, home) if k in used else x
        for k, (x, home) in enumerate(zip(results, homes))
    )


def _device(given: Sequence[Any]) -> torch.device:
    """Where the loop runs: a counter made on the CPU comes to the tensors on the GPU."""
    devices = [x.device for x in given if isinstance(x, Lazy)]
    return next((d for d in devices if d.type != "cpu"), devices[0])


def _moved(lower: Lowerer, x: Lazy, device: torch.device) -> Lazy:
    """x on a device; only single numbers are brought from one to another.

    Raises:
        LoweringError: x has more elements.
    """
    if x.device == device:
        return x
    if any(n != 1 for n in x.size):
        raise LoweringError("a loop over tensors on several devices")
    view = lower.realize(x) if x.view is None else x.view
    buffer = lower.new_buffer(x.dtype, device, x.size, ix.contiguous_stride(x.size))
    copy = Call(
        aten._to_copy.default,
        (Ref(view),),
        {"device": device},
        buffer.name,
        (((), buffer),),
        reads=frozenset({view.buffer.name}),
    )
    lower.graph.nodes.append(copy)
    return lower.lazy(View(buffer, x.size, buffer.stride))


def _added(
    lower: Lowerer,
    node: torch.fx.Node,
    space: tuple[Expr, ...],
    variables: tuple[Symbol, ...],
    rounds: tuple[tuple[Value, ...], tuple[Value, ...], Value],
    states: Sequence[Lazy],
    expected: Sequence[torch.Tensor],
) -> tuple[Lazy, ...]:
    start, follow, test = rounds
    traced = lower.values.ordered([*follow, test])
    if len(traced) > MOST_VALUES:
        raise LoweringError("a loop with a long body")
    whole = any(v.op == "reduce" for v in traced)
    count = ix.product(space)
    if whole and not (count.is_Integer and int(count) <= MOST_ELEMENTS):
        raise LoweringError("a loop that reduces more than one program holds")
    sizes = tuple(n for n in space if n != 1)
    if 0 in sizes or any(str(s).startswith("u") for n in sizes for s in n.free_symbols):
        raise LoweringError("a loop over a state that may have no elements")
    index, _ = lower.space(space)
    stores, results = [], []
    for k, (x, example) in enumerate(zip(states, expected, strict=True)):
        stride = dense_stride(example) or ix.contiguous_stride(x.size)
        buffer = lower.new_buffer(x.dtype, x.device, x.size, stride)
        position = sympy.expand(ix.flat(_at(x, index), stride))
        stores.append(Store(buffer, position, _carry(lower, k, x, index).at(_at(x, index))))
        results.append(lower.lazy(View(buffer, x.size, stride)))
    outer, inner = ((), variables) if whole else (variables, ())
    origin = (origin_of(node),) if origin_of(node) else ()
    nest = Nest(
        outer,
        () if whole else sizes,
        inner,
        sizes if whole else (),
        tuple(stores),
        origins=origin,
        names=("while_loop",),
    )
    read = lower.values.ordered([*start, *follow, test])
    lower.graph.nodes.append(
        Loop(
            "while_loop",
            (),
            {},
            f"loop{len(lower.graph.nodes)}",
            tuple(((k,), s.buffer) for k, s in enumerate(stores)),
            reads=frozenset(v.attrs[0] for v in read if v.op == "load"),
            origins=origin,
            nest=nest,
            start=start,
            next=follow,
            test=test,
        )
    )
    return tuple(results)


def _space(sizes: Sequence[tuple[Expr, ...]]) -> tuple[Expr, ...]:
    wide = {size for size in sizes if any(n != 1 for n in size)}
    if len(wide) > 1:
        raise LoweringError("a loop over tensors of several shapes")
    return wide.pop() if wide else ()


def _at(x: Lazy, index: Sequence[Expr]) -> list[Expr]:
    """The point of a state tensor that belongs to a point of the space."""
    return [Integer(0)] * len(x.size) if all(n == 1 for n in x.size) else list(index)


def _carry(lower: Lowerer, number: int, x: Lazy, index: Sequence[Expr]) -> Lazy:
    """A state tensor as a round finds it; each point of the space sees its own element."""
    values = lower.values
    own = tuple(_at(x, index))
    single = all(n == 1 for n in x.size)

    def at(i: Sequence[Expr]) -> Value:
        if tuple(i) != own:
            raise LoweringError("a loop whose elements read each other")
        where = () if single else (values.index(ix.flat(own, ix.contiguous_stride(x.size))),)
        return values.make("carry", where, (number,), held(x.dtype))

    return Lazy(x.size, x.dtype, x.device, at)


class _Round(Lowerer):
    """Traces the test or the body of a loop; nothing in it may need memory of its own."""

    def __init__(
        self, outer: Lowerer, part: Any, operands: Sequence[Any], space: tuple[Expr, ...]
    ) -> None:
        gm = getattr(outer.gm, str(part.target))
        super().__init__(predicate(gm), outer.graph.constants)
        self.values = outer.values
        self.inputs: Iterator[Any] = iter(operands)
        self.space_size = space
        self.outer = outer

    def results(self) -> list[Any]:
        self.run()
        _, variables = self.space(self.space_size)
        sizes = dict(zip(variables, (n for n in self.space_size if n != 1)))
        self.loops, self.outer.loops = sizes, sizes
        return self.graph.outputs

    def _placeholder(self, node: torch.fx.Node) -> None:
        self._env[node] = next(self.inputs)

    def _output(self, node: torch.fx.Node) -> None:
        self.graph.outputs = [self._argument(x) for x in pytree.tree_leaves(node.args[0])]

    def _call_function(self, node: torch.fx.Node) -> None:
        if node.target is aten._local_scalar_dense.default:
            if all(u.target is aten.select.int and u.args[2] is node for u in node.users):
                self._env[node] = self._argument(node.args[0])
                return
            raise LoweringError("a loop that hands the host a number")
        if node.target is aten.select.int and isinstance(self._argument(node.args[2]), Lazy):
            self._env[node] = self._selected(*map(self._argument, node.args))
            return
        super()._call_function(node)

    def _selected(self, x: Lazy, dim: int, where: Lazy) -> Lazy:
        """x at a place along a dimension that a tensor tells: the host needn't know it."""
        dim %= len(x.size)
        at = place(self, where.at([Integer(0)] * len(where.size)), x.size[dim])
        size = tuple(n for d, n in enumerate(x.size) if d != dim)
        return Lazy(size, x.dtype, x.device, lambda i: x.at([*i[:dim], at, *i[dim:]]))

    def _settled(self, node: torch.fx.Node, x: Lazy, expected: torch.Tensor, readers: int) -> Lazy:
        if x.size != ix.exprs(expected.shape) or x.dtype != expected.dtype:
            raise LoweringError(f"gave {x.dtype}{list(x.size)}")
        return Lazy(x.size, x.dtype, x.device, self._remembering(x.at))

    def _by_aten(self, node: torch.fx.Node) -> Any:
        raise LoweringError(f"a loop with {node.target}")

    def realize(self, x: Lazy, stride: Sequence[Expr] | None = None) -> View:
        raise LoweringError("a loop with results in memory")

    def scan(self, *args: Any, **kwargs: Any) -> Lazy:
        raise LoweringError("a loop with a scan")

    def scatter(self, *args: Any, **kwargs: Any) -> Any:
        raise LoweringError("a loop with a scatter")

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
        """A single number from the whole space."""
        index, variables = self.space(size)
        reduced = tuple(n for d, n in enumerate(size) if d in dims and n != 1)
        single = not variables
        if not single and reduced != tuple(n for n in self.space_size if n != 1):
            raise LoweringError("a loop that reduces something else than its whole state")
        if not single and len(variables) != len(reduced):
            raise LoweringError("a loop that reduces along some dimensions")
        self.loops = self.outer.loops = dict(zip(variables, reduced))
        if tuple(variables) != tuple(self.space(self.space_size)[1]) and not single:
            raise LoweringError("a loop that reduces another view of its state")
        result = finish(value(list(index), tuple(variables)))
        return Lazy(reduced_size(size, dims, keepdim), dtype, device, lambda i: result)
