"""Where a number that was read out of a tensor goes: can a 0-dim tensor take its place?

A number's value is followed through arithmetic, comparisons, names and calls to where it ends: in
tensor code, or in a test, which the rewrites of branches can express. Declined, naming the use:
numbers that are returned, stored on objects or in containers, formatted, or given to code that is
not torch's or that needs a number: sizes, `range`, indices, dimensions.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ..base.context import Context
from ..base.facts import (
    Array,
    Const,
    Fact,
    FromTensor,
    Mapping,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    options,
)
from ..base.reading import shown
from ..base.rewriting import Declined
from .editing import Changes
from .gathering import gather
from .layout import SIGNS, operand, receiver

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_COMPARED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_PYTHON = (Const, Static, ShapeInt)
# Operators of two values of which either may be a 0-dim tensor.
_BINARY = frozenset(
    "add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow eq ne lt "
    "le gt ge add_ sub_ subtract_ mul_ multiply_ div_ divide_ true_divide_ floor_divide_ "
    "remainder_ fmod_ pow_".split()
)
# Where other operators take a 0-dim tensor for a number: positions in the function, keywords.
_VALUES: dict[str, tuple[frozenset[int], frozenset[str]]] = {
    "where": (frozenset({1, 2}), frozenset({"input", "other", "self"})),
    "masked_fill": (frozenset({2}), frozenset({"value"})),
    "masked_fill_": (frozenset({2}), frozenset({"value"})),
    "index_fill": (frozenset({3}), frozenset({"value"})),
    "index_fill_": (frozenset({3}), frozenset({"value"})),
    "fill_": (frozenset({1}), frozenset({"value"})),
    "full": (frozenset({1}), frozenset({"fill_value"})),
    "lerp": (frozenset({2}), frozenset({"weight"})),
    "as_tensor": (frozenset({0}), frozenset({"data"})),
}
MATH = {
    name: "torch." + (other or name)
    for name, other in {
        **dict.fromkeys(
            "sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh tanh ceil "
            "floor trunc isnan isinf isfinite erf erfc lgamma".split(),
            "",
        ),
        "fabs": "abs",
        "degrees": "rad2deg",
        "radians": "deg2rad",
    }.items()
}


@dataclass
class Uses:
    """Follows a number to its ends, and gathers the changes that must go with it.

    arithmetic  the value takes part in arithmetic that is not only compared: gradients would flow
    promotes    it does so where its dtype takes part in the result's
    """

    ctx: Context
    changes: Changes
    arithmetic: bool = False
    promotes: bool = False
    names: set[str] = field(default_factory=set)

    def follow(self, node: ast.expr, compared: bool = False) -> None:
        """Follow the value of an expression. Raises Declined where a tensor can't take its place.

        `compared` says that it is a bool which a comparison gave.
        """
        parent = self.ctx.parent(node)
        if isinstance(parent, ast.keyword):
            self._argument(self.ctx.parent(parent), node, parent.arg, compared)
        elif isinstance(parent, ast.Call):
            self._argument(parent, node, None, compared)
        elif isinstance(parent, ast.BinOp):
            self._operator(parent, node, compared)
        elif isinstance(parent, ast.UnaryOp) and isinstance(parent.op, (ast.USub, ast.UAdd)):
            self.follow(parent, compared)
        elif isinstance(parent, ast.Compare):
            self._comparison(parent, node)
        elif isinstance(parent, (ast.BoolOp, ast.UnaryOp)) or _tested(parent, node):
            self._test(parent, node)
        elif isinstance(parent, ast.IfExp):
            self.follow(parent, compared)
        elif isinstance(node, ast.Name) and _indexes(node, parent, self.ctx):
            gather(node, self.changes, lambda: f"{node.id}.reshape(1)")
        elif (
            isinstance(parent, (ast.GeneratorExp, ast.ListComp)) and parent.elt is node
        ) or isinstance(parent, (ast.List, ast.Tuple)):
            self._gathered(parent, compared)
        elif isinstance(parent, ast.NamedExpr):
            self.bound(parent.target, compared)
            self.follow(parent, compared)
        elif isinstance(parent, ast.Assign):
            for target in parent.targets:
                self.bound(target, compared)
        elif isinstance(parent, ast.AugAssign):
            self._added(parent, compared)
        else:
            raise Declined(_reason(parent, node))

    def _operator(self, parent: ast.BinOp, node: ast.expr, compared: bool) -> None:
        other = parent.right if parent.left is node else parent.left
        facts = options(self.ctx.fact(other))
        known = isinstance(parent.op, _ARITHMETIC) and not any(_is_other(f) for f in facts)
        if not known:
            raise Declined(f"`{shown(parent)}` needs a Python number")
        self._takes_part(compared, isinstance(parent.op, ast.Div))
        if not all(isinstance(fact, Tensor) for fact in facts):
            self.follow(parent, compared)

    def _takes_part(self, compared: bool, division: bool = False) -> None:
        self.arithmetic = self.arithmetic or not compared
        self.promotes = self.promotes or not division

    def _comparison(self, parent: ast.Compare, node: ast.expr) -> None:
        if not all(isinstance(op, _COMPARED) for op in parent.ops):
            raise Declined(f"`{shown(parent)}` needs a Python number")
        facts = [self.ctx.fact(n) for n in (parent.left, *parent.comparators) if n is not node]
        if any(_is_other(option) for fact in facts for option in options(fact)):
            raise Declined(f"`{shown(parent)}` needs a Python number")
        if len(parent.ops) > 1:
            self._test(self.ctx.parent(parent), parent)
        elif not any(all(isinstance(o, Tensor) for o in options(fact)) for fact in facts):
            self.follow(parent, compared=True)

    def _test(self, parent: ast.AST | None, node: ast.expr) -> None:
        """A test reads the tensor, as it read the number: rewriting the branch is another step."""
        while isinstance(parent, ast.BoolOp) or (
            isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        ):
            node, parent = parent, self.ctx.parent(parent)
        if isinstance(parent, ast.Call) and self.ctx.callee(parent).name == "builtins.bool":
            self.follow(node, compared=True)
        elif not _tested(parent, node):
            raise Declined(_reason(parent, node))

    def _argument(
        self, call: ast.AST | None, node: ast.expr, keyword: str | None, compared: bool
    ) -> None:
        assert isinstance(call, ast.Call)
        callee = self.ctx.callee(call)
        name, last = callee.name, callee.name.rpartition(".")[2]
        if name == "torch.tensor" and call.args == [node]:
            self.copied(call, node)
        elif name.startswith("torch."):
            position = call.args.index(node) if node in call.args else -1
            if position >= 0 and callee.receiver is not None:
                position += 1
            if not self._accepts(call, last, position, keyword):
                raise Declined(f"`{shown(call)}` needs a number")
            self._takes_part(False)
        elif name in ("builtins.abs", "builtins.float", "builtins.int", "builtins.bool"):
            self.follow(call, compared or last == "bool")
        elif name in ("builtins.max", "builtins.min") and len(call.args) == 2 and not keyword:
            other = call.args[1 - call.args.index(node)]
            if all(isinstance(option, _PYTHON) for option in options(self.ctx.fact(other))):
                self.changes.made[call] = lambda: self._bounded(call, node, other)
            self.follow(call, compared)
        elif name.startswith("math.") and last in MATH and len(call.args) == 1 and not keyword:
            spelled = self.changes.code.spell(MATH[last])
            self.changes.made[call] = lambda: f"{spelled}({self.changes.text(node)})"
            self.follow(call, compared or last.startswith("is"))
        elif name == "math.pow" and len(call.args) == 2:
            base, power = call.args
            text = self.changes.text
            self.changes.made[call] = lambda: f"{operand(text(base))} ** {operand(text(power))}"
            self.follow(call)
        else:
            what = "is printed" if name == "builtins.print" else f"goes to `{shown(call)}`"
            raise Declined(f"the number {what}")

    def copied(self, call: ast.Call, node: ast.expr) -> None:
        """`torch.tensor(n, device=…)` → the tensor itself, moved there."""
        if any(k.arg not in ("dtype", "device") for k in call.keywords):
            raise Declined(f"`{shown(call)}` makes a tensor of its own")
        self._takes_part(False)
        text = self.changes.text
        given = ", ".join(f"{k.arg}={text(k.value)}" for k in call.keywords)
        moved = f".to({given})" if given else ".clone()"
        self.changes.made[call] = lambda: receiver(text(node)) + moved

    def _accepts(self, call: ast.Call, last: str, position: int, keyword: str | None) -> bool:
        if last in _BINARY:
            return position in (0, 1) or keyword in ("other", "exponent")
        if last in ("clamp", "clip", "clamp_", "clip_"):
            bounds = [*call.args, *(k.value for k in call.keywords)]
            first = 0 if self.ctx.callee(call).receiver is not None else 1
            others = [b for b in bounds[first:] if not _has_number(self.ctx.fact(b))]
            return not others and (position != 0 or keyword is not None)
        positions, keywords = _VALUES.get(last, (frozenset(), frozenset()))
        return position in positions or keyword in keywords

    def _bounded(self, call: ast.Call, node: ast.expr, other: ast.expr) -> str:
        bound = "min" if self.ctx.callee(call).name == "builtins.max" else "max"
        text = self.changes.text
        return f"{receiver(text(node))}.clamp({bound}={text(other)})"

    def _gathered(self, display: ast.expr, compared: bool) -> None:
        """A list of numbers: `sum` adds tensors too, `torch.tensor` becomes `torch.stack`."""
        call = self.ctx.parent(display)
        name = self.ctx.callee(call).name if isinstance(call, ast.Call) else ""
        if isinstance(call, ast.Call) and name == "builtins.sum" and call.args == [display]:
            self._takes_part(compared)
            self.follow(call, compared)
        elif isinstance(call, ast.Call) and name == "torch.tensor" and call.args == [display]:
            elements = display.elts if isinstance(display, (ast.List, ast.Tuple)) else []
            for fact in (self.ctx.fact(element) for element in elements):
                if not all(isinstance(o, (Tensor, FromTensor)) for o in options(fact)):
                    raise Declined(f"`{shown(display)}` holds tensors and other numbers")
            self._takes_part(False)
        elif isinstance(call, ast.Assign) and isinstance(display, ast.Tuple):
            raise Declined("the number is assigned with others: assign them one by one")
        else:
            where = call if isinstance(call, ast.expr) else display
            raise Declined(f"the number goes into `{shown(where)}`")

    def bound(self, target: ast.expr, compared: bool = False) -> None:
        """Follow the number to the target it is assigned to."""
        if not isinstance(target, ast.Name):
            raise Declined(f"the number is stored in `{shown(target)}`")
        self.follow_name(target.id, compared)

    def follow_name(self, name: str, compared: bool = False) -> None:
        """Follow a name that holds the number, to all its reads."""
        if name in self.names:
            return
        self.names.add(name)
        inside = set(self.ctx.inside(self.ctx.function))
        for node in inside:
            if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
                raise Declined(f"`{name}` is a variable of another scope")
            if isinstance(node, ast.AugAssign) and _names(node.target, name):
                if _has_number(self.ctx.fact(node.target)):
                    self._rebound(node)
        for use in self.changes.code.uses(name):
            if use not in inside:
                raise Declined(f"`{name}` is used by a function inside")
            if _has_number(self.ctx.fact(use)):
                self.follow(use, compared)

    def _added(self, stmt: ast.AugAssign, compared: bool) -> None:
        """`total += n`: in place where total is a tensor, else total becomes one."""
        if not isinstance(stmt.op, _ARITHMETIC):
            raise Declined(f"`{shown(stmt)}` needs a Python number")
        facts = options(self.ctx.fact(stmt.target))
        self._takes_part(compared, isinstance(stmt.op, ast.Div))
        if all(isinstance(fact, Tensor) for fact in facts):
            return
        if any(_is_other(fact) for fact in facts) or not isinstance(stmt.target, ast.Name):
            raise Declined(f"the number is stored in `{shown(stmt.target)}`")
        self._rebound(stmt)
        self.follow_name(stmt.target.id, compared)

    def _rebound(self, stmt: ast.AugAssign) -> None:
        """`n += v` would write a tensor in place, which other names may hold: `n = n + v`."""
        self._takes_part(False, isinstance(stmt.op, ast.Div))
        text = self.changes.text

        def lines() -> list[str]:
            name = text(stmt.target)
            value = f"{name} {SIGNS[type(stmt.op)]} {operand(text(stmt.value))}"
            return self.changes.lines(stmt, value, f"{name} = ")

        self.changes.statements[stmt] = lines


def _indexes(node: ast.expr, parent: ast.AST | None, ctx: Context) -> bool:
    item = ctx.parent(parent) if isinstance(parent, ast.Tuple) else parent
    return isinstance(item, ast.Subscript) and item.value is not node


def _tested(parent: ast.AST | None, node: ast.expr) -> bool:
    return isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)) and parent.test is node


def _names(target: ast.AST, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _has_number(fact: Fact) -> bool:
    return any(isinstance(option, FromTensor) for option in options(fact))


def _is_other(fact: Fact) -> bool:
    """Say whether a value is known to be neither a tensor nor a number."""
    if isinstance(fact, (Const, Static)):
        return fact.kind in ("str", "bytes", "NoneType", "dtype", "device")
    return isinstance(fact, (Sequence, Mapping, Array))


def _reason(parent: ast.AST | None, node: ast.expr) -> str:
    if isinstance(parent, ast.Return):
        return "the number is returned: callers that take a tensor could be given one"
    if isinstance(parent, ast.FormattedValue):
        return "the number is formatted into text"
    if isinstance(parent, ast.Subscript):
        return f"the number is an index, in `{shown(parent)}`"
    if isinstance(parent, ast.Slice):
        return f"the number is a bound of a slice, `{shown(parent)}`"
    if isinstance(parent, ast.Attribute):
        return f"`{shown(parent)}` is asked of the number"
    return f"the number is needed in Python, by `{shown(parent if parent is not None else node)}`"
