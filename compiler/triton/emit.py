"""A loop nest as a Triton kernel.

The outer loops are flattened into `xindex`, blocks of XBLOCK points to a program. Nests that reduce
have a second axis, RBLOCK wide: either the whole inner loop at once (persistent), or walked in
passes, one pass for each reduction that needs an earlier one's result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from sympy import Expr, Symbol

from ..ir import index as ix
from ..ir.nodes import Buffer, Nest, Store
from ..ir.values import Value, Values
from . import reduce as rd
from .indexing import IndexPrinter
from .kernel import Argument, Kernel
from .scalar import TL_NAMES, TYPE_NAMES, constant, operation
from .schedule import Schedule, schedule

HEADER = """import triton
import triton.language as tl
from triton.language.extra import libdevice
from compile_lint.compiler.triton import library
"""
WIDE = 1 << 31


@dataclass(frozen=True, slots=True)
class Emitted:
    """A kernel, and what the host passes it: buffers' names, then size expressions."""

    kernel: Kernel
    buffers: tuple[str, ...]
    sizes: tuple[Expr, ...]


def emit(
    nest: Nest,
    values: Values,
    buffers: Mapping[str, Buffer],
    unaligned: frozenset[str] = frozenset(),
    interpreted: bool = False,
) -> Emitted:
    """Write a nest as a kernel named "kernel"; the caller may rename it.

    Raises:
        LoweringError: Something in it has no Triton text.
    """
    return Emitter(nest, values, buffers, unaligned, interpreted).run()


