"""CL412: bincount."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import DEFAULT_ONLY, Code, Context, Example, Fix, Sighting
from ..base.reading import shown
from .data import OperationRule, certainty, operator_call

_NAMES = frozenset({"bincount"})


class Bincount(OperationRule):
    """`bincount` gives as many bins as the largest value says.

    ## What it does
    Flags `torch.bincount` and the method, also with `minlength`, which is only a lower bound.

    ## Why it matters
    The size of the result depends on data: by default the graph ends here. `histc` and
    `histogram` have a fixed number of bins and are captured.

    ## Example
    See the bad and good modules below.

    ## Fix
    With a known number of bins, add ones into them:
    `torch.zeros(n, dtype=torch.long).scatter_add_(0, x, torch.ones_like(x))`.

    ## When it is safe
    Under `fullgraph=True`, or with
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.
    """

    code = "CL412"
    name = "bincount"
    summary = "`bincount`"
    nodes = (ast.Call,)
    operations = _NAMES
    breaks = DEFAULT_ONLY
    graph_breaks = ("GB0036",)
    examples = (
        Example(
            bad="""
import torch

def f(labels: torch.Tensor):
    return torch.bincount(labels, minlength=4)  # error: CL412
""",
            good="""
import torch

def f(labels: torch.Tensor):
    counts = torch.zeros(4, dtype=torch.long)
    return counts.scatter_add_(0, labels, torch.ones_like(labels))
""",
            inputs="[(torch.tensor([2, 0, 2]),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call on a tensor or a traced array."""
        found = operator_call(node, ctx, self.operations)
        if found is not None:
            text = f"`{shown(node)}` gives as many bins as the largest value says"
            yield Sighting(node, text, found[1], certainty=certainty(found[0]))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield ones added into a known number of bins."""
        from ..rewrites.sizes import counted

        assert isinstance(sighting.node, ast.Call)
        yield from counted(sighting.node, ctx, code)
