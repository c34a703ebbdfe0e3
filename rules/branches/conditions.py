"""What the branch rules share: which operand of a condition reads tensor data."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    Array,
    Const,
    Context,
    Extern,
    Fact,
    FromTensor,
    Mode,
    Sequence,
    ShapeInt,
    Sighting,
    Static,
    Tensor,
    Unknown,
    options,
)
from ..base.reading import data_in, modes_of, shown
from ..base.valueclass import valueclass

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@valueclass
class Read:
    """An expression whose truth is asked for, and the tensor-dependent fact that answers."""

    node: ast.expr
    fact: Fact

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes in which asking breaks."""
        return modes_of(self.fact)

    @property
    def of_size(self) -> bool:
        """Whether what is read is a data-dependent size, not a value."""
        return isinstance(self.fact, FromTensor) and self.fact.how == "size"


_PLAIN = frozenset({Const, Static, ShapeInt, Unknown, Extern})  # facts without tensor data


def reads(test: ast.expr, ctx: Context) -> Iterator[Read]:
    """Yield what tensor data `bool(test)` asks for, operand by operand.

    `in` tests that break by themselves are left out: they have a rule of their own.
    """
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from reads(value, ctx)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from reads(test.operand, ctx)
    elif isinstance(test, ast.IfExp):
        yield from reads(test.body, ctx)
        yield from reads(test.orelse, ctx)
    elif isinstance(test, ast.NamedExpr):
        yield from reads(test.value, ctx)
    elif type(ctx.fact(test)) not in _PLAIN and not is_membership(test, ctx):
        fact = ctx.truth(test)
        if fact is not None:
            found = data_in(ctx.fact(test)) or fact
            if modes_of(found):
                yield Read(test, found)


def is_membership(node: ast.expr, ctx: Context) -> bool:
    """Say whether the node is an `x in y` whose answer is one of `x`'s or `y`'s tensors."""
    if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn))):
        return False
    if len(node.ops) > 1:
        return False
    sides = (ctx.fact(node.left), ctx.fact(node.comparators[0]))
    inside = any(isinstance(option, Sequence) for option in options(sides[1]))
    left = isinstance(data_in(sides[0]), (Tensor, Array)) and inside
    return left or isinstance(data_in(sides[1]), (Tensor, Array))


def first(found: list[Read]) -> Read | None:
    """Return the read to report: one that breaks in every mode before one that doesn't."""
    return next((read for read in found if read.modes == BOTH), found[0] if found else None)


def is_tested(node: ast.expr, ctx: Context) -> bool:
    """Say whether a statement or an operator around the node asks for its truth."""
    parent = ctx.parent(node)
    if isinstance(parent, (ast.If, ast.While, ast.Assert, ast.IfExp)) and node is parent.test:
        return True
    if isinstance(parent, ast.comprehension):
        return node in parent.ifs
    if isinstance(parent, ast.match_case):
        return node is parent.guard
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    if isinstance(parent, ast.BoolOp):
        return node is not parent.values[-1] or is_tested(parent, ctx)
    return isinstance(parent, (ast.NamedExpr, ast.IfExp)) and is_tested(parent, ctx)


def sighting(read: Read, what: str) -> Sighting:
    """Return the sighting of a read: `what` names the construct that asks."""
    how = getattr(read.fact, "how", "")
    source = {
        "item": "which was read from a tensor",
        "size": "a size that depends on tensor data",
        "random": "which is drawn at random",
    }.get(how, "which depends on tensor data")
    if isinstance(read.fact, Array) and read.fact.constant:
        source = "a NumPy scalar, which is traced as a tensor"
    return Sighting(
        read.node,
        f"{what} tests `{shown(read.node)}`, {source}",
        read.fact,
        breaks=read.modes,
        graph_breaks=None if read.modes == BOTH else (),
    )


def of_value(test: ast.expr, ctx: Context, what: str) -> Iterator[Sighting]:
    """Yield one sighting when `bool(test)` reads tensor data other than sizes."""
    found = first(list(reads(test, ctx)))
    if found is not None and not found.of_size:
        yield sighting(found, what)


def of_size(test: ast.expr, ctx: Context, what: str) -> Iterator[Sighting]:
    """Yield one sighting when `bool(test)` reads a size that depends on tensor data."""
    found = first(list(reads(test, ctx)))
    if found is not None and found.of_size:
        yield sighting(found, what)


def holding_if(node: ast.AST, ctx: Context) -> ast.If:
    """Return the `if` statement that a part of its test was sighted in."""
    stmt = ctx.statement(node)
    assert isinstance(stmt, ast.If)
    return stmt


def untested_operator(node: ast.AST, ctx: Context) -> ast.expr:
    """Return the outermost `and`, `or`, `not` around (or at) a node that nothing else tests."""
    found = [
        part
        for part in (node, *ctx.ancestors(node))
        if isinstance(part, ast.BoolOp)
        or (isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not))
    ]
    return next(part for part in found if not is_tested(part, ctx))


def raises(body: list[ast.stmt]) -> bool:
    """Say whether a block does nothing but raise."""
    plain = (ast.Expr, ast.Assign, ast.AnnAssign)
    return (
        bool(body)
        and isinstance(body[-1], ast.Raise)
        and all(isinstance(stmt, plain) for stmt in body[:-1])
    )
