"""CL701: torch.compile called again and again in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Severity, Sighting
from .compiling import compile_uses, names_in, stored_in


class CompileInLoop(Rule):
    """`torch.compile` of the same thing in every pass of a loop.

    ## What it does
    Flags `torch.compile(f)`, `model.compile()` and functions decorated with `@torch.compile`
    inside a loop, when what is compiled doesn't change from pass to pass.

    ## Why it matters
    Each call builds a new wrapper, sets up the backend and its options, and looks up the cache of
    compiled code: 1 to 20 ms a pass, against 0.1 ms for calling a compiled function. With a
    backend object or closure that is new each time, the code is compiled again as well, until
    the recompile limit is reached and it runs eagerly.

    ## Example
    `for batch in loader: loss = torch.compile(step)(batch)`

    ## Fix
    Compile once before the loop and call the result inside.

    ## When it is safe
    When every pass compiles something else: the layers of a model, a list of models, one
    function under several modes. Those are not reported.
    """

    code = "CL701"
    name = "compile-in-loop"
    summary = "torch.compile of the same thing in every pass of a loop"
    nodes = (ast.Call, ast.FunctionDef, ast.AsyncFunctionDef)
    breaks = ()
    severity = Severity.WARNING
    scope = "file"
    triggers = ("compile",)
    examples = (
        Example(
            bad="""
import sys
import torch

def step(x):
    return x.relu() + 1

def run(x, passes):
    for _ in range(passes):
        y = torch.compile(step, backend="eager")(x)  # error: CL701
    return y

def calls(work):
    made = 0

    def saw(frame, event, argument):
        nonlocal made
        made += event == "call"

    work()
    sys.setprofile(saw)
    work()
    sys.setprofile(None)
    return made

def witness():
    x = torch.ones(3)
    compiled = torch.compile(step, backend="eager")
    return calls(lambda: run(x, 50)) > 3 * calls(lambda: [compiled(x) for _ in range(50)])
""",
            good="""
import sys
import torch

def step(x):
    return x.relu() + 1

def run(x, passes):
    compiled = torch.compile(step, backend="eager")
    for _ in range(passes):
        y = compiled(x)
    return y

def calls(work):
    made = 0

    def saw(frame, event, argument):
        nonlocal made
        made += event == "call"

    work()
    sys.setprofile(saw)
    work()
    sys.setprofile(None)
    return made

def witness():
    x = torch.ones(3)
    compiled = torch.compile(step, backend="eager")
    return calls(lambda: run(x, 50)) > 3 * calls(lambda: [compiled(x) for _ in range(50)])
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a compilation that each pass repeats."""
        for place, target in compile_uses(node, ctx):
            loop = ctx.loop(node)
            if loop is None:
                continue
            own = ctx.statement(node)
            varying = stored_in(loop.body, own)
            if isinstance(loop, ast.For):
                varying |= names_in(loop.target)
            read = set() if target is None else names_in(node) - {"torch"}
            if target is not None and read & varying:
                continue  # each pass compiles something else
            what = "a function" if target is None else f"`{ast.unparse(target)}`"
            yield Sighting(
                place, f"{what} is compiled anew in every pass of the loop: compile it once, before"
            )

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the compilation in front of the loop."""
        from ..rewrites.compiled import before_loop

        yield from before_loop(sighting.node, ctx, code)
