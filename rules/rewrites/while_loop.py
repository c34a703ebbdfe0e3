"""`while` on a tensor, and loops with a `break` that a tensor decides → `torch.while_loop`.

What changes from round to round is carried, the rest is captured. `while True` with a `break` at
its head tests the opposite; other `break`s carry a flag, and so do `continue` and `else`. Where the
number of rounds has a bound that Python knows, a loop of that many rounds that keeps its values
once it is done is the second choice: it has gradients in every mode, and needs no operator.

Declined: what `carries` and `rounds` decline; loops of which nothing is read afterwards; loops that
may run no round, where one backwards would be NaN.
`while_loop` computes gradients since torch 2.9; under torch.compile's default mode its backward
pass needs `capture_scalar_outputs`, which only `fullgraph=True` sets.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.context import Context
from ..base.finding import Fix
from ..base.rewriting import Code, Declined
from .buffers import growing, grown_fix
from .carries import Carry, Loop, carries, loop_of, usable
from .frozen import bounded, masked_while
from .gradients import differentiable, read_again, seed, steep
from .jumps import Jump, jump_of, needs_space
from .layout import operand, statement
from .loop_effects import check_body
from .rounds import Round, beside, not_done, test_text
from .truths import negated

_NOTE = "# the backward pass of while_loop runs one round even where the loop runs none"


@dataclass(frozen=True, slots=True)
class Counter:
    """The index of a `for` loop as a carried tensor: name, start, stop and step as source.

    `start` is a tensor, or digits; `before` are lines to run first.
    """

    name: str
    start: str
    stop: str
    step: str
    before: tuple[str, ...] = ()


def while_fixes(stmt: ast.While, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the rewrites of a `while` loop. Raises Declined."""
    if growing(stmt, ctx):
        yield grown_fix(stmt, ctx, code)
        return
    yield as_while_loop(stmt, ctx, code)
    bound = bounded(stmt, ctx, code)
    if bound is not None:
        yield from attempt(masked_while, stmt, bound, ctx, code.anew())


def attempt(make: Callable[..., Fix], *given: Any) -> Iterator[Fix]:
    """Yield a further rewrite where there is one."""
    try:
        fix = make(*given)
    except Declined:
        return
    yield fix


def as_while_loop(
    stmt: ast.While | ast.For, ctx: Context, code: Code, counter: Counter | None = None
) -> Fix:
    """Return the fix that makes a loop a `torch.while_loop`. Raises Declined."""
    loop = loop_of(stmt)
    check_body(loop, ctx, code)
    own = frozenset({counter.name} if counter else ())
    carried = carries(loop, ctx, code, own)
    if counter:
        usable(counter.name, loop, ctx)
    if not any(carry.after for carry in carried):
        raise Declined("nothing that the loop computes is read behind it")
    numbers = frozenset({c.name for c in carried if c.number} | own)
    names = (*own, *(carry.name for carry in carried))
    indent = code.indent(stmt)
    inner = indent + code.step
    round_ = Round(ctx, code, loop, names, numbers, _indices(loop, numbers))
    head, body = _rotated(stmt)
    test = _head_test(head, stmt, ctx, code, counter)
    more, step = code.fresh("more"), code.fresh("step")
    lines = round_.lines(body, inner)
    values = [f"{name}.clone()" if round_.old.get(name, True) else name for name in names]
    if counter:
        values[0] = f"{counter.name} + {counter.step}"
    call = _Call(loop, carried, more, step, indent, ctx, code)
    if counter:
        call.start(_begin(counter, carried, code), "")
    before, skipping = call.carry(bool(test))
    if round_.done:
        test = f"~{round_.done} & {operand(test)}" if test else f"~{round_.done}"
        names, values = (round_.done, *names), [round_.done, *values]
        call.start(not_done(carried, code), round_.done if stmt.orelse else "", first=True)
    if not test:
        raise Declined("the loop never ends")
    given = ", ".join(names)
    before = [*(() if counter is None else (indent + part for part in counter.before)), *before]
    text = [
        *before,
        *([""] if before or needs_space(stmt, code.block_of(stmt)) else []),
        f"{indent}def {more}({given}):",
        *_returned(test, inner, code),
        "",
        f"{indent}def {step}({given}):",
        *lines,
        *_returned(_tuple(values), inner, code),
        "",
        *call.lines(skipping),
    ]
    if stmt.orelse:
        text += _otherwise(stmt, round_, names, indent, code)
    return code.fix("carry the loop through `torch.while_loop`", [code.lines(stmt, text)])


