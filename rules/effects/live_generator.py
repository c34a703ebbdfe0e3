"""CL519: a generator that was started outside is advanced inside."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sequence, Sighting, options
from ..base.reading import shown
from ..base.scopes import outlives


class LiveGenerator(Rule):
    """The region takes values from a generator object that it didn't make.

    ## What it does
    Flags `next(self.batches)`, `for v in STREAM:` and the like where the generator object is a
    global, an attribute of a module or an argument.

    ## Why it matters
    A running generator is a suspended frame, hidden from Dynamo: it can't be guarded on, and its
    state couldn't be restored. The graph ends where it is advanced.

    ## Example
    Drawing the next noise schedule value from a generator kept on the module.

    ## Fix
    Take the value outside and pass it in. Keep a list and an index tensor where the sequence is
    short. Make the generator inside when it may start over with each call.

    ## When it is safe
    Generators made inside the region are traced, `send` and `throw` included.
    """

    code = "CL519"
    name = "live-generator"
    summary = "Generator made outside is advanced inside the region"
    nodes = (ast.Call, ast.For)
    callees = ("builtins.next",)
    graph_breaks = ("GB4347", "GB0811")
    examples = (
        Example(
            bad="""
import torch

def schedule():
    while True:
        yield 1
        yield 2

steps = schedule()

def f(x):
    return x + next(steps)  # error: CL519
""",
            good="""
import torch

def schedule():
    while True:
        yield 1
        yield 2

def f(x):
    steps = schedule()
    return x + next(steps)
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting where such a generator is advanced."""
        if isinstance(node, ast.For):
            source = node.iter
        else:
            assert isinstance(node, ast.Call)
            if ctx.callee(node).name != "builtins.next" or not node.args:
                return
            source = node.args[0]
        if not isinstance(source, (ast.Name, ast.Attribute)):
            return
        for option in options(ctx.fact(source)):
            started = isinstance(option, Sequence) and option.kind == "generator"
            if started and outlives(source, ctx):
                what = f"generator `{shown(source)}` was started outside the region"
                place = node if isinstance(node, ast.Call) else source
                yield Sighting(place, what, option)
                return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: where the generator stands is known outside only."""
        raise Declined("take the value outside, and pass it in")
