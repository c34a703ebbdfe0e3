"""An `if` on a tensor as two arms: what each one computes, whatever way it is written.

`if`/`else`, `elif`, no `else`, and early returns (the statements behind the `if` are then the other
arm) all come out as a `Branch`. Declined: exits other than one `return` at the end of an arm;
returns whose other arm stands outside the block; branches that still hold tensor branches.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..base.context import Context
from ..base.facts import (
    NONE,
    UNKNOWN,
    Array,
    Const,
    Fact,
    FromTensor,
    Function,
    Instance,
    Mapping,
    ShapeInt,
    Static,
    Tensor,
    options,
)
from ..base.facts import Sequence as Items
from ..base.rewriting import Code, Declined

_NUMBERS = ("int", "float", "bool", "")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)


class Unalike(Declined):
    """The arms give values of which no tensor operation can choose one."""


@dataclass(frozen=True, slots=True)
class Branch:
    """An `if` as two arms.

    then, other  statements of the arms, a final `return` left out
    values       what the arms return, None when both run on
    last         last statement that a rewrite replaces (the first one is `stmt`)
    header       lines above the rewrite ("else:" for an `elif`)
    indent       of the rewrite
    """

    stmt: ast.If
    then: tuple[ast.stmt, ...]
    other: tuple[ast.stmt, ...]
    values: tuple[ast.expr, ast.expr] | None
    last: ast.stmt
    header: tuple[str, ...]
    indent: str

    @property
    def expressions(self) -> tuple[ast.AST, ...]:
        """All code of both arms."""
        return (*self.then, *self.other, *(self.values or ()))


def branch_of(stmt: ast.If, ctx: Context, code: Code) -> Branch:
    """Return an `if` as two arms. Raises Declined."""
    body, orelse = list(stmt.body), list(stmt.orelse)
    indent = code.indent(stmt)
    inside = _is_elif(stmt, ctx, code)
    header: tuple[str, ...] = ("else:",) if inside else ()
    if not code.boundary([stmt]).exits:
        _no_branches(stmt, ctx)
        within = indent + code.step if inside else indent
        return Branch(stmt, tuple(body), tuple(orelse), None, stmt, header, within)
    if _jumps(stmt):
        raise Declined("an arm leaves the loop: the loop has to be rewritten")
    left, right = _leaves(body), _leaves(orelse)
    last: ast.stmt = stmt
    rest: list[ast.stmt] = []
    if not (left and right):
        rest = _rest(stmt, ctx, code)
        if inside:
            header = ()
        body, orelse = (_continued(body, rest, left), _continued(orelse, rest, right))
        last = rest[-1] if rest else stmt
    within = indent + code.step if header else indent
    if _ends_with_nothing(stmt, (body, orelse), ctx):
        for arm in (body, orelse):
            end = arm.pop() if _leaves(arm) else stmt
            _runs_through(arm, end, ctx)
        return Branch(stmt, tuple(body), tuple(orelse), None, last, header, within)
    if not (_leaves(body) and _leaves(orelse)):
        raise Declined("one arm returns and the other one ends outside the block")
    values = []
    for arm in (body, orelse):
        end = arm.pop()
        assert isinstance(end, ast.Return)
        if end.value is None:
            raise Unalike("one arm returns nothing")
        values.append(end.value)
        _runs_through(arm, end, ctx)
    pair = (values[0], values[1])
    return Branch(stmt, tuple(body), tuple(orelse), pair, last, header, within)


def _ends_with_nothing(stmt: ast.If, arms: Sequence[Sequence[ast.stmt]], ctx: Context) -> bool:
    """Say whether the function ends after either arm, without a value."""
    if ctx.parent(stmt) not in (None, ctx.function):
        return False
    return all(_is_nothing(arm[-1]) for arm in arms if _leaves(arm))


def _is_nothing(stmt: ast.stmt) -> bool:
    """Say whether a `return` gives None."""
    value = stmt.value if isinstance(stmt, ast.Return) else None
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _continued(arm: list[ast.stmt], rest: list[ast.stmt], leaves: bool) -> list[ast.stmt]:
    """Return an arm with the statements that run after it."""
    return arm if leaves else [*arm, *rest]


def _leaves(block: Sequence[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Return)


def _rest(stmt: ast.stmt, ctx: Context, code: Code) -> list[ast.stmt]:
    """Return the statements that run behind an `if`, up to the end of its block."""
    block = list(code.block_of(stmt))
    rest = block[block.index(stmt) + 1 :]
    parent = ctx.parent(stmt)
    if not rest and isinstance(parent, ast.If) and _is_elif(stmt, ctx, code):
        if isinstance(parent.body[-1], (ast.Return, ast.Raise)):
            return _rest(parent, ctx, code)
        raise Declined("the arm before runs on into what follows")
    if not rest and parent in (None, ctx.function):
        raise Declined("one arm returns a value and the other one None")
    return rest


def _is_elif(stmt: ast.stmt, ctx: Context, code: Code) -> bool:
    parent = ctx.parent(stmt)
    return (
        isinstance(parent, ast.If)
        and parent.orelse == [stmt]
        and code.text(stmt).startswith("elif")
    )


def _runs_through(arm: Sequence[ast.stmt], end: ast.stmt, ctx: Context) -> None:
    """Decline an arm that something leaves before its end, or that still holds tensor branches."""
    for part in arm:
        _no_exits(part, end)
        _no_branches(part, ctx)


def _no_exits(stmt: ast.stmt, end: ast.stmt) -> None:
    for node in _own(stmt):
        if isinstance(node, ast.Return):
            raise Declined(f"another return stands before the one in line {end.lineno}")
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            raise Declined("an arm gives control away")
    if _jumps(stmt):
        raise Declined("an arm leaves the loop: the loop has to be rewritten")


def _jumps(node: ast.AST) -> bool:
    """Say whether break or continue leaves a statement."""
    if isinstance(node, (ast.Break, ast.Continue)):
        return True
    if isinstance(node, _LOOPS):
        return any(map(_jumps, node.orelse))
    return not isinstance(node, _SCOPES) and any(map(_jumps, ast.iter_child_nodes(node)))


def _no_branches(stmt: ast.stmt, ctx: Context) -> None:
    """Decline while other tensor branches stand inside: they come first."""
    for node in _own(stmt):
        inner = isinstance(node, (ast.If, ast.While, ast.IfExp)) and node is not stmt
        if inner and ctx.truth(node.test) is not None:  # type: ignore[attr-defined]
            raise Declined("the branch inside comes first")
    if isinstance(stmt, ast.While) and ctx.truth(stmt.test) is not None:
        raise Declined("an arm loops until a tensor says so")


def _own(stmt: ast.AST) -> Iterator[ast.AST]:
    stack: list[ast.AST] = [stmt]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))


# -- what arms give ------------------------------------------------------------------------------


def pairs(left: ast.expr, right: ast.expr) -> list[tuple[ast.expr, ast.expr]] | None:
    """Return the parts of two displays of equal layout, None where one value meets one value.

    Raises Declined when only one of them is a display, or their layouts differ.
    """
    kinds = (ast.Tuple, ast.List, ast.Dict)
    if not isinstance(left, kinds) and not isinstance(right, kinds):
        return None
    if type(left) is type(right):
        if isinstance(left, ast.Dict) and isinstance(right, ast.Dict):
            keys = [[None if k is None else ast.dump(k) for k in d.keys] for d in (left, right)]
            if keys[0] == keys[1] and None not in keys[0]:
                return list(zip(left.values, right.values))
        elif isinstance(left, (ast.Tuple, ast.List)) and isinstance(right, (ast.Tuple, ast.List)):
            starred = any(isinstance(e, ast.Starred) for e in (*left.elts, *right.elts))
            if len(left.elts) == len(right.elts) and not starred:
                return list(zip(left.elts, right.elts))
    raise Unalike("the arms give containers of different layout")


def alike(left: Fact, right: Fact, promotes: bool = True) -> None:
    """Decline where two facts say that their values can't be one tensor."""
    for fact in (left, right):
        reason = next(filter(None, (_unlike(option) for option in options(fact))), "")
        if reason:
            kind = Unalike if reason == "None" else Declined
            raise kind(f"one arm gives {reason}")
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        if None not in (left.rank, right.rank) and left.rank != right.rank:
            raise Unalike(f"the arms have {left.rank} and {right.rank} dimensions")
        if left.dtype and right.dtype and left.dtype != right.dtype:
            raise Declined(f"the arms have different dtypes ({left.dtype} and {right.dtype})")
    if promotes:
        for tensor, number in ((left, right), (right, left)):
            kind = getattr(number, "kind", "")
            if isinstance(tensor, Tensor) and tensor.dtype in ("int", "bool") and kind == "float":
                raise Declined(f"a float would turn the {tensor.dtype} tensor into floats")


