"""CL602: a number that the graph needs as a constant, and that changes in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Rule, Severity, Sighting
from ..base.reading import shown
from .constants import specialising
from .loops import arguments, counter_of, rounds, uses, varies


class NumberArgument(Rule):
    """A compiled function is called in a loop with a number that it needs as a constant.

    ## What it does
    Flags `step(x, i)` in `for i in range(n)`, where `step` is compiled and uses the number in
    `range(i)`, as the index of a Python or module list, in `chunk`, `one_hot`, `dropout(x, p)`,
    `math.exp(p)` or the like; with `dynamic=False`, in any way.

    ## Why it matters
    Numbers turn dynamic after one recompile, but not where their value decides what the graph
    looks like, or where an operator takes them as a constant. Then each value compiles again, up
    to the recompile limit.

    ## Example
    One compiled block function for all layers, told which by an index.

    ## Fix
    Keep the number out of the compiled function (select the layer outside), or pass it as a
    tensor where tensor arithmetic will do.

    ## When it is safe
    When the loop runs a few rounds. Numbers in tensor arithmetic cost one recompile, and are not
    reported.
    """

    code = "CL602"
    name = "number-argument"
    summary = "Compiled call with a number that changes and is needed as a constant"
    nodes = (ast.Call,)
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

layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(6)])
counter = CompileCounter()

@torch.compile(backend=counter)
def step(x, index):
    return layers[index](x)

def f(x):
    for i in range(6):
        x = step(x, i)  # error: CL602
    return x

def witness():
    f(torch.ones(3))
    return counter.frame_count > 2
""",
            good="""
import torch
from torch import nn
from torch._dynamo.testing import CompileCounter

layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(6)])
counter = CompileCounter()

@torch.compile(backend=counter)
def step(x, layer):
    return layer(x)

def f(x):
    for layer in layers:
        x = step(x, layer)
    return x

def witness():
    f(torch.ones(3))
    return counter.frame_count > 2
""",
            truth="witness",
            entry="explicit",
        ),
        Example(
            bad="""
import torch
import torch.nn.functional as F
from torch._dynamo.testing import CompileCounter

counter = CompileCounter()

step = torch.compile(lambda x, p: F.dropout(x, p), backend=counter)

def f(x):
    for i in range(6):
        x = step(x, i * 0.1)  # error: CL602

def witness():
    f(torch.ones(3))
    return counter.frame_count > 2
""",
            good="""
import torch
from torch._dynamo.testing import CompileCounter

counter = CompileCounter()

step = torch.compile(lambda x, p: x * (torch.rand_like(x) > p), backend=counter)

def f(x):
    for i in range(6):
        x = step(x, i * 0.1)

def witness():
    f(torch.ones(3))
    return counter.frame_count > 2
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for each argument that follows a loop's counter into such a use."""
        assert isinstance(node, ast.Call)
        loops = [(loop, counter_of(loop, ctx)) for loop in rounds(node, ctx)]
        if not any(counter for _, counter in loops):
            return
        function = ctx.callee(node).project
        given = ctx.compiled(node) if function is not None else None
        if given is None:
            return
        for parameter, value in arguments(node, ctx):
            use = specialising(function, parameter)
            if not use and given.dynamic is False and any(uses(function, parameter)):
                use = f"{parameter}, with dynamic=False"
            if use and any(counter and varies(value, loop, counter) for loop, counter in loops):
                what = f"`{shown(value)}` changes in every round; `{use}` recompiles"
                yield Sighting(value, what)
