"""CL608: an int attribute of a compiled module that is set between calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..base import Context, Example, Rule, Severity, Sighting
from ..base.reading import shown
from ..base.scopes import dotted, own
from .loops import counter_of, rounds, varies
from .state import whole_number


class AttributeBetween(Rule):
    """A loop sets an int attribute of a compiled module before each call.

    ## What it does
    Flags `model.step = i` … `model(x)` in one loop, where the model is compiled, the value
    follows the loop, and a method of the model reads the attribute.

    ## Why it matters
    Ints on a module are constants of the graph, and unlike arguments they never turn dynamic:
    every value compiles again, up to the recompile limit.

    ## Example
    Telling the model the current epoch or denoising step.

    ## Fix
    Pass the number as an argument (it turns dynamic after one recompile) or as a tensor; or keep
    it in a buffer and write `model.step.fill_(i)`.

    ## When it is safe
    For a few rounds. Float attributes that only take part in tensor arithmetic recompile once,
    and are not reported.
    """

    code = "CL608"
    name = "attribute-set-between-calls"
    summary = "Int attribute of a compiled module set between calls"
    nodes = (ast.Assign,)
    breaks = ()
    severity = Severity.WARNING
    scope = "file"
    triggers = ("compile",)
    examples = (
        Example(
            bad="""
import torch
from torch import nn
from torch._dynamo.testing import CompileCounter

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        return torch.relu(x) * self.step

counter = CompileCounter()
model = Net()
model.compile(backend=counter)

def f(x):
    for i in range(6):
        model.step = i  # error: CL608
        x = model(x)
    return x

def witness():
    f(torch.ones(3))
    return counter.frame_count > 3
""",
            good="""
import torch
from torch import nn
from torch._dynamo.testing import CompileCounter

class Net(nn.Module):
    def forward(self, x, step):
        return torch.relu(x) * step

counter = CompileCounter()
model = Net()
model.compile(backend=counter)

def f(x):
    for i in range(6):
        x = model(x, i)
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
        """Yield a sighting for an assignment whose value follows the loop around a call."""
        assert isinstance(node, ast.Assign)
        for target in node.targets:
            if not isinstance(target, ast.Attribute) or not dotted(target.value):
                continue
            for loop in rounds(node, ctx):
                counter = counter_of(loop, ctx)
                if not counter or not varies(node.value, loop, counter):
                    continue
                if whole_number(ctx.fact(node.value)) and _called(loop, target, ctx):
                    what = f"`{shown(target)}` is an int of a compiled module: all values recompile"
                    yield Sighting(node, what)
                    break


def _called(loop: ast.For, target: ast.Attribute, ctx: Context) -> bool:
    """Say whether the loop calls the compiled module, and the module reads the attribute."""
    for stmt in loop.body:
        for part in ast.walk(stmt):
            if isinstance(part, ast.Call) and dotted(part.func) == dotted(target.value):
                function = ctx.callee(part).project
                if ctx.compiled(part) is not None and _reads(function, target.attr):
                    return True
    return False


def _reads(function: Any, attribute: str) -> bool:
    methods = function.cls.methods.values() if function is not None and function.cls else ()
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and isinstance(node.ctx, ast.Load)
        for method in methods
        if method.name != "__init__"
        for node in own(method.node)
    )
