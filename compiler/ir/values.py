"""Scalar values: what a kernel computes at one point of its loops.

A value is a node of an expression graph; equal values are one object, so common subexpressions
are found by construction and identity is equality. Values print as a person would write them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import sympy
import torch
from sympy import Expr, Symbol

from . import index as ix

COMPARISONS = frozenset(
    "eq ne lt le gt ge logical_and logical_or logical_not isnan isinf signbit".split()
)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A scalar computed at each point of a loop nest.

    Attributes:
        op: "const", "index", "load", "reduce", "scan", or the name of a scalar operation.
        args: Operands. A load has none or (mask, other).
        attrs: const: (number,); index: (expression,); load: (buffer's name, position);
            reduce: (kind, loop variables); scan: (kind, loop variable, reverse).
        dtype: What it is held as; half precision is held as float32.
        symbols: The loop variables that it depends on.
    """

    op: str
    args: tuple[Value, ...]
    attrs: tuple
    dtype: torch.dtype
    symbols: frozenset[Symbol] = field(repr=False, default=frozenset())

    def __str__(self) -> str:
        if self.op == "const":
            return str(self.attrs[0])
        if self.op == "index":
            return f"<{self.attrs[0]}>"
        if self.op == "load":
            return f"{self.attrs[0]}[{self.attrs[1]}]"
        inside = ", ".join(map(str, self.args))
        if self.op in ("reduce", "scan"):
            return f"{self.attrs[0]}_{self.op}({inside})"
        return f"{self.op}({inside})"


