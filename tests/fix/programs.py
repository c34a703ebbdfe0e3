"""Random functions that branch and loop on tensors, as source: a hypothesis strategy.

Nests of `if`/`elif`/`else`, ternaries, `while` and `for` with `break`, `continue` and `else`, early
returns, `raise`, augmented assignment, names that only one arm binds, aliases, views and writes in
place, over two matrices, a float and an int tensor. Every program ends, and reads only what is
bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

NAME = "f"
_RESULT = "x, y, s"
_NUMBERS = ("0.5", "2.0", "1.5", "-1.0", "0.25", "3.0")
_MATRIX = (
    "{m} * {c}",
    "{m} + {m}",
    "{m} - {m}",
    "{m} * {t}",
    "{m} + {t}",
    "{m} / {m}",
    "{m}.relu()",
    "{m}.sqrt()",
    "{m}.abs().sqrt()",
    "{m}.log()",
    "{m}.tanh()",
    "{m}.clamp(min={c})",
    "-{m}",
    "{m} * k",
    "torch.where({m} > 0, {m}, {m})",
    "torch.nan_to_num({m})",
    "{m}.flip(0)",
    "{m}.clone()",
    "{m} @ {m}.T @ {m} * 0.1",
    "torch.zeros_like({m})",
)
_SCALAR = (
    "{m}.sum()",
    "{m}.mean()",
    "{m}.max()",
    "{m}.norm()",
    "{m}[0, 1]",
    "{t} * {c}",
    "{t} + {t}",
    "{t}.abs()",
    "{t} - {m}.mean()",
    "torch.tensor({c})",
)
_TEST = (
    "{t} > 0",
    "{t} < {c}",
    "{m}.sum() > {c}",
    "{m}.max() > {m}.mean()",
    "({m} > 0).all()",
    "({m} > {c}).any()",
    "torch.isnan({m}).any()",
    "torch.isfinite({m}).all()",
    "k > 1",
    "k == 2",
    "k",
    "{t}.item() > {c}",
    "float({t}) > {c}",
    "bool({t} > {c})",
    "torch.equal({m}, {m})",
)


@dataclass
class _Scope:
    """Names that are bound for sure where the next statement goes."""

    matrices: list[str] = field(default_factory=lambda: ["x", "y"])
    scalars: list[str] = field(default_factory=lambda: ["s"])
    rows: list[str] = field(default_factory=list)
    loop: str = ""  # "while" or "for": where `break` and `continue` belong
    inner: bool = False  # whether there may be no `return`

    def copy(self, **changes: Any) -> _Scope:
        lists = {"matrices": [*self.matrices], "scalars": [*self.scalars], "rows": [*self.rows]}
        return _Scope(**{**lists, "loop": self.loop, "inner": self.inner, **changes})

    def meet(self, *arms: _Scope) -> None:
        """Keep what every arm binds."""
        for kind in ("matrices", "scalars", "rows"):
            first, *others = (getattr(arm, kind) for arm in arms)
            setattr(self, kind, [n for n in first if all(n in other for other in others)])


class _Writer:
    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.budget = draw(st.integers(0, 5))
        self.fresh = 0

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def chance(self, of: int) -> bool:
        return self.draw(st.integers(0, of - 1)) == of - 1

    def name(self, base: str) -> str:
        self.fresh += 1
        return f"{base}{self.fresh}"

    # -- expressions ------------------------------------------------------------------------

    def fill(self, template: str, scope: _Scope) -> str:
        text = template
        while "{" in text:
            text = text.replace("{m}", self.pick(scope.matrices), 1) if "{m}" in text else text
            text = text.replace("{t}", self.pick(scope.scalars), 1) if "{t}" in text else text
            text = text.replace("{c}", self.pick(_NUMBERS), 1) if "{c}" in text else text
        return text

    def matrix(self, scope: _Scope) -> str:
        if scope.rows and self.chance(6):
            return f"{self.pick(scope.matrices)} + {self.pick(scope.rows)}"
        if self.chance(12):
            other = self.fill(self.pick(_MATRIX), scope)
            return f"{self.fill(self.pick(_MATRIX), scope)} if {self.test(scope)} else {other}"
        return self.fill(self.pick(_MATRIX), scope)

    def scalar(self, scope: _Scope) -> str:
        return self.fill(self.pick(_SCALAR), scope)

    def test(self, scope: _Scope) -> str:
        text = self.fill(self.pick(_TEST), scope)
        if self.chance(6):
            other = self.fill(self.pick(_TEST), scope)
            text = f"{text} {self.pick(('and', 'or'))} {other}"
        elif self.chance(10):
            text = f"not {text}"
        elif self.chance(10):
            text = f"0 < {self.pick(scope.scalars)} < {self.pick(_NUMBERS)}"
        return text

    # -- statements -------------------------------------------------------------------------

    def block(self, scope: _Scope, depth: int, most: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.draw(st.integers(1, most))):
            lines += self.statement(scope, depth)
        return lines

    def statement(self, scope: _Scope, depth: int) -> list[str]:
        self.budget -= 1
        simple = [self.assign, self.assign, self.augment, self.in_place, self.alias, self.number]
        nested = [self.branch, self.branch, self.branch, self.while_loop, self.for_loop]
        nested += [self.leave, self.rows]
        nested += [] if scope.loop else [self.check]
        if depth >= 3 or self.budget < 0:
            return self.pick(simple)(scope)
        if self.chance(3):
            return self.pick(nested)(scope, depth)
        return self.pick(simple)(scope)

    def assign(self, scope: _Scope) -> list[str]:
        target = self.name("a") if self.chance(6) else self.pick(scope.matrices)
        text = f"{target} = {self.matrix(scope)}"
        _add(scope.matrices, target)
        return [text]

    def number(self, scope: _Scope) -> list[str]:
        target = self.name("t") if self.chance(6) else self.pick(scope.scalars)
        text = f"{target} = {self.scalar(scope)}"
        _add(scope.scalars, target)
        return [text]

    def augment(self, scope: _Scope) -> list[str]:
        if self.chance(4):
            return [f"{self.pick(scope.scalars)} = {self.pick(scope.scalars)} + 1"]
        value = self.pick((self.pick(_NUMBERS), self.pick(scope.scalars)))
        if self.chance(3):
            value = self.fill("{m} * {c}", scope)
        return [f"{self.pick(scope.matrices)} {self.pick(('+', '*', '-'))}= {value}"]

    def in_place(self, scope: _Scope) -> list[str]:
        target = self.pick([*scope.matrices, *scope.rows])
        kinds = ["{0}.mul_({1})", "{0}.add_({1})", "{0}.clamp_(max={1})", "{0}.zero_()"]
        if target in scope.matrices:
            kinds += ["{0}[0] = {1}", "{0}[:, 1] += {1}", "{0}[{0} > 0] = {1}", "{0}[1].neg_()"]
        return [self.pick(kinds).format(target, self.pick(_NUMBERS))]

    def alias(self, scope: _Scope) -> list[str]:
        source = self.pick(scope.matrices)
        if self.draw(st.booleans()):
            name = self.name("r")
            scope.rows.append(name)
            return [f"{name} = {source}[{self.draw(st.integers(0, 2))}]"]
        name = self.name("b")
        scope.matrices.append(name)
        return [f"{name} = {source}" if self.draw(st.booleans()) else f"{name} = {source}[:]"]

    def branch(self, scope: _Scope, depth: int) -> list[str]:
        lines = [f"if {self.test(scope)}:"]
        arms = [scope.copy()]
        lines += _indented(self.block(arms[0], depth + 1, 2))
        if self.chance(4):
            lines.append(f"elif {self.test(scope)}:")
            arms.append(scope.copy())
            lines += _indented(self.block(arms[-1], depth + 1, 2))
        if self.draw(st.booleans()):
            lines.append("else:")
            arms.append(scope.copy())
            lines += _indented(self.block(arms[-1], depth + 1, 2))
            scope.meet(*arms)
        return lines

    def leave(self, scope: _Scope, depth: int) -> list[str]:
        """Return, break or continue early."""
        if scope.loop and self.draw(st.booleans()):
            word = self.pick(("break", "continue")) if scope.loop == "for" else "break"
            return [f"if {self.test(scope)}:", f"    {word}"]
        if scope.inner and not self.chance(8):
            return self.assign(scope)
        return [f"if {self.test(scope)}:", f"    return {_RESULT}"]

    def check(self, scope: _Scope, depth: int) -> list[str]:
        if self.draw(st.booleans()):
            return [f"if {self.test(scope)}:", '    raise ValueError("no")']
        return [f"assert {self.test(scope)}"]

    def while_loop(self, scope: _Scope, depth: int) -> list[str]:
        count = self.name("n")
        inner = scope.copy(loop="while", inner=True)
        test = self.fill(self.pick(("{t} < {c}", "{m}.sum() < {c}", "{m}.max() > {c}")), scope)
        most = self.draw(st.integers(2, 4))
        lines = [f"{count} = 0"]
        if self.draw(st.booleans()):
            lines += [f"while {test} and {count} < {most}:", f"    {count} += 1"]
        else:
            lines += [f"while {test}:", f"    {count} += 1"]
            lines += [f"    if {count} > {most}:", "        break"]
        lines += _indented(self.block(inner, depth + 1, 2))
        if self.chance(5):
            lines += ["else:", *_indented(self.block(scope.copy(), depth + 1, 1))]
        return lines

    def for_loop(self, scope: _Scope, depth: int) -> list[str]:
        index = self.name("i")
        inner = scope.copy(loop="for", inner=True)
        over = self.pick(("range(3)", "range(2)", "range(k)"))
        lines = [f"for {index} in {over}:", *_indented(self.block(inner, depth + 1, 2))]
        if self.chance(4):
            lines.append(f"    {self.pick(scope.matrices)} += {index}")
        return lines

    def rows(self, scope: _Scope, depth: int) -> list[str]:
        """A loop over the rows of a matrix, which gathers or sums."""
        row, source = self.name("r"), self.pick(scope.matrices)
        inner = scope.copy(loop="for", inner=True)
        inner.rows.append(row)
        if self.draw(st.booleans()):
            total = self.name("t")
            lines = [f"{total} = {self.pick(scope.scalars)}", f"for {row} in {source}:"]
            inner.scalars.append(total)
            lines += _indented(self.block(inner, depth + 1, 1)) if self.chance(3) else []
            lines.append(f"    {total} = {total} + {row}.sum()")
            scope.scalars.append(total)
            return lines
        made, seen = self.name("l"), self.name("a")
        lines = [f"{made} = []", f"for {row} in {source}:"]
        value = self.pick((f"{row} * {{c}}", f"{row} + {{t}}", f"{row}.relu()"))
        if self.chance(3):
            lines += [f"    if {row}.sum() > 0:", f"        {row} = {row} * 2"]
        lines += [f"    {made}.append({self.fill(value, scope)})"]
        lines += [f"{seen} = torch.stack({made})"]
        scope.matrices.append(seen)
        return lines

    def gather(self, scope: _Scope) -> list[str]:
        """Have everything that is bound be read for the result."""
        lines = [f"x = x + {name}" for name in scope.matrices if name not in ("x", "y")]
        return lines + [f"s = s + {name}" for name in scope.scalars if name != "s"]


@st.composite
def programs(draw: Callable[[Any], Any]) -> str:
    """Draw a module that defines `f(x, y, s, k)`, which returns its first three, changed."""
    writer = _Writer(draw)
    scope = _Scope()
    lines = writer.block(scope, 0, 3)
    lines += writer.branch(scope, 0) if draw(st.booleans()) else writer.while_loop(scope, 0)
    lines += [*writer.gather(scope), f"return {_RESULT}"]
    arguments = ("x", "y", "s", "k")
    if writer.chance(3):
        head = f"def {NAME}({', '.join(arguments)}):"
    else:
        head = f"def {NAME}({', '.join(f'{a}: torch.Tensor' for a in arguments)}):"
    return "\n".join(["import torch", "", "", head, *_indented(lines), ""])


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _add(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)
