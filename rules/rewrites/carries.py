"""What a loop carries from round to round, for `torch.while_loop`.

Carried are the names that a round binds (or writes in place) and that a later round, or the code
behind the loop, reads; everything else the loop reads is captured. Python numbers become 0-dim
tensors. A start value that shares storage with something else the loop sees is cloned.

Declined: names that are unbound before the loop; `None`, strings, lists and other objects that
change in the loop; tensors written in place that somebody else sees; numbers that are asked for in
Python inside or behind the loop (`range(i)`, `x[:i]`, `return i`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..base.context import Context
from ..base.facts import Array, Const, Fact, FromTensor, ShapeInt, Static, Tensor, options
from ..base.reading import place
from ..base.rewriting import Code, Declined

_FLOAT = "torch.float64"
_NUMBERS = ("int", "float", "bool")
_LAYOUT = frozenset({"view", "reshape", "expand", "repeat", "permute", "squeeze", "unsqueeze"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Carry:
    """One carried name.

    start   expression of its value before the first round
    number  whether it is a Python number that becomes a tensor
    mixed   whether it is a number first and a tensor from the first round on
    real    whether it may be a floating-point tensor, which can have gradients
    after   whether it is read behind the loop
    """

    name: str
    start: str
    number: bool
    mixed: bool
    real: bool
    after: bool


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop, and what runs in every round."""

    stmt: ast.While | ast.For
    nodes: tuple[ast.AST, ...]

    def names(self) -> list[ast.Name]:
        """Return the names in the loop, in source order, those of nested functions left out."""
        found: list[ast.Name] = []
        stack = list(self.nodes)
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Name):
                found.append(node)
            elif not isinstance(node, _SCOPES):
                stack.extend(ast.iter_child_nodes(node))
        return sorted(found, key=place)

    def inside(self) -> list[ast.AST]:
        """Return every node in the loop, those of nested functions left out."""
        found: list[ast.AST] = []
        stack = list(self.nodes)
        while stack:
            node = stack.pop()
            found.append(node)
            if not isinstance(node, _SCOPES):
                stack.extend(ast.iter_child_nodes(node))
        return found

    def mentioned(self) -> set[str]:
        """Return every name in the loop, those of nested functions included."""
        return {n.id for root in self.nodes for n in ast.walk(root) if isinstance(n, ast.Name)}


def loop_of(stmt: ast.While | ast.For) -> Loop:
    """Return the parts of a loop that run every round."""
    head: tuple[ast.AST, ...] = (stmt.test,) if isinstance(stmt, ast.While) else ()
    return Loop(stmt, (*head, *stmt.body))


def carries(loop: Loop, ctx: Context, code: Code, own: frozenset[str]) -> list[Carry]:
    """Return what a loop carries, in order of appearance. Raises Declined.

    `own` are names that the rewrite makes itself, such as the index of a `for` loop.
    """
    stmt = loop.stmt
    bound = {n.id for n in loop.names() if not isinstance(n.ctx, ast.Load)} | set(written(loop))
    live = code.boundary([stmt]).reads | code.live_after(stmt)
    names = [n for n in dict.fromkeys(n.id for n in loop.names()) if n in bound and n in live]
    names = [name for name in names if name not in own]
    before = code.bound_before(stmt)
    found: list[Carry] = []
    for name in names:
        if name not in before:
            raise Declined(f"`{name}` has no value where the loop doesn't turn")
    tensors = [n for n in names if _kind(n, loop, ctx) == "tensor"]
    read = loop.mentioned() - bound
    for name in names:
        kind = _kind(name, loop, ctx)
        after = name in code.live_after(stmt)
        if kind == "tensor":
            others = [*read, *(other for other in names if other != name)]
            shares = any(code.may_alias(name, other) for other in others)
            start = f"{name}.clone()" if shares else name
            found.append(Carry(name, start, False, False, _real(name, loop, ctx), after))
            continue
        usable(name, loop, ctx)
        if after and kind != "mixed":
            _usable_after(name, loop, ctx, code)
        start = _start(name, kind, tensors, loop, ctx, code)
        real = kind == "mixed" and _real(name, loop, ctx)
        found.append(Carry(name, start, True, kind == "mixed", real, after))
    return found


def written(loop: Loop) -> Iterator[str]:
    """Yield the local names whose tensor the loop writes in place: items and `x.add_()`."""
    for root in loop.nodes:
        for node in ast.walk(root):
            target = None
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                target = node.value
            elif isinstance(node, ast.Call) and in_place(node):
                target = node.func.value  # type: ignore[attr-defined]
            if isinstance(target, ast.Name):
                yield target.id


