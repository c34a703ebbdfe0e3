"""CL409: `x[mask] += 1`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import DEFAULT_ONLY, Code, Context, Example, Fix, Rule, Sighting
from ..base.reading import shown
from .masks import mask_in


class MaskUpdate(Rule):
    """`x[mask] += value` reads through the mask before it writes.

    ## What it does
    Flags augmented assignments whose target is indexed with a boolean mask.

    ## Why it matters
    `x[mask] *= 2` is `x[mask] = x[mask] * 2`: the read has a size that depends on data, and by
    default the graph ends here. A plain `x[mask] = value` is captured.

    ## Example
    See the bad and good modules below.

    ## Fix
    `x = torch.where(mask, x * 2, x)`; in place, `x.mul_(torch.where(mask, 2.0, 1.0))`.

    ## When it is safe
    Under `fullgraph=True`, or with
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.
    """

    code = "CL409"
    name = "mask-update"
    summary = "augmented assignment through a boolean mask"
    nodes = (ast.AugAssign,)
    breaks = DEFAULT_ONLY
    graph_breaks = ("GB0036",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    y = x.clone()
    y[y < 0] *= 0.1  # error: CL409
    return y
""",
            good="""
import torch

def f(x: torch.Tensor):
    y = torch.where(x < 0, x * 0.1, x)
    y[y > 5] = 5.0
    return y
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the target is indexed with a mask."""
        assert isinstance(node, ast.AugAssign)
        if not isinstance(node.target, ast.Subscript):
            return
        found = mask_in(node.target, ctx)
        if found is not None:
            text = f"`{shown(node)}` reads `{shown(node.target)}`, whose size the mask decides"
            yield Sighting(node.target, text, found[0], certainty=found[1])

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the same over all rows, masked at the end."""
        from ..rewrites.masking import masked_update

        assert isinstance(sighting.node, ast.Subscript)
        yield from masked_update(sighting.node, ctx, code)
