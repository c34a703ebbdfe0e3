"""CL204: a Python loop over the values of a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Rule, Severity, Sighting
from ..base.reading import shown
from .iteration import COMPREHENSIONS, LOOPS, iterated, sources, values_read


class ValuesOfTensor(Rule):
    """A Python loop over the values of a tensor.

    ## What it does
    Points out `for n in t.tolist()`, `zip(rows, lengths.tolist())` and comprehensions over them,
    on top of the graph break that the read itself is.

    ## Why it matters
    Behind the break the values are Python numbers that the rest of the function is specialised
    on, and the loop is unrolled over them: lists of other values or another length compile again,
    until the limit is reached and everything runs eagerly.

    ## Example
    See the bad and good modules below.

    ## Fix
    Keep the values in the tensor and work on all of them at once with a mask
    (`torch.arange(limit) < lengths[:, None]`) or with `index_add_` and `repeat_interleave`. If
    they are known outside, pass a Python list in the first place.

    ## When it is safe
    When the tensor never changes; then make it a Python list once, in `__init__`.
    """

    code = "CL204"
    name = "loop-over-tolist"
    summary = "Python loop over a tensor's values"
    nodes = (*LOOPS, *COMPREHENSIONS)
    breaks = ()
    severity = Severity.INFO
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, lengths: torch.Tensor):
    total = x.new_zeros(())
    for row, n in zip(x, lengths.tolist()):  # error: CL403, CL204
        total = total + row[:n].sum()
    return total
""",
            good="""
import torch

def f(x: torch.Tensor, lengths: torch.Tensor):
    inside = torch.arange(x.shape[1]) < lengths[:, None]
    return (x * inside).sum()
""",
            inputs="[(torch.ones(2, 6), torch.tensor([n, n + 2])) for n in range(1, 4)]",
            truth="recompile",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when values read out of a tensor are iterated."""
        for iterable in iterated(node):
            for source, fact in sources(iterable, ctx):
                found = values_read(fact)
                if found is not None:
                    text = f"the loop is unrolled over the values of `{shown(source)}`"
                    yield Sighting(source, text, found)
                    break