def in_place(call: ast.Call) -> bool:
    """Say whether a call is `x.add_(…)` and the like."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name.endswith("_") and not name.endswith("__") and len(name) > 1


def _facts(name: str, loop: Loop, ctx: Context) -> Iterator[Fact]:
    for node in loop.inside():
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            yield from options(ctx.fact(node))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            if node.target.id == name:
                yield from options(ctx.fact(node.target))
    for value in assigned(name, loop.nodes):
        yield from options(ctx.fact(value))


def assigned(name: str, nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Yield the expressions that plain assignments in some code give a name."""
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    yield from _given(name, target, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                yield from _given(name, node.target, node.value)


def _given(name: str, target: ast.expr, value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Name) and target.id == name:
        yield value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        if len(target.elts) == len(value.elts):
            for inner, part in zip(target.elts, value.elts):
                yield from _given(name, inner, part)


def _kind(name: str, loop: Loop, ctx: Context) -> str:
    """Return "tensor", "mixed", or the type name of a number."""
    numbers: set[str] = set()
    tensor = False
    for fact in _facts(name, loop, ctx):
        if isinstance(fact, Tensor):
            tensor = True
        elif isinstance(fact, (Const, Static, ShapeInt)):
            if fact.kind not in _NUMBERS:
                what = "None at times" if fact.kind == "NoneType" else "no tensor"
                raise Declined(f"`{name}`, which changes from round to round, is {what}")
            numbers.add(fact.kind)
        elif isinstance(fact, (FromTensor, Array)):
            raise Declined(f"`{name}` is read out of a tensor in every round: that comes first")
        else:
            raise Declined(f"what `{name}` is, which changes from round to round, isn't known")
    if tensor:
        return "mixed" if numbers else "tensor"
    if len(numbers) > 1:
        return "float" if numbers == {"int", "float"} else _unclear(name)
    return next(iter(numbers), "") or _unclear(name)


def _unclear(name: str) -> str:
    raise Declined(f"what `{name}` is, which changes from round to round, isn't known")


def _start(name: str, kind: str, tensors: list[str], loop: Loop, ctx: Context, code: Code) -> str:
    """Return the tensor that a number starts as."""
    made = code.spell("torch.tensor")
    at = f", device={tensors[0]}.device" if tensors else ""
    if kind == "float":
        return f"{made}({name}, dtype={code.spell(_FLOAT)}{at})"
    if kind == "mixed":
        like = _like(name, tensors, loop, ctx)
        return f"{like}.new_full((), {name})" if like else f"{made}({name}{at})"
    return f"{made}({name}{at})"


def _real(name: str, loop: Loop, ctx: Context) -> bool:
    tensors = [fact for fact in _facts(name, loop, ctx) if isinstance(fact, Tensor)]
    return any(fact.dtype not in ("int", "bool") for fact in tensors)


def _like(name: str, tensors: list[str], loop: Loop, ctx: Context) -> str:
    """Return the tensor whose dtype a number has once it is one; "" where its own is right."""
    for value in assigned(name, loop.nodes):
        facts = [o for o in options(ctx.fact(value)) if isinstance(o, Tensor)]
        if any(fact.dtype in ("bool", "int") for fact in facts):
            return ""
    return tensors[0] if tensors else ""


def usable(name: str, loop: Loop, ctx: Context) -> None:
    """Decline where Python asks for a number inside the loop."""
    for node in loop.names():
        if node.id == name and isinstance(node.ctx, ast.Load):
            what = asks(node, ctx)
            if what:
                raise Declined(f"`{name}` is {what}, which a carried number can't be")


def _usable_after(name: str, loop: Loop, ctx: Context, code: Code) -> None:
    end = loop.stmt.end_lineno or loop.stmt.lineno
    for node in code.uses(name):
        if node.lineno > end:
            what = asks(node, ctx) or _handed_out(node, ctx)
            if what:
                raise Declined(f"`{name}`, a number, is {what} behind the loop")


def _handed_out(node: ast.Name, ctx: Context) -> str:
    parent = ctx.parent(node)
    if isinstance(parent, (ast.Return, ast.Tuple, ast.List, ast.Dict)):
        return "returned or kept"
    if isinstance(parent, (ast.Assign, ast.keyword, ast.Compare, ast.BoolOp, ast.If, ast.While)):
        return "used as such"
    if isinstance(parent, ast.Call) and not ctx.callee(parent).name.startswith("torch."):
        return "passed on"
    return ""


def asks(node: ast.Name, ctx: Context) -> str:
    """Return how Python needs to know a number, "" where a 0-dim tensor does as well."""
    parent = ctx.parent(node)
    while isinstance(parent, (ast.BinOp, ast.UnaryOp)):
        node, parent = parent, ctx.parent(parent)  # type: ignore[assignment]
    if isinstance(parent, ast.Slice):
        return "the bound of a slice"
    if isinstance(parent, (ast.FormattedValue, ast.JoinedStr)):
        return "put into text"
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        held = options(ctx.fact(parent.value))
        return "" if all(isinstance(o, Tensor) for o in held) else "an index of no tensor"
    if isinstance(parent, ast.Tuple) and isinstance(ctx.parent(parent), ast.Subscript):
        owner = ctx.parent(parent)
        assert isinstance(owner, ast.Subscript)
        held = options(ctx.fact(owner.value))
        return "" if all(isinstance(o, Tensor) for o in held) else "an index of no tensor"
    if isinstance(parent, ast.Call) and node in parent.args:
        callee = ctx.callee(parent)
        last = callee.name.rpartition(".")[2]
        if callee.name in ("builtins.range", "builtins.str", "builtins.int", "builtins.round"):
            return f"passed to `{last}`"
        if callee.name.startswith("math."):
            return f"passed to `{callee.name}`"
        if last in _LAYOUT:
            return "a size"
    return ""
