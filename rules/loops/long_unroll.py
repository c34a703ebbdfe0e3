"""CL206: a loop that is unrolled very often."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Fact, Rule, Severity, Sighting
from ..base.reading import shown, tensor_of
from .collecting import collected
from .iteration import (
    carried,
    computes,
    constant_count,
    fixed_length,
    over_size,
    sources,
    values_read,
)

MANY = 64  # turns from which the size of the graph is felt in compile time


class LongUnroll(Rule):
    """A loop that torch.compile unrolls many times, or once for every element of a dimension.

    ## What it does
    Points out `for` loops that compute tensors and turn 64 times or more (`range(200)`), or as
    often as a tensor is large (`range(x.shape[1])`, `for row in x`).

    ## Why it matters
    Loops are unrolled into the graph: each turn repeats every operator of the body. Compile time
    grows with the number of turns, and a loop over a size compiles again for every new size, also
    with dynamic shapes.

    ## Example
    See the bad and good modules below.

    ## Fix
    Work on the whole dimension at once. A recurrence can use a closed form, `torch.cumsum` and
    its relatives, or `torch._higher_order_ops.scan`, which keeps one copy of the body; `while_loop`
    likewise. Otherwise compile one step, and loop outside.

    ## When it is safe
    Over layers, or a few fixed steps, unrolling is what you want.
    """

    code = "CL206"
    name = "long-unroll"
    summary = "loop is unrolled very often"
    nodes = (ast.For,)
    breaks = ()
    severity = Severity.INFO
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    for _ in range(200):  # error: CL206
        x = torch.tanh(x * 1.01)
    return x

def witness():
    sizes = []
    def count(graph, inputs):
        sizes.append(len(graph.graph.nodes))
        return graph.forward
    torch.compile(f, backend=count)(torch.ones(3))
    return max(sizes) > 200
""",
            good="""
import torch

def f(x: torch.Tensor):
    for _ in range(4):
        x = torch.tanh(x * 1.01)
    return x

def witness():
    sizes = []
    def count(graph, inputs):
        sizes.append(len(graph.graph.nodes))
        return graph.forward
    torch.compile(f, backend=count)(torch.ones(3))
    return max(sizes) > 200
""",
            truth="witness",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    level = torch.zeros_like(x[0])
    for i in range(x.shape[0]):  # error: CL206
        level = level + x[i]
    return level
""",
            good="""
import torch

def f(x: torch.Tensor):
    for _ in range(x.ndim):
        x = x + 1
    return x.sum(0)
""",
            inputs="[(torch.rand(n, 4),) for n in (3, 4, 5, 6)]",
            truth="recompile",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the loop computes tensors and turns often."""
        assert isinstance(node, ast.For)
        if not computes(node, ctx) or collected(node, ctx) is not None:
            return
        iterables = list(sources(node.iter, ctx))
        if any(values_read(fact) is not None for _, fact in iterables):
            return
        fixed = any(fixed_length(fact) for _, fact in iterables)  # zip() ends with the shortest
        name = carried(node, ctx)
        advice = f"`{name}` goes from turn to turn: scan" if name else "vectorise"
        for source, fact in iterables:
            turns = constant_count(source, ctx)
            if turns >= MANY:
                text = f"`{shown(source)}` is unrolled {turns} times into the graph: {advice}"
                yield Sighting(source, text)
                return
            size = _size(source, fact, ctx)
            if size is not None and not fixed:
                text = f"`{shown(source)}` is unrolled, and compiled anew for each size: {advice}"
                yield Sighting(source, text, size)
                return


def _size(source: ast.expr, fact: Fact, ctx: Context) -> Fact | None:
    tensor = tensor_of(fact)
    if tensor is not None:
        return None if tensor.ragged else tensor
    return over_size(source, ctx)
