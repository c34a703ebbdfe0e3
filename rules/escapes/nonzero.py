"""CL406: nonzero, argwhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import DEFAULT_ONLY, Code, Context, Example, Fix, Sighting
from ..base.reading import shown
from .data import OperationRule, certainty, operator_call, require_told

_NAMES = frozenset({"nonzero", "argwhere", "flatnonzero"})


class Nonzero(OperationRule):
    """`nonzero` and `argwhere` give as many rows as the data says.

    ## What it does
    Flags `t.nonzero()`, `torch.nonzero(t)`, `torch.argwhere(t)`, also with `as_tuple=True`, and
    NumPy's functions of those names, whatever they are given.

    ## Why it matters
    The size of the result depends on data, so the graph ends here by default, and on a GPU the
    host waits for the count. Under `fullgraph=True` the size is captured as a symbol.

    ## Example
    See the bad and good modules below.

    ## Fix
    Work with the mask instead of indices: `torch.where(mask, a, b)`, `mask.sum()`, multiplication
    by `mask`. With a known upper bound use `torch.nonzero_static(t, size=n)`.

    ## When it is safe
    Under `fullgraph=True`, or with
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.
    """

    code = "CL406"
    name = "nonzero"
    summary = "`nonzero` or `argwhere`"
    nodes = (ast.Call,)
    operations = _NAMES
    breaks = DEFAULT_ONLY
    graph_breaks = ("GB0036",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    hits = (x > 0).nonzero()  # error: CL406
    return hits.sum()
""",
            good="""
import torch

def f(x: torch.Tensor):
    return ((x > 0) * torch.arange(x.shape[0])).sum()
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return torch.nonzero(x, as_tuple=True)[0]  # error: CL406
""",
            good="""
import torch

def f(x: torch.Tensor):
    return torch.nonzero_static(x, size=3)[:, 0]
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call on a tensor or a traced array."""
        found = operator_call(node, ctx, self.operations)
        if found is not None:
            text = f"`{shown(node)}` gives as many rows as the data says"
            yield Sighting(node, text, found[1], certainty=certainty(found[0]))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the same over all rows, masked at the end."""
        from ..rewrites.masking import masked_indices

        assert isinstance(sighting.node, ast.Call)
        require_told(sighting.node, ctx)
        yield from masked_indices(sighting.node, ctx, code)
