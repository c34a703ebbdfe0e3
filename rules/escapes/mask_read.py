"""CL408: reading through a boolean mask."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import DEFAULT_ONLY, Code, Context, Example, Fix, Rule, Sighting
from ..base.reading import shown
from ..torch_facts import TorchFacts
from .masks import mask_in


class MaskRead(Rule):
    """`x[mask]` gives as many elements as the mask has true ones.

    ## What it does
    Flags indexing a tensor, or a traced NumPy array, with a boolean mask where the value is read:
    `x[x > 0]`, `x[:, keep]`, `x[[True, False]]`.

    ## Why it matters
    The size of the result depends on data: by default the graph ends here, and on a GPU the host
    waits for the count. Writing through a mask, `x[mask] = value`, is captured.

    ## Example
    See the bad and good modules below.

    ## Fix
    Keep the shape: `torch.where(mask, x, 0)`, `x * mask`, and divide sums by `mask.sum()`. A mask
    that is known before the call can be turned into indices there.

    ## When it is safe
    Under `fullgraph=True`, or with
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.
    """

    code = "CL408"
    name = "mask-read"
    summary = "reading through a boolean mask"
    nodes = (ast.Subscript,)
    breaks = DEFAULT_ONLY
    graph_breaks = ("GB0036",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return x[x > 0].mean()  # error: CL408
""",
            good="""
import torch

def f(x: torch.Tensor):
    keep = x > 0
    return torch.where(keep, x, 0.0).sum() / keep.sum()
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, labels: torch.Tensor):
    keep = (labels >= 0) & (labels != 7)
    return x[:, keep].sum()  # error: CL408
""",
            good="""
import torch

def f(x: torch.Tensor, labels: torch.Tensor):
    keep = (labels >= 0) & (labels != 7)
    return (x * keep).sum()
""",
            inputs="[(torch.randn(2, 3), torch.tensor([1, 7, 2]))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    y = x.clone()
    y[x < 0] = x[x < 0] * 0.1  # error: CL408
    return y
""",
            good="""
import torch

def f(x: torch.Tensor):
    y = torch.where(x < 0, x * 0.1, x)
    y[x > 5] = 5.0
    return y
""",
            note="of a masked assignment only the masked read on the right breaks",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether something is read by an index that may be a mask."""
        return isinstance(node, ast.Subscript) and not (
            isinstance(node.slice, ast.Constant) or isinstance(node.ctx, (ast.Store, ast.Del))
        )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a mask is among the indices that are read."""
        assert isinstance(node, ast.Subscript)
        if not isinstance(node.ctx, ast.Load):
            return
        found = mask_in(node, ctx)
        if found is not None:
            text = f"`{shown(node)}` reads as many elements as the mask has true ones"
            yield Sighting(node, text, found[0], certainty=found[1])

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the same over all rows, masked at the end."""
        from ..rewrites.masking import masked_read

        assert isinstance(sighting.node, ast.Subscript)
        yield from masked_read(sighting.node, ctx, code)
