"""CL407: torch.where with one argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import DEFAULT_ONLY, Code, Context, Example, Fix, Sighting
from ..base.reading import shown
from .data import OperationRule, certainty, is_method, operator_call, require_told

_NAMES = frozenset({"where"})


class WhereIndices(OperationRule):
    """`torch.where(mask)` with one argument is `nonzero` under another name.

    ## What it does
    Flags `torch.where` and `numpy.where` that are given a condition only.

    ## Why it matters
    With three arguments it chooses elements and is captured; with one it returns the indices of
    the true ones, and how many there are depends on data. By default the graph ends here.

    ## Example
    See the bad and good modules below.

    ## Fix
    Give it both values, `torch.where(mask, a, b)`, or work with the mask: `mask.sum()`,
    `a * mask`, `mask.any(dim)`.

    ## When it is safe
    Under `fullgraph=True`, or with
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.
    """

    code = "CL407"
    name = "where-indices"
    summary = "`torch.where` with one argument"
    nodes = (ast.Call,)
    operations = _NAMES
    breaks = DEFAULT_ONLY
    graph_breaks = ("GB0036",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    rows, columns = torch.where(x > 0)  # error: CL407
    return x[rows, columns].sum()
""",
            good="""
import torch

def f(x: torch.Tensor):
    return torch.where(x > 0, x, 0.0).sum()
""",
            inputs="[(torch.randn(3, 4),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when only the condition is given."""
        assert isinstance(node, ast.Call)
        found = operator_call(node, ctx, self.operations)
        if found is None or is_method(found[0]) or len(node.args) + len(node.keywords) != 1:
            return
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(
            keyword.arg is None for keyword in node.keywords
        ):
            return
        text = f"`{shown(node)}` without values gives as many indices as the data says"
        yield Sighting(node, text, found[1], certainty=certainty(found[0]))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the same over all rows, masked at the end, or weighed."""
        from ..rewrites.gathered import gathered_fix
        from ..rewrites.masking import masked_indices

        assert isinstance(sighting.node, ast.Call)
        require_told(sighting.node, ctx)
        weighed = gathered_fix(sighting.node, ctx, code.anew())
        if weighed is not None:
            yield weighed
            return
        yield from masked_indices(sighting.node, ctx, code)
