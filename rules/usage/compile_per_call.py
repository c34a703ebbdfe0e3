"""CL702: torch.compile called inside a function that runs for every batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Severity, Sighting
from .compiling import HOT, compile_uses, conditional, memoised


class CompilePerCall(Rule):
    """`torch.compile` inside `forward`, `__call__` or a training step.

    ## What it does
    Flags `torch.compile(f)`, `module.compile()` and functions decorated with `@torch.compile`
    in the body of `forward`, `__call__`, `training_step` and their like.

    ## Why it matters
    The function runs for every batch, so every batch pays for building the wrapper and looking
    up compiled code, 1 to 20 ms. A function that is defined in there is a new one each time:
    what it closes over is guarded on, and a change compiles it again.

    ## Example
    `def forward(self, x): return torch.compile(self.body)(x)`

    ## Fix
    Compile where the object is made: `self.body.compile()` in `__init__`, or decorate the
    function where it is defined.

    ## When it is safe
    When it runs once: behind `if self.compiled is None`, or in a memoised function. Those are
    not reported. Inside code that is itself compiled the inner call costs nothing, and does
    nothing.
    """

    code = "CL702"
    name = "compile-per-call"
    summary = "torch.compile inside forward, __call__ or a training step"
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
from torch import nn

class Net(nn.Module):
    def body(self, x):
        return x.relu() + 1

    def forward(self, x):
        return torch.compile(self.body, backend="eager")(x)  # error: CL702

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
    net, x = Net(), torch.ones(3)
    compiled = torch.compile(net.body, backend="eager")
    return calls(lambda: net(x)) > 3 * calls(lambda: compiled(x))
""",
            good="""
import sys
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = torch.compile(self.body, backend="eager")

    def body(self, x):
        return x.relu() + 1

    def forward(self, x):
        return self.compiled(x)

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
    net, x = Net(), torch.ones(3)
    compiled = torch.compile(net.body, backend="eager")
    return calls(lambda: net(x)) > 3 * calls(lambda: compiled(x))
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a compilation that every call repeats."""
        function = ctx.function
        name = getattr(function, "name", "")
        if name not in HOT or memoised(function) or conditional(node, ctx):
            return
        if ctx.loop(node) is not None:
            return  # compile-in-loop speaks of it
        for place, target in compile_uses(node, ctx):
            what = "a function" if target is None else f"`{ast.unparse(target)}`"
            yield Sighting(place, f"{what} is compiled anew in every call of `{name}`")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the compilation where the object or the module is made."""
        from ..rewrites.compiled import once

        yield from once(sighting.node, ctx, code)
