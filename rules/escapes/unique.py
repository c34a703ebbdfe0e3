"""CL411: unique, unique_consecutive."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import DEFAULT_ONLY, Code, Context, Declined, Example, Fix, Sighting
from ..base.reading import shown
from .data import OperationRule, certainty, operator_call

_NAMES = frozenset({"unique", "unique_consecutive"})


class Unique(OperationRule):
    """`unique` gives as many elements as there are different ones.

    ## What it does
    Flags `torch.unique`, `torch.unique_consecutive`, their methods, and `numpy.unique`, also of a
    list, whichever of values, inverse and counts is used.

    ## Why it matters
    The size of the result depends on data: by default the graph ends here, and on a GPU the host
    waits for the count.

    ## Example
    See the bad and good modules below.

    ## Fix
    When the values are class numbers below a known `n`, loop or broadcast over `range(n)`:
    `F.one_hot(labels, n).sum(0)` counts them. To know where values change, compare neighbours:
    `x[1:] != x[:-1]`. Otherwise compute it before the compiled function.

    ## When it is safe
    Under `fullgraph=True`, or with
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.
    """

    code = "CL411"
    name = "unique"
    summary = "`unique` or `unique_consecutive`"
    nodes = (ast.Call,)
    operations = _NAMES
    breaks = DEFAULT_ONLY
    graph_breaks = ("GB0036",)
    examples = (
        Example(
            bad="""
import torch

def f(labels: torch.Tensor):
    values, counts = torch.unique(labels, return_counts=True)  # error: CL411
    return (values * counts).sum()
""",
            good="""
import torch
import torch.nn.functional as F

def f(labels: torch.Tensor):
    counts = F.one_hot(labels, 4).sum(0)
    return (torch.arange(4) * counts).sum()
""",
            inputs="[(torch.tensor([2, 0, 2]),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call on a tensor or a traced array."""
        found = operator_call(node, ctx, self.operations)
        if found is not None:
            text = f"`{shown(node)}` gives as many elements as there are different ones"
            yield Sighting(node, text, found[1], certainty=certainty(found[0]))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: there is no form of fixed shape."""
        raise Declined("how many different values there are isn't known")
