"""CL106: `a < t < b` with a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from ..base.reading import data_in, modes_of, shown
from .conditions import Read, first, is_tested, sighting


class TensorChain(Rule):
    """A comparison chain with a tensor, used as a value.

    ## What it does
    Flags `a < t < b` where a comparison before the last one involves a tensor and the result is
    stored, passed or returned. In the condition of an `if`, `while`, conditional expression or
    `assert` the rule of that construct reports it.

    ## Why it matters
    Python reads `a < t < b` as `a < t and t < b`: the first comparison is tested before the
    second one runs, which branches on a tensor's value and breaks the graph.

    ## Example
    See the bad and good modules below.

    ## Fix
    Write the comparisons out and combine them: `(a < t) & (t < b)`.

    ## When it is safe
    `0 < x.shape[0] < t` tests only the first comparison, which is about a shape.
    """

    code = "CL106"
    name = "tensor-comparison-chain"
    summary = "comparison chain over a tensor"
    nodes = (ast.Compare,)
    graph_breaks = ("GB0170",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    inside = 0 < x.mean() < 5  # error: CL106
    return x * inside
""",
            good="""
import torch

def f(x: torch.Tensor):
    mean = x.mean()
    inside = (0 < mean) & (mean < 5)
    return x * inside * (0 < x.shape[0] < mean)
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a comparison that is tested involves tensor data."""
        assert isinstance(node, ast.Compare)
        if len(node.ops) < 2 or is_tested(node, ctx):
            return
        sides = [node.left, *node.comparators]
        found: list[Read] = []
        for op, left, right in zip(node.ops[:-1], sides, sides[1:]):
            if isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
                continue
            for side in (left, right):
                fact = data_in(ctx.fact(side))
                if fact is not None and modes_of(fact):
                    found.append(Read(node, fact))
        read = first(found)
        if read is not None:
            pair = ast.Compare(node.left, node.ops[:1], node.comparators[:1])
            seen = sighting(read, "the comparison chain")
            message = f"`{shown(node)}` tests `{shown(pair)}` first: it is an `and` on tensor data"
            yield Sighting(
                node, message, seen.fact, breaks=seen.breaks, graph_breaks=seen.graph_breaks
            )

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the comparisons joined with `&`."""
        from ..rewrites.choices import tested_fixes

        assert isinstance(sighting.node, ast.Compare)
        return tested_fixes(sighting.node, "join the comparisons with `&`", ctx, code)
