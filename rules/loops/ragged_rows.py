"""CL203: a loop over rows whose number depends on data."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fact, Fix, Mode, Rule, Sighting
from ..base.reading import shown, tensor_of
from .iteration import COMPREHENSIONS, LOOPS, iterated, sources


class RaggedRows(Rule):
    """A loop over rows whose number depends on tensor data.

    ## What it does
    Flags `for` loops and comprehensions over what `nonzero`, `unique`, `torch.where(mask)` or a
    boolean mask gave: `for label in labels.unique()`.

    ## Why it matters
    The loop is unrolled while capturing, but how many rows there are is known only when the
    values are. By default the graph has already broken at the operator; with `fullgraph=True`
    compilation raises here.

    ## Example
    See the bad and good modules below.

    ## Fix
    Loop over all classes, `range(num_classes)`, and let empty ones contribute nothing; or reduce
    per class at once with `index_add_`, `scatter_reduce` or a one-hot matrix product.

    ## When it is safe
    Over rows of ordinary tensors the loop is unrolled.
    """

    code = "CL203"
    name = "data-dependent-rows"
    summary = "loop over rows whose number depends on data"
    nodes = (*LOOPS, *COMPREHENSIONS)
    breaks = (Mode.FULLGRAPH,)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, labels: torch.Tensor):
    total = x.sum()
    classes = labels.unique()  # error: CL411
    for label in classes:  # error: CL203
        total = total + (x * (labels == label)).sum()
    return total
""",
            good="""
import torch

def f(x: torch.Tensor, labels: torch.Tensor, count: int = 3):
    total = x.sum()
    for label in range(count):
        total = total + (x * (labels == label)).sum()
    return total
""",
            inputs="[(torch.randn(3), torch.tensor([2, 0, 0]))]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a tensor with a data-dependent size is iterated."""
        for iterable in iterated(node):
            for source, fact in sources(iterable, ctx):
                tensor = tensor_of(_unbound(source, ctx) or fact)
                if tensor is not None and tensor.ragged:
                    text = f"how many rows `{shown(source)}` has depends on tensor data"
                    yield Sighting(source, text, tensor)
                    break

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the loop over every entry there is."""
        from ..rewrites.experts import entry_fixes

        loop = ctx.statement(sighting.node)
        if not isinstance(loop, ast.For):
            raise Declined("a comprehension runs over what the data selects")
        yield from entry_fixes(loop, ctx, code)


def _unbound(source: ast.expr, ctx: Context) -> Fact | None:
    """Return the tensor whose rows `x.unbind()` lists, None for other expressions."""
    if isinstance(source, ast.Call):
        callee = ctx.callee(source)
        if callee.name == "torch.Tensor.unbind":
            return callee.receiver
        first = ctx.argument(source, 0, "input")
        if callee.name == "torch.unbind" and first is not None:
            return ctx.fact(first)
    return None
