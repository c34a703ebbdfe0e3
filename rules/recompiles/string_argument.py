"""CL603: a string argument that changes in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Const, Context, Example, Rule, Severity, Sighting, Static, options
from ..base.reading import shown
from .loops import arguments, counter_of, rounds, uses


class StringArgument(Rule):
    """A compiled function is called in a loop with another string each time.

    ## What it does
    Flags `step(x, name)` in `for name, … in d.items()`, over a list of three or more strings, and
    `step(x, f"layer{i}")`, where `step` is compiled and reads the argument.

    ## Why it matters
    Strings never turn dynamic: each value is a guard of its own, and compiles again, up to the
    recompile limit.

    ## Example
    A metric function that is handed the name under which to store its result.

    ## Fix
    Keep names outside: pass the tensor that the name stands for, and use the name on the result.

    ## When it is safe
    For a few fixed modes. A string that the function never reads isn't guarded on.
    """

    code = "CL603"
    name = "string-argument"
    summary = "Compiled call with a string that changes"
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

weights = {"box": 1.0, "mask": 2.0, "edge": 0.5, "text": 0.1}
counter = CompileCounter()

@torch.compile(backend=counter)
def term(x, name):
    return x * weights[name]

def f(x):
    total = 0
    for name in ("box", "mask", "edge", "text"):
        total = total + term(x, name)  # error: CL603
    return total

def witness():
    f(torch.ones(3))
    return counter.frame_count > 2
""",
            good="""
import torch
from torch._dynamo.testing import CompileCounter

weights = {"box": 1.0, "mask": 2.0, "edge": 0.5, "text": 0.1}
counter = CompileCounter()

@torch.compile(backend=counter)
def term(x, weight):
    return x * weight

def f(x):
    total = 0
    for name in ("box", "mask", "edge", "text"):
        total = total + term(x, weights[name])
    return total

def witness():
    f(torch.ones(3))
    return counter.frame_count > 2
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for each string argument that follows a loop."""
        assert isinstance(node, ast.Call)
        loops = rounds(node, ctx)
        if not loops:
            return
        function = ctx.callee(node).project
        if function is None or ctx.compiled(node) is None:
            return
        for parameter, value in arguments(node, ctx):
            if any(_follows(value, loop, ctx) for loop in loops) and any(uses(function, parameter)):
                what = f"string `{shown(value)}` changes in every round: each value recompiles"
                yield Sighting(value, what)


def _follows(value: ast.expr, loop: ast.For, ctx: Context) -> bool:
    if isinstance(value, ast.JoinedStr):
        names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
        counter = counter_of(loop, ctx)
        return bool(counter) and counter in names
    if not isinstance(value, ast.Name) or not _is_string(value, ctx):
        return False
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    if not any(isinstance(t, ast.Name) and t.id == value.id for t in targets):
        return False
    if isinstance(loop.iter, (ast.Tuple, ast.List)):
        words = {e.value for e in loop.iter.elts if isinstance(e, ast.Constant)}
        return len(words) > 2
    return isinstance(loop.iter, ast.Call) and _names_of(loop.iter, loop, value.id)


def _names_of(call: ast.Call, loop: ast.For, name: str) -> bool:
    """`d.items()`, `d.keys()`, `m.named_parameters()`: the names are all different."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method == "keys":
        return True
    first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else None
    different = method == "items" or method.startswith("named_")
    return different and isinstance(first, ast.Name) and first.id == name


def _is_string(node: ast.expr, ctx: Context) -> bool:
    found = options(ctx.fact(node))
    return all(isinstance(o, (Const, Static)) and o.kind == "str" for o in found)
