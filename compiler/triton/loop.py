"""A `Loop` as a Triton kernel: its state in registers, its test and body inside a `while`."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import LoweringError
from ..ir.nodes import Buffer, Loop
from ..ir.values import Value, Values
from .emit import Emitted, Emitter


def emit_loop(
    loop: Loop,
    values: Values,
    buffers: Mapping[str, Buffer],
    unaligned: frozenset[str] = frozenset(),
    interpreted: bool = False,
) -> Emitted:
    """Write a loop as a kernel named "kernel".

    Raises:
        LoweringError: Something in it has no Triton text.
    """
    return Rounds(loop, values, buffers, unaligned, interpreted).run()


class Rounds(Emitter):
    """Writes one loop."""

    def __init__(
        self,
        loop: Loop,
        values: Values,
        buffers: Mapping[str, Buffer],
        unaligned: frozenset[str],
        interpreted: bool,
    ) -> None:
        self.loop = loop
        super().__init__(loop.nest, values, buffers, unaligned, interpreted)
        self.turning = self._turning()

    def _roots(self) -> list[Value]:
        return [*super()._roots(), *self.loop.start, *self.loop.next, self.loop.test]

    def _turning(self) -> set[int]:
        """Values that depend on the state, so that each round computes them anew."""
        found: set[int] = set()
        for value in self.ordered:
            if value.op == "carry" or any(id(v) in found for v in self.values.operands(value)):
                found.add(id(value))
        return found

    def run(self) -> Emitted:
        if self.inner and not self.schedule.persistent:
            raise LoweringError("a loop over more than one program holds")
        self._prologue()
        for value in self.ordered:
            if value.op == "carry":
                self.names[id(value)] = f"state{value.attrs[0]}"
            elif id(value) not in self.turning:
                self._compute(value, self.names)
        for k, (value, store) in enumerate(zip(self.loop.start, self.nest.stores)):
            self.line(f"state{k} = {self._held(value, store.value)}")
        self._test()
        self.line("while more:")
        self.indent += 1
        for value in self.values.ordered(self.loop.next):
            self._again(value)
        for k, (value, store) in enumerate(zip(self.loop.next, self.nest.stores)):
            self.line(f"next{k} = {self._held(value, store.value)}")
        for k in range(len(self.loop.next)):
            self.line(f"state{k} = next{k}")
        self.local.clear()
        self._test()
        self.indent -= 1
        for store in self.nest.stores:
            self._store(store)
        return self._finished()

    def _test(self) -> None:
        for value in self.values.ordered([self.loop.test]):
            self._again(value)
        text = self._name(self.loop.test)
        if self.inner:
            block = f"tl.broadcast_to({text}, [XBLOCK, 1]).to(tl.int32)"
            text = f"tl.max(tl.max({block}, 1), 0) != 0"
        self.line(f"more = {text}")
        self.local.clear()

    def _again(self, value: Value) -> None:
        if value.op != "carry" and id(value) in self.turning and id(value) not in self.local:
            self._compute(value, self.local)

    def _held(self, value: Value, state: Value) -> str:
        """A value with the shape that the state keeps from round to round."""
        name = self._name(value)
        if state.symbols:
            shape = "[XBLOCK, RBLOCK]" if self.inner else "[XBLOCK]"
        elif self.inner:
            shape = "[XBLOCK, 1]"
        else:
            return name
        return f"tl.broadcast_to({name}, {shape})"
