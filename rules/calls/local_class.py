"""CL321: a class made inside the function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import ClassRef, Code, Context, Declined, Example, Fix, Rule, Sighting
from .seen import call_seen, shown

_MAKERS = {
    "typing.NamedTuple": "GB0007",
    "dataclasses.make_dataclass": "GB0156",
    "types.new_class": "GB0156",
}


class LocalClass(Rule):
    """A class is made inside compiled code.

    ## What it does
    Flags `class` statements in a function that is captured, and `typing.NamedTuple(...)`,
    `dataclasses.make_dataclass(...)` and `types.new_class(...)` called there.

    ## Why it matters
    Making a class runs `__build_class__`, which Dynamo doesn't trace: the graph ends there, on
    every call. The new class is also a new type each time, so that whatever is compiled later and
    sees it has to recompile.

    ## Example
    See the bad and good modules below.

    ## Fix
    Move the class to module level. If it needs values of the function, pass them to `__init__`.

    ## When it is safe
    In factory functions that run before anything is compiled. `collections.namedtuple` and the
    functional form of `enum.Enum` are captured.
    """

    code = "CL321"
    name = "class-inside"
    summary = "a class is made inside compiled code"
    nodes = (ast.ClassDef, ast.Call)
    callees = tuple(_MAKERS)
    graph_breaks = ("GB8977", "GB0007", "GB0156")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    class Shift:  # error: CL321
        amount = 2

    return x + Shift.amount
""",
            good="""
import torch

class Shift:
    amount = 2

def f(x):
    return x + Shift.amount
""",
        ),
        Example(
            bad="""
from dataclasses import make_dataclass
import torch

def f(x):
    Pair = make_dataclass("Pair", ["left", "right"])  # error: CL321
    return x + 1
""",
            good="""
from collections import namedtuple
import torch

Pair = namedtuple("Pair", ["left", "right"])

def f(x):
    return Pair(x + 1, x - 1).left
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a class that is made here."""
        if isinstance(node, ast.ClassDef):
            if node is not ctx.function:
                text = f"`class {node.name}` is made anew each time the function is captured"
                yield Sighting(node, text, graph_breaks=("GB8977",))
            return
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        id = _MAKERS.get(callee.name)
        if id is not None and not isinstance(ctx.fact(node.func), ClassRef):
            yield call_seen(node, callee, f"`{shown(node)}` makes a class inside the function", id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the class at module level."""
        from ..rewrites.hoist import to_module

        stmt = ctx.statement(sighting.node)
        if isinstance(stmt, ast.ClassDef):
            yield from to_module(stmt, stmt.name, ctx, code)
            return
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) else None
        if not isinstance(target, ast.Name) or getattr(stmt, "value", None) is not sighting.node:
            raise Declined("the class has no name of its own")
        yield from to_module(stmt, target.id, ctx, code)
