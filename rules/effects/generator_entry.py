"""CL518: the compiled function is a generator."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..base import Code, Context, Example, Fix, Mode, Rule, Sighting
from ..base.scopes import own


class GeneratorEntry(Rule):
    """`torch.compile(fullgraph=True)` on a function that yields.

    ## What it does
    Flags compiled entry points that contain `yield`, where `fullgraph=True` is asked for.

    ## Why it matters
    Calling a generator function runs none of its body, so there is nothing to capture.
    `fullgraph=True` refuses it; by default the function is silently left to run eagerly.

    ## Example
    A compiled function that yields the levels of an image pyramid.

    ## Fix
    Return a list or a tuple. Or compile the function that consumes the generator: generators that
    are consumed inside a region are captured whole.

    ## When it is safe
    Never for the entry itself; helpers that yield are fine.
    """

    code = "CL518"
    name = "generator-entry"
    summary = "Compiled entry point is a generator"
    nodes = (ast.FunctionDef,)
    breaks = (Mode.FULLGRAPH,)
    graph_breaks = ("GB0003",)
    examples = (
        Example(
            bad="""
import torch

@torch.compile(fullgraph=True, backend="eager")
def f(x):  # error: CL518
    yield x + 1
    yield x + 2

def witness():
    try:
        return not list(f(torch.ones(3)))
    except torch._dynamo.exc.Unsupported:
        return True
""",
            good="""
import torch

def levels(x):
    yield x + 1
    yield x + 2

@torch.compile(fullgraph=True, backend="eager")
def f(x):
    return list(levels(x))

def witness():
    return not f(torch.ones(3))
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterable[Sighting]:
        """Yield a sighting when the entry itself yields and a full graph is asked for."""
        assert isinstance(node, ast.FunctionDef)
        if node is not ctx.function or not ctx.entry or not ctx.options.fullgraph:
            return ()
        if not any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in own(node)):
            return ()
        return (Sighting(node, f"`{node.name}` is a generator: a call runs nothing to capture"),)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the function that returns a list."""
        from ..rewrites.generators import listed

        assert isinstance(sighting.node, ast.FunctionDef)
        yield from listed(sighting.node, code)
