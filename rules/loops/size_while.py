"""CL208: `while` on a size that depends on data."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, FromTensor, Mode, Rule, Sighting
from ..base.reading import data_in, shown


class SizeWhile(Rule):
    """A loop that runs until a selection is empty.

    ## What it does
    Flags `while` on the size of what a boolean mask, `nonzero` or the like gave, as in hand-made
    non-maximum suppression: `while order.numel() > 0`.

    ## Why it matters
    Each turn selects anew, so each turn has a data-dependent shape: by default the selection
    breaks the graph inside a loop and the whole function runs eagerly; with `fullgraph=True`
    compilation raises at this test.

    ## Example
    See the bad and good modules below.

    ## Fix
    Keep all candidates and a boolean mask of the living, for a fixed number of turns. For boxes
    use `torchvision.ops.nms` or `batched_nms`, one operator. Or carry the mask, whose shape never
    changes, through `torch.while_loop`.

    ## When it is safe
    When the list shrinks by slicing (`order = order[1:]`): those sizes are known.
    """

    code = "CL208"
    name = "while-data-dependent-size"
    summary = "`while` on a size that depends on tensor data"
    nodes = (ast.While,)
    breaks = (Mode.FULLGRAPH,)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    left = x[x > 0]  # error: CL408
    while left.numel() > 2:  # error: CL208
        left = left[1:]
    return left.sum()
""",
            good="""
import torch

def f(x: torch.Tensor):
    order = x.argsort()
    while order.numel() > 2:
        order = order[1:]
    return x[order].sum()
""",
            inputs="[(torch.arange(6.0),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when an operand of the condition reads a data-dependent size."""
        assert isinstance(node, ast.While)
        for operand in _operands(node.test):
            fact = data_in(ctx.fact(operand)) if ctx.truth(operand) is not None else None
            if isinstance(fact, FromTensor) and fact.how == "size":
                text = f"`while` tests `{shown(operand)}`, a size that depends on tensor data"
                yield Sighting(operand, text, fact)
                return


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _operands(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _operands(test.operand)
    elif isinstance(test, ast.NamedExpr):
        yield from _operands(test.value)
    else:
        yield test
