"""A Python test → one boolean tensor.

`a and b` becomes `a & b` where evaluating `b` in any case can't be seen; what Python knows while
capturing (`x is not None`, `self.training`) stays Python, as the guard of the tensor test. Numbers
that were read out of a tensor (`n = t.item()`) are followed back to the tensor.

Declined: operands with side effects behind the first; a Python operand between tensor operands of
another operator; `in` over containers whose elements aren't known; sizes that depend on data;
numbers whose origin isn't one plain assignment; objects with a `__bool__` of their own.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from ..base.context import Context
from ..base.facts import (
    Array,
    Const,
    Fact,
    FromTensor,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    Unknown,
    options,
)
from ..base.finding import Edit
from ..base.reading import data_in, shown, tensor_of
from ..base.rewriting import Code, Declined
from .layout import flat, operand, receiver
from .readings import Readings

_KNOWN = (Const, Static)
_SIGNS: dict[type[ast.cmpop], str] = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<="}
_SIGNS |= {ast.Gt: ">", ast.GtE: ">="}


@dataclass(frozen=True, slots=True)
class Test:
    """A test as a tensor.

    text       expression for a boolean tensor with one element
    guard      Python condition under which `text` may be evaluated; "" for always
    otherwise  the outcome where the guard doesn't hold
    before     statements to run first
    edits      edits elsewhere that it rests on (definitions that are now unused)
    merged     the whole test as one tensor, guard included; "" where that can't be
    """

    text: str
    guard: str = ""
    otherwise: bool = False
    before: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    merged: str = ""

    def whole(self) -> Test:
        """Return the test without a guard. Raises Declined where it needs one."""
        if not self.guard:
            return self
        if not self.merged:
            raise Declined(f"the test also asks `{self.guard}` in Python")
        return replace(self, text=self.merged, guard="", otherwise=False)


def tensor_test(node: ast.expr, ctx: Context, code: Code) -> Test:
    """Return what `bool(node)` says, as a tensor. Raises Declined."""
    reader = _Reader(ctx, code)
    test = reader.test(node)
    return replace(test, before=tuple(reader.before), edits=tuple(reader.values.unused()))


def is_static(node: ast.expr, ctx: Context) -> bool:
    """Say whether Python knows the truth of an expression while Dynamo captures."""
    if isinstance(node, ast.BoolOp):
        return all(is_static(value, ctx) for value in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return is_static(node.operand, ctx)
    if isinstance(node, ast.NamedExpr):
        return is_static(node.value, ctx)
    return ctx.truth(node) is None


def negated(text: str, node: ast.expr | None = None) -> str:
    """Return a boolean tensor expression negated."""
    if text.startswith("~") and receiver(text[1:]) == text[1:]:
        return text[1:]
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for old, new in ((ast.Eq, " != "), (ast.NotEq, " == ")):
            word = " == " if old is ast.Eq else " != "
            if isinstance(node.ops[0], old) and text.count(word) == 1:
                return text.replace(word, new)
    return "~" + receiver(text)


@dataclass
class _Reader:
    """Reads one test; collects what must happen around it."""

    ctx: Context
    code: Code
    before: list[str] = field(default_factory=list)
    values: Readings = field(init=False)

    def __post_init__(self) -> None:
        self.values = Readings(self.ctx, self.code)

    def test(self, node: ast.expr) -> Test:
        """Return a test with the Python parts split off."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.test(node.operand)
            merged = negated(inner.merged) if inner.merged else ""
            core = node.operand if not isinstance(node.operand, ast.BoolOp) else None
            if core is not None and not inner.guard and _number(core, self.ctx):
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
        if all(_is_bool(value, self.ctx) for value in static):
            texts = [operand(flat(self.code.text(value))) for value in static]
            merged = sign.join([text if parts[1:] else operand(text), *texts])
        return Test(text, guard, not both, merged=merged)

    def _guard(self, static: list[ast.expr], both: bool) -> str:
        texts = [flat(self.code.text(value)) for value in static]
        if both:
            wrap = [isinstance(v, ast.BoolOp) and isinstance(v.op, ast.Or) for v in static]
            return " and ".join(f"({t})" if w and texts[1:] else t for t, w in zip(texts, wrap))
        return " and ".join(_python_not(v, t) for v, t in zip(static, texts))

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
        mixed = any(isinstance(option, (Const, Static, ShapeInt)) for option in options(fact))
        if isinstance(data, Array) or mixed:
            return self.code.spell("torch.as_tensor") + f"({text})"
        if getattr(data, "dtype", "") == "bool" or _is_bool(node, self.ctx):
            return text
        return f"{operand(text)} != 0"

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
            text = f"{self._side(left)} {_sign(op)} {self._side(right)}"
            if len(node.ops) == 1 and not self._named(sides):
                text = flat(self.code.text(node, self.values.changes(node)))
            sides_known = [self.ctx.fact(left), self.ctx.fact(right)]
            if all(isinstance(fact, Array) for fact in data) or not any(map(_surely, sides_known)):
                text = self.code.spell("torch.as_tensor") + f"({text})"
            texts.append(text)
        return texts[0] if len(texts) == 1 else " & ".join(map(operand, texts))

    def _named(self, sides: list[ast.expr]) -> bool:
        return any(isinstance(side, ast.NamedExpr) for side in sides)

    def _side(self, node: ast.expr) -> str:
        text = self._walrus(node) or self.values.value(node)
        return receiver(text) if _loose(node) else text

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
            if any(isinstance(e, ast.Starred) or not _plain(e, self.ctx) for e in right.elts):
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
            if _pointwise(given.elt, loop.target.id, ctx):
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


