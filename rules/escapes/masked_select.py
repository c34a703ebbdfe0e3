"""CL410: masked_select."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import DEFAULT_ONLY, Code, Context, Example, Fix, Sighting
from ..base.reading import shown
from .data import OperationRule, certainty, operator_call

_NAMES = frozenset({"masked_select"})


class MaskedSelect(OperationRule):
    """`masked_select` gives as many elements as the mask has true ones.

    ## What it does
    Flags `torch.masked_select` and the method.

    ## Why it matters
    The size of the result depends on data: by default the graph ends here.

    ## Example
    See the bad and good modules below.

    ## Fix
    Keep the shape: `torch.where(mask, x, 0)`, `x.masked_fill(~mask, 0)`, and divide sums by
    `mask.sum()`.

    ## When it is safe
    Under `fullgraph=True`, or with
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.
    """

    code = "CL410"
    name = "masked-select"
    summary = "`masked_select`"
    nodes = (ast.Call,)
    operations = _NAMES
    breaks = DEFAULT_ONLY
    graph_breaks = ("GB0036",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return x.masked_select(x > 0).sum()  # error: CL410
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x.masked_fill(x <= 0, 0.0).sum()
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call."""
        found = operator_call(node, ctx, self.operations)
        if found is not None:
            text = f"`{shown(node)}` gives as many elements as the mask has true ones"
            yield Sighting(node, text, found[1], certainty=certainty(found[0]))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the same over all rows, masked at the end."""
        from ..rewrites.masking import masked_read

        assert isinstance(sighting.node, ast.Call)
        yield from masked_read(sighting.node, ctx, code)