class Values:
    """Makes values; one for each graph."""

    def __init__(self) -> None:
        self._made: dict[tuple, Value] = {}
        self._indirect: dict[Symbol, Value] = {}
        self._symbol_of: dict[int, Symbol] = {}
        self.mask: Value | None = None

    def make(self, op: str, args: tuple[Value, ...], attrs: tuple, dtype: torch.dtype) -> Value:
        key = (op, tuple(map(id, args)), attrs, dtype)
        if attrs and isinstance(attrs[0], float):
            key = (*key, repr(attrs[0]))  # 0.0 and -0.0 are equal, nan isn't itself
        found = self._made.get(key)
        if found is None:
            found = Value(op, args, attrs, dtype, self._depends(op, args, attrs))
            self._made[key] = found
        return found

    def _depends(self, op: str, args: tuple[Value, ...], attrs: tuple) -> frozenset[Symbol]:
        seen: frozenset[Symbol] = frozenset().union(*(a.symbols for a in args))
        if op in ("index", "load"):
            for symbol in attrs[-1].free_symbols:
                if isinstance(symbol, ix.Loop):
                    seen |= {symbol}
                elif isinstance(symbol, ix.Indirect):
                    seen |= self._indirect[symbol].symbols
        if op == "reduce":
            seen -= set(attrs[1])
        return seen

    def const(self, value: bool | int | float, dtype: torch.dtype) -> Value:
        if dtype == torch.bool:
            value = bool(value)
        elif dtype.is_floating_point:
            value = float(value)
        else:
            value = wrapped(int(value), dtype)
        return self.make("const", (), (value,), dtype)

    def index(self, e: Expr, dtype: torch.dtype = torch.int64) -> Value:
        if e.is_Integer:
            return self.const(int(e), dtype)
        return self.make("index", (), (e,), dtype)

    def load(
        self, buffer: str, position: Expr, dtype: torch.dtype, other: float = 0, masked: bool = True
    ) -> Value:
        args: tuple[Value, ...] = ()
        if masked and self.mask is not None:
            args = (self.mask, self.const(other, dtype))
        return self.make("load", args, (buffer, position), dtype)

    def call(self, op: str, *args: Value, dtype: torch.dtype | None = None) -> Value:
        if dtype is None:
            dtype = torch.bool if op in COMPARISONS else args[-1].dtype
        return self.make(op, args, (), dtype)

    def cast(self, value: Value, dtype: torch.dtype) -> Value:
        if value.dtype == dtype:
            return value
        if value.op == "const":
            number = value.attrs[0]
            if dtype.is_floating_point or isinstance(number, int):
                if dtype in (torch.bool, torch.int64, torch.float32, torch.float64):
                    return self.const(number, dtype)
        return self.make("cast", (value,), (), dtype)

    def round_to(self, value: Value, dtype: torch.dtype) -> Value:
        """The value as half precision would hold it, held as float32."""
        return self.make("round_to", (value,), (dtype,), torch.float32)

    def where(self, condition: Value, a: Value, b: Value) -> Value:
        if condition.op == "const":
            return a if condition.attrs[0] else b
        return self.make("where", (condition, a, b), (), a.dtype)

    def indirect(self, value: Value) -> Symbol:
        """A value as a variable of index expressions: x[idx[i]]."""
        if value.op == "index":
            raise ValueError("an index expression needs no variable of its own")
        symbol = self._symbol_of.get(id(value))
        if symbol is None:
            symbol = ix.Indirect(f"t{len(self._indirect)}")
            self._symbol_of[id(value)] = symbol
            self._indirect[symbol] = value
        return symbol

    def behind(self, symbol: Symbol) -> Value | None:
        return self._indirect.get(symbol)

    @contextmanager
    def masked(self, condition: Value) -> Iterator[None]:
        """Loads made inside touch no memory out of bounds where the condition is false.

        What they read there is 0, or what happens to lie at a place that surely is in bounds.
        """
        before = self.mask
        self.mask = condition if before is None else self.call("logical_and", before, condition)
        try:
            yield
        finally:
            self.mask = before

    def substitute(
        self,
        roots: Sequence[Value],
        mapping: Mapping[Symbol, Expr],
        sizes: ix.Sizes,
        on_load: Callable[[Value], Value | None] | None = None,
    ) -> list[Value]:
        """Rewrite values with other loop variables, simplified against the new loops' sizes.

        `on_load` sees each rewritten load and may give another value in its place.
        """
        memo: dict[int, Value] = {}

        def position(e: Expr) -> Expr:
            changes: dict[Symbol, Expr] = {}
            for symbol in e.free_symbols:
                behind = self._indirect.get(symbol)  # type: ignore[arg-type]
                if behind is not None:
                    changed = memo[id(behind)]
                    changes[symbol] = (  # type: ignore[index]
                        changed.attrs[0]
                        if changed.op == "index"
                        else sympy.Integer(changed.attrs[0])
                        if changed.op == "const"
                        else self.indirect(changed)
                    )
                elif symbol in mapping:
                    changes[symbol] = mapping[symbol]  # type: ignore[index]
            if not changes:
                return e
            return ix.simplify(sympy.expand(e.xreplace(changes)), sizes)

        def rewrite(value: Value) -> Value:
            args = tuple(memo[id(arg)] for arg in value.args)
            attrs = value.attrs
            if value.op == "index":
                e = position(attrs[0])
                if e.is_Integer:
                    return self.const(int(e), value.dtype)
                attrs = (e,)
            elif value.op == "load":
                attrs = (attrs[0], position(attrs[1]))
            elif value.op == "reduce":
                changed = tuple(
                    dict.fromkeys(s for v in attrs[1] for s in _ordered(mapping.get(v, v), sizes))
                )
                attrs = (attrs[0], changed, *attrs[2:])
            elif value.op == "scan":
                attrs = (attrs[0], mapping.get(attrs[1], attrs[1]), *attrs[2:])
            new = self.make(value.op, args, attrs, value.dtype)
            if new.op == "load" and on_load is not None:
                return on_load(new) or new
            return new

        for value in self.ordered(roots):
            memo[id(value)] = rewrite(value)
        return [memo[id(root)] for root in roots]

    def operands(self, value: Value) -> tuple[Value, ...]:
        """Everything that must be computed first, values inside positions included."""
        if value.op not in ("index", "load"):
            return value.args
        return (*value.args, *self.inside(value.attrs[-1]))

    def inside(self, e: Expr) -> list[Value]:
        """The values that an index expression is made with."""
        found = [s for s in e.free_symbols if isinstance(s, ix.Indirect)]
        return [self._indirect[s] for s in sorted(found, key=lambda s: s.name)]

    def ordered(self, roots: Sequence[Value]) -> list[Value]:
        """All values under the roots, operands first."""
        order: dict[int, Value] = {}
        stack: list[tuple[Value, bool]] = [(root, False) for root in reversed(roots)]
        while stack:
            value, ready = stack.pop()
            if id(value) in order:
                continue
            if ready:
                order[id(value)] = value
                continue
            stack.append((value, True))
            stack.extend((v, False) for v in reversed(self.operands(value)) if id(v) not in order)
        return list(order.values())


def wrapped(number: int, dtype: torch.dtype) -> int:
    """A whole number as an integer dtype holds it: -1 is 255 in uint8, as in C and ATen."""
    lowest, count = torch.iinfo(dtype).min, 1 << torch.iinfo(dtype).bits
    return (number - lowest) % count + lowest


def _ordered(e: Expr, sizes: ix.Sizes) -> list[Symbol]:
    return [s for s in sizes if e.has(s)]