class Emitter:
    """Writes one nest; `Rounds` writes a loop around it."""

    def __init__(
        self,
        nest: Nest,
        values: Values,
        buffers: Mapping[str, Buffer],
        unaligned: frozenset[str],
        interpreted: bool,
    ) -> None:
        self.nest = nest
        self.values = values
        self.buffers = buffers
        self.unaligned = unaligned
        self.schedule: Schedule = schedule(nest, values, interpreted)
        self.loops = {**nest.loops}
        self.inner = frozenset(nest.rvariables)
        self.printer = IndexPrinter(self._symbol)
        self.pointers: dict[str, str] = {}
        self.written = {store.buffer.name for store in nest.stores}
        self.lines: list[str] = []
        self.indent = 1
        self.names: dict[int, str] = {}
        self.local: dict[int, str] = {}
        self.made = 0
        self.ordered = values.ordered(self._roots())
        self.quotients = {id(v): v.args[1] for v in self.ordered if self._by_one_number(v)}
        self.divisors = set(map(id, self.quotients.values()))
        self.wide = self._needs_wide_index()
        self.depth = self._depths()

    def _roots(self) -> list[Value]:
        roots = []
        for store in self.nest.stores:
            roots.append(store.value)
            roots.extend(self.values.inside(store.position))
        return roots

    def _depths(self) -> dict[int, int]:
        depth: dict[int, int] = {}
        for value in self.ordered:
            below = [depth[id(a)] for a in self.values.operands(value)]
            depth[id(value)] = max(below, default=0) + (value.op == "reduce")
        return depth

    def _needs_wide_index(self) -> bool:
        sizes = [ix.product(self.nest.sizes), ix.product(self.nest.rsizes)]
        used = {v.attrs[0] for v in self.ordered if v.op == "load"}
        sizes += [self.buffers[name].extent for name in used]
        sizes += [store.buffer.extent for store in self.nest.stores]
        return any(not n.is_Integer or int(n) >= WIDE for n in sizes)

    # Names.

    def _symbol(self, symbol: Symbol) -> str | None:
        if symbol in self.loops:
            return symbol.name
        behind = self.values.behind(symbol)
        return self._name(behind) if behind is not None else None

    def _name(self, value: Value) -> str:
        name = self.local.get(id(value)) or self.names.get(id(value))
        if name is None:
            raise AssertionError(f"used before it was computed: {value}")
        return name

    def _fresh(self) -> str:
        self.made += 1
        return f"v{self.made - 1}"

    def _pointer(self, buffer: str) -> str:
        if buffer not in self.pointers:
            prefix = "out" if buffer in self.written else "in"
            self.pointers[buffer] = f"{prefix}{len(self.pointers)}"
        return self.pointers[buffer]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    # The text.

    def run(self) -> Emitted:
        self._prologue()
        if not self.inner or self.schedule.persistent:
            self._straight()
        else:
            self._passes()
        return self._finished()

    def _prologue(self) -> None:
        program = "tl.program_id(0)" + (".to(tl.int64)" if self.wide else "")
        column = "[:, None]" if self.inner else ""
        count = self.printer(ix.product(self.nest.sizes))
        self.line(f"xindex = {program} * XBLOCK + tl.arange(0, XBLOCK){column}")
        self.line(f"xmask = xindex < {count}")
        self._coordinates("xindex", self.nest.variables, self.nest.sizes)
        if self.inner and self.schedule.persistent:
            self._inner_index("tl.arange(0, RBLOCK)[None, :]")

    def _inner_index(self, text: str) -> None:
        length = self.printer(ix.product(self.nest.rsizes))
        self.line(f"rindex = {text}" + (".to(tl.int64)" if self.wide else ""))
        self.line(f"rmask = rindex < {length}")
        self._coordinates("rindex", self.nest.rvariables, self.nest.rsizes)

    def _coordinates(
        self, flat: str, variables: tuple[Symbol, ...], sizes: tuple[Expr, ...]
    ) -> None:
        step: Expr = ix.product(())
        for k in range(len(variables) - 1, -1, -1):
            text = flat if step == 1 else f"({flat} // {self.printer(step)})"
            if k > 0:
                text = f"{text} % {self.printer(sizes[k])}"
            self.line(f"{variables[k].name} = {text}")
            step = step * sizes[k]

    def _straight(self) -> None:
        for value in self.ordered:
            self._compute(value, self.names)
        for store in self.nest.stores:
            self._store(store)

    def _passes(self) -> None:
        """Loop over the inner index once for each depth of reductions."""
        last = max(self.depth.values(), default=0)
        for depth in range(last + 1):
            self._outer_values(depth)
            reduces = [
                v for v in self.ordered if v.op == "reduce" and self.depth[id(v)] == depth + 1
            ]
            stores = [s for s in self.nest.stores if self._store_depth(s) == depth]
            inside = [s for s in stores if self._is_inner(s)]
            if reduces or inside:
                self._pass(reduces, inside)
            for store in stores:
                if not self._is_inner(store):
                    self._store(store)

    def _outer_values(self, depth: int) -> None:
        for value in self.ordered:
            if self.depth[id(value)] == depth and not value.symbols & self.inner:
                if value.op != "reduce" and id(value) not in self.names:
                    self._compute(value, self.names)

    def _store_depth(self, store: Store) -> int:
        return max(
            [
                self.depth[id(store.value)],
                *(self.depth[id(v)] for v in self.values.inside(store.position)),
            ]
        )

    def _is_inner(self, store: Store) -> bool:
        hidden = frozenset().union(*(v.symbols for v in self.values.inside(store.position)))
        return bool((store.value.symbols | store.position.free_symbols | hidden) & self.inner)

    def _pass(self, reduces: list[Value], stores: list[Store]) -> None:
        accumulators = {id(v): self._fresh() for v in reduces}
        for value in reduces:
            for text in rd.begin(value, accumulators[id(value)]):
                self.line(text)
        length = self.printer(ix.product(self.nest.rsizes))
        self.line(f"for roffset in range(0, {length}, RBLOCK):")
        self.indent += 1
        self._inner_index("roffset + tl.arange(0, RBLOCK)[None, :]")
        roots = [a for v in reduces for a in v.args]
        roots += [s.value for s in stores]
        roots += [v for s in stores for v in self.values.inside(s.position)]
        for value in self.values.ordered(roots):
            if id(value) not in self.names:
                self._compute(value, self.local)
        for value in reduces:
            operands = [self._name(a) for a in value.args]
            for text in rd.step(value, accumulators[id(value)], operands):
                self.line(text)
        for store in stores:
            self._store(store)
        self.indent -= 1
        self.local.clear()
        for value in reduces:
            self.names[id(value)] = name = self._fresh()
            for text in rd.end(value, accumulators[id(value)], name):
                self.line(text)
            self._invert(value, name)

    def _compute(self, value: Value, names: dict[int, str]) -> None:
        if value.op == "const":
            text = constant(value)
        elif value.op == "index":
            text = f"tl.full([], 0, tl.int64) + {self.printer(value.attrs[0])}"
            if value.dtype != torch.int64:
                text = f"({text}).to({TL_NAMES[value.dtype]})"
        elif value.op == "load":
            text = self._load(value)
        elif value.op in ("reduce", "scan"):
            name = names[id(value)] = self._fresh()
            whole = rd.whole if value.op == "reduce" else rd.scan
            for part in whole(value, name, [self._name(a) for a in value.args]):
                self.line(part)
            self._invert(value, name)
            return
        else:
            text = self._operation(value)
        names[id(value)] = name = self._fresh()
        self.line(f"{name} = {text}")
        self._invert(value, name)

    def _by_one_number(self, value: Value) -> bool:
        """Whether a row's elements are divided by one number, worked out once for them all."""
        if value.op != "div" or value.dtype != torch.float32 or not value.symbols & self.inner:
            return False
        by = value.args[1]
        return not by.symbols & self.inner and by.op not in ("const", "carry")

    def _invert(self, value: Value, name: str) -> None:
        """Beside a divisor, what makes dividing by it a multiplication."""
        if id(value) in self.divisors:
            self.line(f"{name}_scale, {name}_inverse = library.inverse({name})")

    def _operation(self, value: Value) -> str:
        names = [self._name(a) for a in value.args]
        if id(value) in self.quotients:
            by = names[1]
            return f"library.quotient({names[0]}, {by}, {by}_inverse, {by}_scale)"
        return operation(value, names)

    def _shape(self, symbols: frozenset[Symbol]) -> tuple[bool, bool]:
        """Whether something depends on the outer and on the inner loops."""
        return bool(symbols - self.inner), bool(symbols & self.inner)

    def _place(self, position: Expr, wanted: tuple[bool, bool]) -> str:
        """A position's text, with the shape of the wanted axes."""
        symbols = frozenset(s for s in position.free_symbols if s in self.loops)
        symbols = symbols.union(*(v.symbols for v in self.values.inside(position)))  # type: ignore[assignment]
        has = self._shape(symbols)  # type: ignore[arg-type]
        text = self.printer(position)
        if wanted[0] and not has[0]:
            text += " + xindex * 0"
        if wanted[1] and not has[1]:
            text += " + rindex * 0"
        return text

    def _mask(self, wanted: tuple[bool, bool]) -> list[str]:
        return ["xmask"] * wanted[0] + ["rmask"] * wanted[1]

    def _load(self, value: Value) -> str:
        name, position = value.attrs
        buffer = self.buffers[name]
        wanted = self._shape(value.symbols)
        mask = self._mask(wanted)
        other = "0"
        if value.args:
            mask.append(self._name(value.args[0]))
            other = repr(value.args[1].attrs[0])
        where = f", {' & '.join(mask)}, other={other}" if mask else ""
        text = f"tl.load({self._pointer(name)} + ({self._place(position, wanted)}){where})"
        if buffer.dtype in (torch.float16, torch.bfloat16):
            text += ".to(tl.float32)"
        return text

    def _store(self, store: Store) -> None:
        inner = bool(self.inner) and self._is_inner(store)
        wanted = (True, inner)
        place = self._place(store.position, wanted)
        mask = " & ".join(self._mask(wanted))
        pointer = f"{self._pointer(store.buffer.name)} + ({place})"
        value = self._name(store.value)
        if store.buffer.dtype in (torch.float16, torch.bfloat16):
            value += f".to({TL_NAMES[store.buffer.dtype]})"
        if store.mode == "add":
            self.line(f'tl.atomic_add({pointer}, {value}, {mask}, sem="relaxed")')
        else:
            self.line(f"tl.store({pointer}, {value}, {mask})")

    # The kernel.

    def _finished(self) -> Emitted:
        count = self.printer(ix.product(self.nest.sizes))
        blocks = ["XBLOCK", "RBLOCK"] if self.inner else ["XBLOCK"]
        sizes = dict(self.printer.sizes)
        arguments = [
            Argument(
                parameter,
                "*" + TYPE_NAMES[self.buffers[name].dtype],
                divisible=name not in self.unaligned,
                written=name in self.written,
            )
            for name, parameter in self.pointers.items()
        ]
        arguments += [Argument(name, "i64") for name in sizes.values()]
        parameters = [a.name for a in arguments] + [f"{b}: tl.constexpr" for b in blocks]
        head = ["", "", "@triton.jit", f"def kernel({', '.join(parameters)}):"]
        comments = [f"    # {origin}" for origin in self.nest.origins]
        source = HEADER + "\n".join([*head, *comments, *self.lines]) + "\n"
        kernel = Kernel(
            "kernel",
            source,
            tuple(arguments),
            self.schedule.configs,
            (f"cdiv({count}, XBLOCK)",),
            self.nest.origins,
        )
        return Emitted(kernel, tuple(self.pointers), tuple(sizes))
