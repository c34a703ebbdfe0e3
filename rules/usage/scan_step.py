"""CL711: a scan step that doesn't return a carry like its own, and an output."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Certainty, Const, Context, Example, Rule, Sequence, ShapeInt, Sighting, Tensor
from ..base.hops import HOPS
from .arms import operands, operator
from .results import difference


class ScanStep(Rule):
    """A `scan` step that returns one value, or a carry of another dtype or rank.

    ## What it does
    Flags `scan` calls whose step function returns a single tensor instead of the pair (carry,
    output), or a carry whose dtype or number of dimensions isn't that of `init`.

    ## Why it matters
    The step is compiled once for all rows: the carry it returns is the one it gets next, and the
    second value is stacked. Anything else raises while tracing, in every mode and without
    torch.compile too.

    ## Example
    `scan(lambda total, row: total + row, init, xs)`, written as for `functools.reduce`.

    ## Fix
    Return `carry, output`; `output` must not be the carry itself (`carry.clone()`). Start with
    an `init` of the final dtype and shape.

    ## When it is safe
    Never.
    """

    code = "CL711"
    name = "scan-step"
    summary = "scan step that doesn't return a carry like `init` and an output"
    nodes = (ast.Call,)
    callees = HOPS
    graph_breaks = ("GB0343",)
    examples = (
        Example(
            bad="""
import torch
from torch._higher_order_ops.scan import scan

def f(x):
    return scan(lambda total, row: total + row, torch.zeros(3), x)[1]  # error: CL711
""",
            good="""
import torch
from torch._higher_order_ops.scan import scan

def f(x):
    return scan(lambda total, row: (total + row, total * 2), torch.zeros(3), x)[1]
""",
            inputs="[(torch.ones(4, 3),)]",
        ),
        Example(
            bad="""
import torch
from torch._higher_order_ops.scan import scan

def f(x: torch.Tensor):
    def step(count, row):
        return (count + row).float(), row * 2

    return scan(step, torch.zeros(3, dtype=torch.int64), x)[1]  # error: CL711
""",
            good="""
import torch
from torch._higher_order_ops.scan import scan

def f(x: torch.Tensor):
    def step(count, row):
        return (count + row).float(), row * 2

    return scan(step, torch.zeros(3, dtype=torch.float32), x)[1]
""",
            inputs="[(torch.ones(4, 3),)]",
            note="The sum of an integer carry and a float row is a float.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a step surely returns what scan can't take."""
        assert isinstance(node, ast.Call)
        given = ctx.argument(node, 0, "combine_fn")
        init, rows = ctx.argument(node, 1, "init"), ctx.argument(node, 2, "xs")
        if operator(node, ctx) != "scan" or given is None or init is None or rows is None:
            return
        if operands(init, ctx) is not None or operands(rows, ctx) is not None:
            return  # nested carries and rows: their order inside isn't followed
        before = ctx.fact(init)
        if isinstance(before, (Const, ShapeInt)):
            text = f"`scan` starts with `{ast.unparse(init)}`, a Python value, not a tensor"
            yield Sighting(node, text, graph_breaks=("GB0088",))
            return
        after = ctx.apply(node, ctx.fact(given), [before, Tensor(sure=False)])
        if isinstance(after, Tensor):
            what = "one value; it must return a carry and an output"
        elif isinstance(after, Sequence) and after.items is not None and len(after.items) == 2:
            changed = difference(before, after.items[0])
            if changed is None or not isinstance(before, Tensor):
                return
            what = f"another kind of carry than `init`: {changed}"
        else:
            return
        certainty = Certainty.CERTAIN if before.sure and after.sure else Certainty.LIKELY
        yield Sighting(node, f"the step of `scan` returns {what}", certainty=certainty)
