"""CL604: a list argument that grows in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Rule, Severity, Sighting
from ..base.reading import shown
from ..base.scopes import dotted
from .loops import arguments, assigned_in, rounds, uses

_GROW = frozenset({"append", "extend", "insert"})


class GrowingArgument(Rule):
    """A compiled function is called in a loop with a list that the loop lengthens.

    ## What it does
    Flags `step(x, outs)` and `step(*outs)` in a loop that also calls `outs.append(...)`, where
    `step` is compiled and reads the list, and the list is made before the loop.

    ## Why it matters
    The length of a list is a constant of the graph: it decides how many inputs the graph has. Each
    length compiles again, up to the recompile limit.

    ## Example
    Multistep solvers that pass all earlier slopes, dense connections, decoding with a list of
    past states.

    ## Fix
    Pass a list of fixed length (pad it, or keep the last k), or one tensor that is preallocated
    and written by index.

    ## When it is safe
    For loops of a few rounds.
    """

    code = "CL604"
    name = "growing-argument"
    summary = "Compiled call with a list that the loop lengthens"
    nodes = (ast.Call,)
    breaks = ()
    severity = Severity.WARNING
    scope = "file"
    triggers = ("compile",)
    examples = (
        Example(
            bad="""
import torch
from torch._dynamo.testing import CompileCounter

counter = CompileCounter()

@torch.compile(backend=counter)
def step(x, past):
    return x + sum(past)

def f(x):
    past = [x]
    for _ in range(6):
        x = step(x, past)  # error: CL604
        past.append(x)
    return x

def witness():
    f(torch.ones(3))
    return counter.frame_count > 3
""",
            good="""
import torch
from torch._dynamo.testing import CompileCounter

counter = CompileCounter()

@torch.compile(backend=counter)
def step(x, past):
    return x + sum(past)

def f(x):
    past = [x, x]
    for _ in range(6):
        x = step(x, past)
        past = [past[1], x]
    return x

def witness():
    f(torch.ones(3))
    return counter.frame_count > 3
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for each argument that is a list the loop lengthens."""
        assert isinstance(node, ast.Call)
        loops = rounds(node, ctx)
        if not loops:
            return
        function = ctx.callee(node).project
        if function is None or ctx.compiled(node) is None:
            return
        for value in _lists(node, function, ctx):
            if any(_lengthens(loop, dotted(value)) for loop in loops):
                what = f"`{shown(value)}` is longer in every round: each length recompiles"
                yield Sighting(value, what)


def _lists(call: ast.Call, function: object, ctx: Context) -> Iterator[ast.expr]:
    for parameter, value in arguments(call, ctx):
        if isinstance(value, ast.Name) and any(uses(function, parameter)):
            yield value
    for value in call.args:
        if isinstance(value, ast.Starred) and isinstance(value.value, ast.Name):
            yield value.value


def _lengthens(loop: ast.For, name: str) -> bool:
    if any(assigned_in(loop, name)):
        return False
    changes = {
        part.func.attr
        for stmt in loop.body
        for part in ast.walk(stmt)
        if isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and dotted(part.func.value) == name
    }
    return bool(changes & _GROW) and not changes & {"pop", "clear", "remove", "popleft"}
