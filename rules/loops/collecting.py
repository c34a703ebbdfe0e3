"""What the append-then-stack rules share: finding the list, and where it becomes a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context
from ..base.valueclass import valueclass
from .iteration import JOINING


@valueclass
class Collected:
    """A loop or comprehension whose results `torch.stack` or its like joins.

    `join` is the joining call's name as written; `name` the list, "" for a comprehension.
    """

    iterable: ast.expr
    join: str
    name: str


def collected(node: ast.AST, ctx: Context) -> Collected | None:
    """Return how the results of a `for` loop or comprehension are joined, None if they aren't.

    A loop counts when it appends to a list that the function later passes to torch.stack, cat …;
    a comprehension when it stands directly in such a call.
    """
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        parent = ctx.parent(node)
        if isinstance(parent, ast.Call) and _joins(parent, ctx) and parent.args[0] is node:
            if len(node.generators) == 1 and not node.generators[0].ifs:
                return Collected(node.generators[0].iter, ast.unparse(parent.func), "")
        return None
    if not isinstance(node, ast.For):
        return None
    names = set(_appended(node, ctx))
    if not names:
        return None
    for call in _calls_after(node, ctx):
        if _joins(call, ctx):
            target = call.args[0]
            if isinstance(target, ast.Call) and len(target.args) == 1:  # tuple(out), list(out)
                target = target.args[0]
            if isinstance(target, ast.Name) and target.id in names:
                return Collected(node.iter, ast.unparse(call.func), target.id)
    return None


def _joins(call: ast.Call, ctx: Context) -> bool:
    return bool(call.args) and ctx.callee(call).name in JOINING


def _appended(loop: ast.For, ctx: Context) -> Iterator[str]:
    for node in ctx.inside(loop):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "append"
            and isinstance(node.func.value, ast.Name)
        ):
            yield node.func.value.id


def _calls_after(loop: ast.For, ctx: Context) -> Iterator[ast.Call]:
    end = loop.end_lineno or loop.lineno
    for node in ctx.inside(ctx.function):
        if isinstance(node, ast.Call) and node.lineno > end:
            yield node
