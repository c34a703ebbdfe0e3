"""CL716: a Python int carried by while_loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Certainty,
    Code,
    Const,
    Context,
    Declined,
    Example,
    Fix,
    Rule,
    Severity,
    ShapeInt,
    Sighting,
)
from ..base.hops import HOPS
from .arms import arms, operands, operator


class WhileLoopIntCarry(Rule):
    """`while_loop` carries a Python int, which works in inference and fails in training.

    ## What it does
    Flags `while_loop` calls with an int among the carried values, such as a counter that starts
    as `0`.

    ## Why it matters
    An int carry becomes a symbol, and the forward pass is fine. The backward pass needs every
    carry of every step as a tensor: as soon as an input requires gradients, tracing raises, in
    every mode.

    ## Example
    `while_loop(more, body, (0, x))`: it passes every test under `no_grad`.

    ## Fix
    Carry the counter as a tensor: `torch.zeros((), dtype=torch.int64)`.

    ## When it is safe
    In code that never sees gradients: decoding, sampling, metrics.
    """

    code = "CL716"
    name = "while-loop-int-carry"
    summary = "int carried by while_loop, which fails in training"
    nodes = (ast.Call,)
    callees = HOPS
    graph_breaks = ("GB4315",)
    severity = Severity.WARNING
    examples = (
        Example(
            bad="""
import torch

def f(x):
    def body(i, y):
        return i + 1, y * 2

    return torch.while_loop(lambda i, y: i < 3, body, (0, x))[1]  # error: CL716
""",
            good="""
import torch

def f(x):
    def body(i, y):
        return i + 1, y * 2

    start = torch.zeros((), dtype=torch.int64)
    return torch.while_loop(lambda i, y: i < 3, body, (start, x))[1]
""",
            inputs="[(torch.ones(3, requires_grad=True),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a carry is a Python int."""
        assert isinstance(node, ast.Call)
        if operator(node, ctx) != "while_loop":
            return
        for fact in operands(ctx.argument(node, 2, "carried_inputs"), ctx) or ():
            if isinstance(fact, (Const, ShapeInt)) and fact.kind == "int":
                yield Sighting(
                    node,
                    "`while_loop` carries a Python int: this raises once gradients are needed",
                    certainty=Certainty.LIKELY,
                )
                return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the call with its counters as tensors."""
        from ..rewrites.carried_calls import numbers_fix

        assert isinstance(sighting.node, ast.Call)
        given = ctx.argument(sighting.node, 2, "carried_inputs")
        if not isinstance(given, (ast.Tuple, ast.List)):
            raise Declined("the carried values aren't written at the call")
        numbers = [part for part in given.elts if isinstance(ctx.fact(part), (Const, ShapeInt))]
        yield numbers_fix(numbers, [arm.node for arm in arms(sighting.node, ctx)], code)