def _unlike(fact: Fact) -> str:
    """Say what a value is that no tensor operation can choose, "" for tensors and numbers."""
    if isinstance(fact, Const) and fact.value is None:
        return "None"
    if isinstance(fact, (Const, Static)) and fact.kind not in _NUMBERS:
        return f"a {fact.kind}"
    if isinstance(fact, (Items, Mapping)):
        return f"a {fact.kind}"
    if isinstance(fact, Array):
        return "a NumPy array"
    if isinstance(fact, Instance):
        return "an object"
    return "a function" if isinstance(fact, Function) else ""


def is_number(fact: Fact) -> bool:
    """Say whether a value is surely a Python number."""
    return bool(options(fact)) and all(
        isinstance(o, (Const, Static, ShapeInt, FromTensor)) and o.kind in ("int", "float", "bool")
        for o in options(fact)
    )


def before(name: str, stmt: ast.stmt, ctx: Context, code: Code) -> Fact:
    """Return what is known of a name's value where a statement starts."""
    block = list(code.block_of(stmt))
    for earlier in reversed(block[: block.index(stmt)]):
        for node in ast.walk(earlier):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                plain = isinstance(earlier, ast.Assign) and earlier.targets == [node]
                return ctx.fact(earlier.value) if plain else UNKNOWN  # type: ignore[attr-defined]
    around = ctx.parent(stmt)
    if isinstance(around, ast.If) and stmt in around.body:
        test = around.test
        both = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
        for part in test.values if both else [test]:  # type: ignore[attr-defined]
            if ast.unparse(part) == f"{name} is None":
                return NONE
        return before(name, around, ctx, code)
    return UNKNOWN


def heavy(nodes: Iterable[ast.AST], ctx: Context) -> bool:
    """Say whether code does what one wouldn't do in vain: modules, products, project functions."""
    costly = ("matmul", "mm", "bmm", "einsum", "linear", "attention", "conv", "addmm", "svd", "inv")
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                return True
            if isinstance(node, ast.Call):
                callee = ctx.callee(node)
                last = callee.name.rpartition(".")[2].lower()
                if callee.project is not None or ctx.torch.module(callee.name) is not None:
                    return True
                if last.startswith(costly):
                    return True
    return False
