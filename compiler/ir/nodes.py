"""The graph between ATen and Triton: buffers in memory, loop nests and calls of ATen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from sympy import Expr, Integer, Symbol

from . import index as ix
from .values import Value


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor in memory. `extent` elements from its first one belong to it."""

    name: str
    dtype: torch.dtype
    device: torch.device
    size: tuple[Expr, ...]
    stride: tuple[Expr, ...]

    @property
    def extent(self) -> Expr:
        if any(n == 0 for n in self.size):
            return Integer(0)
        return ix.flat([n - 1 for n in self.size], self.stride) + 1

    def __str__(self) -> str:
        size = ", ".join(map(str, self.size))
        return f"{self.name}: {str(self.dtype).removeprefix('torch.')}[{size}]"


@dataclass(frozen=True, slots=True)
class View:
    """A window on a buffer: element i lies at offset + Σ i·stride from the buffer's first."""

    buffer: Buffer
    size: tuple[Expr, ...]
    stride: tuple[Expr, ...]
    offset: Expr = Integer(0)  # noqa: RUF009 - immutable

    @property
    def whole(self) -> bool:
        return (
            self.offset == 0 and self.size == self.buffer.size and self.stride == self.buffer.stride
        )


@dataclass(frozen=True, slots=True)
class Store:
    """Write a value to a place of a buffer at every point of the loops that it depends on.

    mode: "set", or "add" (atomic).
    """

    buffer: Buffer
    position: Expr
    value: Value
    mode: str = "set"

    def __str__(self) -> str:
        sign = "+=" if self.mode == "add" else "="
        return f"{self.buffer.name}[{self.position}] {sign} {self.value}"


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops over `sizes`, and inside them over `rsizes` (reduced or scanned), with stores.

    Attributes:
        variables, sizes: The outer loops; every point is independent of the others.
        rvariables, rsizes: The inner loops, that reductions run over.
        stores: What it writes.
        inplace: Names of buffers that it writes but didn't make (inputs, scattered-into buffers).
        origins: The user's lines.
    """

    variables: tuple[Symbol, ...]
    sizes: tuple[Expr, ...]
    rvariables: tuple[Symbol, ...]
    rsizes: tuple[Expr, ...]
    stores: tuple[Store, ...]
    inplace: frozenset[str] = frozenset()
    origins: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def loops(self) -> dict[Symbol, Expr]:
        return dict(
            zip((*self.variables, *self.rvariables), (*self.sizes, *self.rsizes), strict=True)
        )

    def __str__(self) -> str:
        loops = ", ".join(f"{v} < {n}" for v, n in zip(self.variables, self.sizes))
        inner = ", ".join(f"{v} < {n}" for v, n in zip(self.rvariables, self.rsizes))
        head = f"for {loops or 'once'}" + (f" reduce {inner}" if inner else "")
        return "\n".join([head + ":", *(f"    {store}" for store in self.stores)])


@dataclass(frozen=True, slots=True)
class Ref:
    """An operand of an ATen call in the host program: a view, by reference."""

    view: View


class Constant(str):
    """The name of a constant of the graph that isn't a tensor: a subgraph."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call in the host program: an operator that runs by ATen, or a higher-order operator.

    Attributes:
        target: The operator (an OpOverload, a HigherOrderOperator, a built-in function).
        args, kwargs: Pytrees with `Ref` for tensors, expressions for sizes, and constants.
        result: The name of what it returns (a tensor, or a tuple that `parts` name).
        outputs: The buffers in its result by their path; () for a lone tensor.
        symbols: Sizes that become known with its result: (symbol, path).
        reads, inplace: Buffers' names.
    """

    target: Any
    args: tuple
    kwargs: dict[str, Any]
    result: str
    outputs: tuple[tuple[tuple[int, ...], Buffer], ...]
    symbols: tuple[tuple[Symbol, tuple], ...] = ()
    reads: frozenset[str] = frozenset()
    inplace: frozenset[str] = frozenset()
    origins: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.result} = {self.target}(…)  # by ATen"


@dataclass(frozen=True, slots=True)
class Loop(Call):
    """A `while_loop` as one kernel: the state stays in registers from the first round to the last.

    Attributes:
        nest: Its loops; its stores write the state after the last round.
        start, next: Each state tensor's value before the first round, and after one more.
        test: Whether there is one more round; it depends on no loop variable.

    `next` and `test` read the state as values "carry" (number,).
    """

    nest: Nest = field(kw_only=True)
    start: tuple[Value, ...] = field(kw_only=True)
    next: tuple[Value, ...] = field(kw_only=True)
    test: Value = field(kw_only=True)

    def __str__(self) -> str:
        return f"while {self.test}:\n{self.nest}"


@dataclass(frozen=True, slots=True)
class Product(Call):
    """Work for tensor cores, by a kernel of ours; its result is new memory.

    Attributes:
        kind: What is multiplied.
        tf32: One pass in TF32 is enough; else three passes give float32's own accuracy.
    """

    kind: str = field(kw_only=True)
    tf32: bool = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Contraction(Product):
    """A convolution, or one of its gradients, by a kernel of ours on tensor cores.

    Its result is `parts` partial sums, [parts, …], where parts is more than one: few programs with
    long sums leave most of a GPU idle. What reads it adds them up.

    Attributes:
        kind: "pixels": each output pixel of a channel is a sum over the other channels (and the
            taps of a window); "weights": each weight is a sum over all pixels.
        left: The weights [rows, columns, taps…], or the images that give the rows of weights.
        right: Images [count, channels, height, width].
        window: The window's side; its taps lie a pixel apart and are centred.
        transposed: The weights are read as [columns, rows], as for a gradient by the images.
    """

    left: View = field(kw_only=True)
    right: View = field(kw_only=True)
    window: int = field(kw_only=True)
    transposed: bool = field(kw_only=True)
    parts: int = field(kw_only=True)

    def __str__(self) -> str:
        return f"{self.result} = {self.kind} of {self.left.buffer.name} × {self.right.buffer.name}"


@dataclass(frozen=True, slots=True)
class Convolution(Product):
    """A convolution of images whose channels are neighbours, by a kernel of ours on tensor cores.

    Attributes:
        operand: The images' value at the loop variables d0 (image), d1 (channel), d2 (line) and
            d3 (column): a load, or what is made of loads.
        size: Of the result: [count, rows, height, width].
        channels: Of the images.
        weights: [rows, channels, window, window], the channels of each tap side by side.
        window: The window's side; its taps lie a pixel apart and are centred.
        store: Where the result goes, and its value, made of "product" and loads at the same
            variables (d1: the row).
        rounded: The operand lies in memory as TF32 holds it.
    """

    operand: Value = field(kw_only=True)
    size: tuple[Expr, ...] = field(kw_only=True)
    channels: Expr = field(kw_only=True)
    weights: View = field(kw_only=True)
    window: int = field(kw_only=True)
    store: Store = field(kw_only=True)
    rounded: bool = field(kw_only=True)

    def __str__(self) -> str:
        taps = f"{self.window}×{self.window} of {self.operand}"
        return f"product = {self.weights.buffer.name} × {taps}\n    {self.store}"


@dataclass(slots=True)
class Graph:
    """A lowered graph. Printable; `ir.verify` says what must hold."""

    inputs: list[Buffer | Symbol | None] = field(default_factory=list)
    nodes: list[Nest | Call] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = ["inputs: " + ", ".join(map(str, self.inputs))]
        lines += [str(node) for node in self.nodes]
        lines.append("return " + ", ".join(map(str, self.outputs)))
        return "\n".join(lines)