def _pointwise(node: ast.expr, name: str, ctx: Context) -> bool:
    """Say whether an expression of a 0-dim element works alike on all elements at once."""
    if isinstance(node, ast.Name):
        return node.id == name or not isinstance(data_in(ctx.fact(node)), Tensor)
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and all(
            _pointwise(side, name, ctx) for side in (node.left, *node.comparators)
        )
    if isinstance(node, ast.BinOp):
        return _pointwise(node.left, name, ctx) and _pointwise(node.right, name, ctx)
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not) and _pointwise(node.operand, name, ctx)
    if isinstance(node, ast.Call) and not node.keywords:
        tags = ctx.torch.tags(ctx.callee(node).name)
        args = list(node.args)
        if isinstance(node.func, ast.Attribute):
            args.append(node.func.value)
        named = [a for a in args if not _module_name(a, ctx)]
        return "pointwise" in tags and all(_pointwise(a, name, ctx) for a in named)
    return False


def _module_name(node: ast.expr, ctx: Context) -> bool:
    return isinstance(node, ast.Name) and ctx.is_global(node.id)


def _surely(fact: Fact) -> bool:
    """Say whether a value is a tensor whenever it is a number at all."""
    kinds = options(fact)
    return any(isinstance(o, (Tensor, FromTensor)) for o in kinds) and not any(
        isinstance(o, (Const, Static, ShapeInt)) and getattr(o, "value", 0) is not None
        for o in kinds
    )


def _data(node: ast.expr, ctx: Context) -> Fact | None:
    return data_in(ctx.fact(node))


def _number(node: ast.expr, ctx: Context) -> bool:
    """Say whether the truth of an expression is that of a tensor that isn't known to be bool."""
    fact = tensor_of(ctx.fact(node))
    plain = not isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.NamedExpr, ast.IfExp))
    return plain and fact is not None and fact.dtype != "bool" and not _reduction(node, ctx)


def _reduction(node: ast.expr, ctx: Context) -> bool:
    return isinstance(node, ast.Call) and ctx.callee(node).name in ("builtins.any", "builtins.all")


def _is_bool(node: ast.expr, ctx: Context) -> bool:
    if isinstance(node, ast.Compare):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    kinds = [
        option.kind if isinstance(option, (*_KNOWN, FromTensor)) else getattr(option, "dtype", "")
        for option in options(ctx.fact(node))
    ]
    return bool(kinds) and all(kind == "bool" for kind in kinds)


def _python_not(node: ast.expr, text: str) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = ast.unparse(node.operand)
        return inner if text == f"not {inner}" else f"not ({text})"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for old, word, other in (
            (ast.Is, " is ", " is not "),
            (ast.IsNot, " is not ", " is "),
        ):
            if isinstance(node.ops[0], old) and text.count(word) == 1:
                return text.replace(word, other)
    return f"not {text}" if not isinstance(node, (ast.BoolOp, ast.Compare)) else f"not ({text})"


def _plain(node: ast.expr, ctx: Context) -> bool:
    number = isinstance(node, (ast.Constant, ast.UnaryOp, ast.Name, ast.Attribute))
    kinds = [getattr(option, "kind", "") for option in options(ctx.fact(node))]
    return number and not any(kind in ("str", "NoneType", "bytes") for kind in kinds)


def _loose(node: ast.expr) -> bool:
    """Say whether an expression binds looser than a comparison's operand."""
    return isinstance(node, (ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda)) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def _sign(op: ast.cmpop) -> str:
    if type(op) not in _SIGNS:
        raise Declined("`is` compares objects, not values")
    return _SIGNS[type(op)]
