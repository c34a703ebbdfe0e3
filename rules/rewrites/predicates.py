"""A Python test → one boolean tensor.

`a and b` becomes `a & b` where evaluating `b` in any case can't be seen; what Python knows while
capturing (`x is not None`, `self.training`) stays Python, as the guard of the tensor test. Numbers
that were read out of a tensor (`n = t.item()`) are followed back to the tensor.

Declined: operands with side effects behind the first; a Python operand between tensor operands of
another operator; `in` over containers whose elements aren't known; sizes that depend on data;
numbers whose origin isn't one plain assignment; objects with a `__bool__` of their own.

A value that may be a tensor or a Python number: whole numbers become tensors (`as_tensor`), which
is exact; for others `isinstance` tells, and numbers are tested as they were.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from ..base.context import Context
from ..base.facts import (
    Array,
    Fact,
    Sequence,
    Tensor,
    Unknown,
    options,
)
from ..base.finding import Edit
from ..base.reading import data_in, shown, tensor_of
from ..base.rewriting import Code, Declined
from .layout import flat, operand, receiver
from .readings import Readings
from .truths import (
    is_bool,
    is_loose,
    is_number_test,
    is_static,
    negated,
    number_kinds,
    plain_number,
    pointwise,
    python_not,
    surely,
)

_SIGNS: dict[type[ast.cmpop], str] = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<="}
_SIGNS |= {ast.Gt: ">", ast.GtE: ">="}


@dataclass(frozen=True, slots=True)
class Test:
    """A test as a tensor.

    text       expression for a boolean tensor with one element
    guard      Python condition under which `text` may be evaluated; "" for always
    otherwise  the outcome where the guard doesn't hold
    plain      the test as it was, which decides where the guard doesn't hold; "" for `otherwise`
    before     statements to run first
    edits      edits elsewhere that it rests on (definitions that are now unused)
    merged     the whole test as one tensor, guard included; "" where that can't be
    """

    text: str
    guard: str = ""
    otherwise: bool = False
    plain: str = ""
    before: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    merged: str = ""

    def whole(self) -> Test:
        """Return the test without a guard. Raises Declined where it needs one."""
        if not self.guard:
            return self
        if not self.merged:
            raise Declined(f"the test also asks `{self.guard}` in Python")
        return replace(self, text=self.merged, guard="", otherwise=False, plain="")


def tensor_test(node: ast.expr, ctx: Context, code: Code) -> Test:
    """Return what `bool(node)` says, as a tensor. Raises Declined."""
    reader = _Reader(ctx, code)
    test = reader.test(node)
    if reader.typed:
        if test.guard:
            raise Declined("the test mixes Python conditions and numbers that may be tensors")
        kinds = " and ".join(dict.fromkeys(reader.typed))
        merged = _Reader(ctx, code, either=True).test(node).text
        test = replace(test, guard=kinds, plain=flat(code.text(node)), merged=merged)
    return replace(test, before=tuple(reader.before), edits=tuple(reader.values.unused()))


@dataclass
class _Reader:
    """Reads one test; collects what must happen around it.

    `either`: what a number is compared to becomes a tensor, whatever it was: right for all but
    numbers that vary from call to call.
    """

    ctx: Context
    code: Code
    either: bool = False
    before: list[str] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)  # tests that a value is a tensor
    values: Readings = field(init=False)

    def __post_init__(self) -> None:
        self.values = Readings(self.ctx, self.code)

    def test(self, node: ast.expr) -> Test:
        """Return a test with the Python parts split off."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.test(node.operand)
            merged = negated(inner.merged) if inner.merged else ""
            core = node.operand if not isinstance(node.operand, ast.BoolOp) else None
            if core is not None and not inner.guard and is_number_test(core, self.ctx):
                return Test(f"{operand(self.values.value(core))} == 0")
            text = negated(inner.text, core)
            return replace(inner, text=text, otherwise=not inner.otherwise, merged=merged)
        if isinstance(node, ast.BoolOp):
            return self._joined(node)
        return Test(self.truth(node))

    def _joined(self, node: ast.BoolOp) -> Test:
        both = isinstance(node.op, ast.And)
        static = [value for value in node.values if is_static(value, self.ctx)]
        tensors = [value for value in node.values if value not in static]
        first = node.values[0]
        for value in node.values:
            if value is not first:
                self._freely(value)
            late = value in static and any(
                node.values.index(t) < node.values.index(value) for t in tensors
            )
            if late and any(isinstance(o, Unknown) for o in options(self.ctx.fact(value))):
                raise Declined(
                    f"nothing is known of `{shown(value, 40)}`, which comes after a tensor"
                )
        if not tensors:
            raise Declined("the test reads no tensor that is known")
        parts = [self.test(value) for value in tensors]
        if any(part.guard for part in parts):
            if len(parts) > 1 or static:
                raise Declined("the test mixes Python conditions and tensors in several ways")
            return parts[0]
        sign = " & " if both else " | "
        text = sign.join(operand(part.text) for part in parts) if parts[1:] else parts[0].text
        if not static:
            return Test(text)
        guard = self._guard(static, both)
        merged = ""
        if all(is_bool(value, self.ctx) for value in static):
            texts = [operand(flat(self.code.text(value))) for value in static]
            merged = sign.join([text if parts[1:] else operand(text), *texts])
        return Test(text, guard, not both, merged=merged)

    def _guard(self, static: list[ast.expr], both: bool) -> str:
        texts = [flat(self.code.text(value)) for value in static]
        if both:
            wrap = [isinstance(v, ast.BoolOp) and isinstance(v.op, ast.Or) for v in static]
            return " and ".join(f"({t})" if w and texts[1:] else t for t, w in zip(texts, wrap))
        return " and ".join(python_not(v, t) for v, t in zip(static, texts))

    def _freely(self, node: ast.expr) -> None:
        """Decline unless evaluating an operand in any case can't be seen."""
        found = self.code.effects([node])
        if not found.pure:
            what = next(iter((*found.unknown, *found.mutates, *found.stores)), "an effect")
            raise Declined(f"`{what}` must not run when the operand before it decides")
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                raise Declined("`:=` stands behind an operand that may decide")
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                chosen = tensor_of(self.ctx.fact(inner.func.value))
                fails = inner.func.attr in ("max", "min", "argmax", "argmin", "amax", "amin")
                if fails and chosen is not None and chosen.ragged:
                    raise Declined("an operand fails on the empty selection before it")

    # -- truth ------------------------------------------------------------------------------

    def truth(self, node: ast.expr) -> str:
        """Return a boolean tensor that says what `bool(node)` does."""
        if isinstance(node, ast.NamedExpr):
            return self._nonzero(node.value, self._walrus(node))
        inverse = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if isinstance(node, ast.BoolOp) or inverse:
            return self.test(node).whole().text
        if isinstance(node, ast.Compare):
            return self._comparison(node)
        if isinstance(node, ast.Call):
            name = self.ctx.callee(node).name
            if name == "builtins.bool" and len(node.args) == 1:
                return self.truth(node.args[0])
            if name in ("builtins.any", "builtins.all"):
                return reduced(node, self.ctx, self.code)
        if isinstance(node, ast.IfExp):
            raise Declined("the test is itself a conditional expression: that comes first")
        return self._nonzero(node, self.values.value(node))

    def _nonzero(self, node: ast.expr, text: str) -> str:
        fact = self.ctx.fact(node)
        data = data_in(fact)
        if data is None:
            raise Declined("the test asks an object of its own kind")
        mixed = bool(number_kinds(fact))
        if isinstance(data, Array) or mixed:
            text = self._converted(text, fact)
        if getattr(data, "dtype", "") == "bool" or is_bool(node, self.ctx):
            return text
        return f"{operand(text)} != 0"

    def _converted(self, text: str, fact: Fact) -> str:
        """Return a value that may be a Python number as one that is a tensor where it counts."""
        exact = number_kinds(fact) <= {"int", "bool"}
        if isinstance(data_in(fact), Array) or exact or self.either:
            return f"{self.code.spell('torch.as_tensor')}({text})"
        self.typed.append(f"isinstance({text}, {self.code.spell('torch.Tensor')})")
        return text

    def _comparison(self, node: ast.Compare) -> str:
        sides = [node.left, *node.comparators]
        for middle in sides[1:-1]:
            self._freely(middle)
        texts = []
        for op, left, right in zip(node.ops, sides, sides[1:]):
            data = [f for f in (_data(left, self.ctx), _data(right, self.ctx)) if f is not None]
            if isinstance(op, (ast.In, ast.NotIn)):
                texts.append(self._membership(op, left, right))
                continue
            if not data:
                raise Declined("the test compares values that aren't known to be tensors")
            texts.append(self._compared(node, op, left, right))
        return texts[0] if len(texts) == 1 else " & ".join(map(operand, texts))

    def _compared(self, node: ast.Compare, op: ast.cmpop, left: ast.expr, right: ast.expr) -> str:
        sides = (left, right)
        facts = [self.ctx.fact(side) for side in sides]
        data = [fact for fact in map(data_in, facts) if fact is not None]
        texts = [self._side(side) for side in sides]
        arrays = all(isinstance(fact, Array) for fact in data)
        unsure = not arrays and not any(map(surely, facts))
        if unsure and self.either and not all(number_kinds(f) <= {"int", "bool"} for f in facts):
            arrays, unsure = True, False
        if unsure:
            place = 0 if data_in(facts[0]) is not None else 1
            texts[place] = self._converted(texts[place], facts[place])
        text = f"{texts[0]} {_sign(op)} {texts[1]}"
        if len(node.ops) == 1 and not self._named(sides) and (not unsure or self.typed):
            text = flat(self.code.text(node, self.values.changes(node)))
        return f"{self.code.spell('torch.as_tensor')}({text})" if arrays else text

    def _named(self, sides: list[ast.expr] | tuple[ast.expr, ...]) -> bool:
        return any(isinstance(side, ast.NamedExpr) for side in sides)

    def _side(self, node: ast.expr) -> str:
        text = self._walrus(node) or self.values.value(node)
        return receiver(text) if is_loose(node) else text

    def _walrus(self, node: ast.expr) -> str:
        if not isinstance(node, ast.NamedExpr):
            return ""
        line = f"{node.target.id} = {flat(self.code.text(node.value))}"
        if line not in self.before:
            self.before.append(line)
        return node.target.id

    def _membership(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> str:
        """`2 in x` → `(x == 2).any()`; `x in (1, 3)` → `(x == 1) | (x == 3)`."""
        out = isinstance(op, ast.NotIn)
        if isinstance(right, (ast.Tuple, ast.List, ast.Set)) and right.elts:
            if any(isinstance(e, ast.Starred) or not plain_number(e, self.ctx) for e in right.elts):
                raise Declined("what `in` looks through isn't known")
            one = self.values.value(left)
            if len(right.elts) > 1:
                self._freely(left)
            sign, join = (" != ", " & ") if out else (" == ", " | ")
            parts = [f"{operand(one)}{sign}{flat(self.code.text(e))}" for e in right.elts]
            return join.join(map(operand, parts)) if len(parts) > 1 else parts[0]
        if isinstance(data_in(self.ctx.fact(right)), Tensor):
            found = (
                f"({operand(self.values.value(right))} == {operand(self.values.value(left))}).any()"
            )
            return negated(found) if out else found
        raise Declined("what `in` looks through isn't known")


def reduced(call: ast.Call, ctx: Context, code: Code) -> str:
    """Return builtin `any(…)` or `all(…)` over tensor data as a tensor reduction."""
    word = ctx.callee(call).name.rpartition(".")[2]
    given = call.args[0]
    if isinstance(given, (ast.GeneratorExp, ast.ListComp)) and len(given.generators) == 1:
        loop = given.generators[0]
        fact = ctx.fact(loop.iter)
        if loop.ifs or loop.is_async:
            raise Declined(f"`{word}` filters what it tests")
        tensor = tensor_of(fact)
        if tensor is not None and tensor.rank in (1, None) and isinstance(loop.target, ast.Name):
            if pointwise(given.elt, loop.target.id, ctx):
                changes: dict[ast.AST, str] = {
                    n: receiver(flat(code.text(loop.iter)))
                    for n in ast.walk(given.elt)
                    if isinstance(n, ast.Name) and n.id == loop.target.id
                }
                return f"{receiver(flat(code.text(given.elt, changes)))}.{word}()"
        element = _Reader(ctx, code).test(given.elt)
        text = element.whole().text
        over = f"for {flat(code.text(loop.target))} in {flat(code.text(loop.iter))}"
        inside = f"[{text} {over}]"
    else:
        fact = ctx.fact(given)
        inside = flat(code.text(given))
        if tensor_of(fact) is not None:
            return f"{receiver(inside)}.{word}()"
    if not any(isinstance(o, (Tensor, Sequence)) and _filled(o) for o in options(fact)):
        raise Declined(f"`{word}` may run over nothing, which can't be stacked")
    return f"{code.spell('torch.stack')}({inside}).{word}()"


def _filled(fact: Fact) -> bool:
    return isinstance(fact, Tensor) or (isinstance(fact, Sequence) and bool(fact.items))


def _data(node: ast.expr, ctx: Context) -> Fact | None:
    return data_in(ctx.fact(node))


def _sign(op: ast.cmpop) -> str:
    if type(op) not in _SIGNS:
        raise Declined("`is` compares objects, not values")
    return _SIGNS[type(op)]
