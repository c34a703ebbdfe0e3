"""CL205: results of a loop over range(size) are stacked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Severity, Sighting
from ..base.reading import shown
from .collecting import collected
from .iteration import carried, over_size, sources


class RangeStacked(Rule):
    """A loop over `range(x.shape[…])` whose results are stacked.

    ## What it does
    Flags `for i in range(x.shape[0]): out.append(…)` followed by `torch.stack(out)` or
    `torch.cat(out)`, and the same as a comprehension.

    ## Why it matters
    It is captured, but unrolled: the graph holds the body once for each index, compile time grows
    with the size, and another size means another compilation even with dynamic shapes.

    ## Example
    See the bad and good modules below.

    ## Fix
    Index with a whole dimension (`x[:, i]` over all `i` is `x`), use broadcasting, `unfold` for
    windows, or `torch.vmap`. For a recurrence over time steps, `torch.cumsum` and its relatives,
    or `torch._higher_order_ops.scan`.

    ## When it is safe
    For a small size that never changes.
    """

    code = "CL205"
    name = "range-stacked"
    summary = "loop over a size, results stacked"
    nodes = (ast.For, ast.ListComp, ast.GeneratorExp)
    breaks = ()
    severity = Severity.INFO
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    out = []
    for i in range(x.shape[0]):  # error: CL205
        out.append(x[i] * 2)
    return torch.stack(out)
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x * 2
""",
            inputs="[(torch.rand(n, 4),) for n in (3, 4, 5, 6)]",
            truth="recompile",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a size bounds the loop and the results are joined."""
        found = collected(node, ctx)
        if found is None:
            return
        for source, _ in sources(found.iterable, ctx):
            fact = over_size(source, ctx)
            if fact is not None:
                name = carried(node, ctx) if isinstance(node, ast.For) else ""
                advice = f"`{name}` goes from turn to turn: scan" if name else "vectorise or vmap"
                yield Sighting(
                    source,
                    f"`{shown(source, 40)}` is unrolled, then `{found.join}` joins the results: "
                    f"{advice}",
                    fact,
                )
                return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the loop over rows, which another step vectorises."""
        from ..rewrites.rowwise import rows_read

        assert isinstance(sighting.node, ast.expr)
        yield from rows_read(sighting.node, ctx, code)