@dataclass
class _Call:
    """The call of `while_loop`, and what is written around it."""

    loop: Loop
    carried: Sequence[Carry]
    more: str
    step: str
    indent: str
    ctx: Context
    code: Code
    starts: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    def start(self, value: str, after: str, first: bool = False) -> None:
        """Add a carry: what starts it and the name of its last value, "" for none."""
        place = 0 if first else len(self.starts)
        self.starts.insert(place, value)
        self.after.insert(place, after)

    def carry(self, tested: bool) -> tuple[list[str], list[tuple[str, str]]]:
        """Add what the loop carries.

        Returns the lines before the loop, and (name, last value) of what keeps its start where the
        loop doesn't turn; `tested` says that it may not.
        """
        before: list[str] = []
        name = ""
        again: list[Carry] = []
        grads = differentiable(self.loop, self.ctx)
        if grads and tested and (function := steep(self.loop)):
            raise Declined(
                f"`{function}` has no derivative at zero, and `while_loop` asks for one round's "
                "even where the loop runs none"
            )
        if grads:
            name, before = seed(self.loop, self.carried, self.indent, self.ctx, self.code)
            again = read_again(self.loop, self.carried) if name else []
        skipping: list[tuple[str, str]] = []
        for carry in self.carried:
            start = carry.start
            if carry in again:
                start = f"{start.removesuffix('.clone()')} + {name}"
            last = carry.name if carry.after else ""
            if last and grads and tested and carry.real:
                last = self.code.fresh(f"last_{carry.name}")
                skipping.append((carry.name, last))
            self.start(start, last)
        return before, skipping

    def lines(self, skipping: Sequence[tuple[str, str]]) -> list[str]:
        """Return the lines of the call."""
        code = self.code
        names = [name or "_" for name in self.after]
        left = ", ".join(names) if len(names) > 1 else f"({names[0]},)"
        inside = _tuple(self.starts) if len(names) == 1 else f"({_tuple(self.starts)})"
        lines: list[str] = []
        if skipping:
            start, turns = code.fresh("start"), code.fresh("entered")
            lines += self._line(f"{start} = ", inside)
            inside = start
        loop = f"{code.spell('torch.while_loop')}({self.more}, {self.step}, {inside})"
        lines += self._line(f"{left} = ", loop)
        if skipping:
            lines.append(self.indent + _NOTE)
            lines += self._line(f"{turns} = ", f"{self.more}(*{start})")
        where = code.spell("torch.where")
        for name, last in skipping:
            lines += self._line(f"{name} = ", f"{where}({turns}, {last}, {name})")
        return lines

    def _line(self, prefix: str, text: str) -> list[str]:
        return statement(prefix, text, self.indent, self.code.width, self.code.step)


def _begin(counter: Counter, carried: Sequence[Carry], code: Code) -> str:
    if not counter.start.isdigit():
        return counter.start
    return f"{code.spell('torch.tensor')}({counter.start}{beside(carried)})"


def _rotated(stmt: ast.While | ast.For) -> tuple[Jump | None, Sequence[ast.stmt]]:
    """Return the `break` that a `while True` starts with, and what a round does after it."""
    if isinstance(stmt, ast.While) and _forever(stmt):
        first = jump_of(stmt.body[0])
        if first is not None and isinstance(first.kind, ast.Break) and not first.before:
            return first, [*first.other, *stmt.body[1:]]
    return None, stmt.body


def _forever(stmt: ast.While) -> bool:
    return isinstance(stmt.test, ast.Constant) and bool(stmt.test.value)


def _head_test(
    head: Jump | None,
    stmt: ast.While | ast.For,
    ctx: Context,
    code: Code,
    counter: Counter | None,
) -> str:
    """Return the test before each round, "" for always."""
    if counter is not None:
        return f"{counter.name} < {counter.stop}"
    assert isinstance(stmt, ast.While)
    if head is not None:
        text = test_text(head.test, ctx, code)
        return text if head.inverse else negated(text, head.test)
    return "" if _forever(stmt) else test_text(stmt.test, ctx, code)


def _indices(loop: Loop, numbers: frozenset[str]) -> frozenset[str]:
    """Return the numbers that index tensors."""
    found: set[str] = set()
    for node in loop.inside():
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            for part in parts:
                if not isinstance(part, ast.Slice):
                    found |= {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
    return frozenset(found & numbers)


def _tuple(values: Sequence[str]) -> str:
    return ", ".join(values) if len(values) > 1 else f"({values[0]},)"


def _returned(text: str, indent: str, code: Code) -> list[str]:
    return statement("return ", text, indent, code.width, code.step)


def _otherwise(
    stmt: ast.While | ast.For, round_: Round, names: Sequence[str], indent: str, code: Code
) -> list[str]:
    """Return the lines of a loop's `else`, which keep the values after a `break`."""
    if not round_.done:
        return code.block(stmt.orelse, indent)
    crossing = code.boundary(stmt.orelse)
    if crossing.exits or crossing.results - set(names):
        raise Declined("the loop's `else` does more than change what the loop carries")
    return round_.lines(stmt.orelse, indent, round_.done)
