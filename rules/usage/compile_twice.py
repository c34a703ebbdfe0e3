"""CL713: torch.compile of something that is compiled already."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Function, Instance, Rule, Safety, Severity, Sighting
from ..base.hops import compiled_at
from .compiling import compile_name


class CompileTwice(Rule):
    """`torch.compile` of a function or module that went through `torch.compile` before.

    ## What it does
    Flags `torch.compile(f)` where `f` is the result of `torch.compile` or is decorated with it.

    ## Why it matters
    The outer call replaces the inner one: its `fullgraph`, `mode`, `backend` and `dynamic` are
    lost without a word. Of a module it returns a plain function, without `parameters()` and
    `state_dict()`.

    ## Example
    `build()` returns `torch.compile(model, fullgraph=True)`, and the caller compiles it again.

    ## Fix
    Compile in one place, with all options.

    ## When it is safe
    When both calls have the same options, on functions: it only costs a wrapper.
    """

    code = "CL713"
    name = "compile-twice"
    summary = "torch.compile of something that is compiled already"
    nodes = (ast.Call,)
    breaks = ()
    severity = Severity.WARNING
    scope = "file"
    triggers = ("compile",)
    examples = (
        Example(
            bad="""
import torch

used = []

def careful(graph, inputs):
    used.append("careful")
    return graph.forward

@torch.compile(backend=careful)
def step(x):
    return x.relu() + 1

fast = torch.compile(step, backend="eager")  # error: CL713

def witness():
    fast(torch.ones(3))
    return not used
""",
            good="""
import torch

used = []

def careful(graph, inputs):
    used.append("careful")
    return graph.forward

def step(x):
    return x.relu() + 1

fast = torch.compile(step, backend=careful)

def witness():
    fast(torch.ones(3))
    return not used
""",
            truth="witness",
            entry="explicit",
            note="The backend of the inner call is never asked.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the argument is a compiled callable."""
        assert isinstance(node, ast.Call)
        if compile_name(node, ctx) != "torch.compile":
            return
        target = ctx.argument(node, 0, "model")
        fact = None if target is None else ctx.fact(target)
        if target is None or not isinstance(fact, (Function, Instance)):
            return
        before = compiled_at(fact)
        if before is not None and (before.path, before.line) == (ctx.path, node.lineno):
            return  # one call in a loop: compile-in-loop speaks of it
        text = ast.unparse(target)
        if before is not None:
            message = f"`{text}` is compiled already: options given there are lost"
            yield Sighting(node, message, fact)
        elif isinstance(fact, Function) and any(map(_compiles, fact.function.decorators)):
            message = f"`{text}` is decorated with torch.compile: options given there are lost"
            yield Sighting(node, message)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield what the first compilation gave."""
        assert isinstance(sighting.node, ast.Call)
        target = ctx.argument(sighting.node, 0, "model")
        if target is not None:
            title = "compile once, with the options given first"
            edit = code.replace(sighting.node, code.text(target))
            yield code.fix(title, [edit], Safety.UNSAFE)


def _compiles(deco: ast.expr) -> bool:
    return ast.unparse(deco.func if isinstance(deco, ast.Call) else deco) == "torch.compile"
