"""CL202: results of a loop over a tensor's rows are stacked again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Severity, Sighting
from ..base.reading import shown, tensor_of
from .collecting import collected
from .iteration import carried, sources


class RowsStacked(Rule):
    """A loop over a tensor's rows whose results are stacked again.

    ## What it does
    Flags `for row in x: out.append(…)` followed by `torch.stack(out)`, and the same as a
    comprehension: `torch.stack([g(row) for row in x])`.

    ## Why it matters
    It is captured, but unrolled: the graph holds the body once for each row, compile time grows
    with the data, and another number of rows means another compilation.

    ## Example
    See the bad and good modules below.

    ## Fix
    Apply the body to the whole tensor; most operators take a batch dimension. Where they don't,
    `torch.vmap(body)(x)` adds one. If a row needs the result of the one before, use
    `torch.cumsum` and its relatives, or `torch._higher_order_ops.scan`.

    ## When it is safe
    For a fixed handful of rows, such as three colour channels, the unrolled code is as good.
    """

    code = "CL202"
    name = "rows-stacked"
    summary = "loop over a tensor's rows, stacked again"
    nodes = (ast.For, ast.ListComp, ast.GeneratorExp)
    breaks = ()
    severity = Severity.INFO
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    out = []
    for row in x:  # error: CL202
        out.append(row / row.norm())
    return torch.stack(out)
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x / x.norm(dim=1, keepdim=True)
""",
            inputs="[(torch.rand(n, 4),) for n in (3, 4, 5, 6)]",
            truth="recompile",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return torch.stack([row.cumsum(0) for row in x])  # error: CL202
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x.cumsum(1)
""",
            inputs="[(torch.rand(n, 4),) for n in (3, 4, 5, 6)]",
            truth="recompile",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when rows are iterated and the results joined."""
        assert isinstance(node, (ast.For, ast.ListComp, ast.GeneratorExp))
        iterable = node.iter if isinstance(node, ast.For) else node.generators[0].iter
        for source, fact in sources(iterable, ctx):
            tensor = tensor_of(fact)
            if tensor is not None and not tensor.ragged:
                found = collected(node, ctx)
                if found is None:
                    return
                name = carried(node, ctx) if isinstance(node, ast.For) else ""
                advice = f"`{name}` goes from row to row: scan" if name else "vectorise or vmap"
                yield Sighting(
                    source,
                    f"rows of `{shown(source, 40)}` are unrolled, then `{found.join}` joins them: "
                    f"{advice}",
                    tensor,
                )
                return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the same over all rows, or `cumsum` or `scan` over them."""
        from ..rewrites.scans import stack_fixes

        for node in ctx.ancestors(sighting.node):
            if isinstance(node, self.nodes):
                yield from stack_fixes(node, ctx, code)
                return
