"""CL425: a 0-dim tensor as an index."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Array,
    Code,
    Context,
    Example,
    Fact,
    Fix,
    Rule,
    Sequence,
    Sighting,
    Tensor,
    options,
)
from ..base.reading import shown
from .data import held
from .masks import parts


class ScalarIndex(Rule):
    """`x[i]` where `i` is a computed 0-dim tensor reads `i`.

    ## What it does
    Flags tensors that are indexed, in reads and assignments, with a 0-dim tensor that the graph
    computes: `x[scores.argmax()]`, `x[lengths.max()]`, `table[row]` in a loop over a tensor.

    ## Why it matters
    A 0-dim index is not an index tensor: torch reads it as a Python int and selects. What to
    select isn't known while capturing, so the graph breaks, under `fullgraph=True` as well.

    ## Example
    See the bad and good modules below.

    ## Fix
    Give the index one dimension and take it away afterwards: `x[i[None]].squeeze(0)`, or
    `x.index_select(0, i.view(1)).squeeze(0)`. In a loop over indices, index once with all of
    them: `x[indices]`.

    ## When it is safe
    When the index is itself an input of the compiled function, or a buffer: those are captured.
    """

    code = "CL425"
    name = "scalar-tensor-index"
    summary = "a computed 0-dim tensor as an index"
    nodes = (ast.Subscript,)
    graph_breaks = ("GB0033",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    best = x.sum(dim=1).argmax()
    return x[best] * 2  # error: CL425
""",
            good="""
import torch

def f(x: torch.Tensor):
    best = x.sum(dim=1).argmax()
    return x.index_select(0, best.view(1)).squeeze(0) * 2
""",
            inputs="[(torch.randn(3, 4),)]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, lengths: torch.Tensor):
    y = x.clone()
    y[:, lengths.max()] = 0  # error: CL425
    return y
""",
            good="""
import torch

def f(x: torch.Tensor, last: torch.Tensor):
    y = x.clone()
    y[:, last] = 0
    return y
""",
            inputs="[(torch.randn(3, 4), torch.tensor(2))]",
            note="a 0-dim input is captured, what is computed from one is not",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for every 0-dim computed tensor among the indices."""
        assert isinstance(node, ast.Subscript)
        if held(ctx.fact(node.value)) is None:
            return
        for part in parts(node.slice):
            found = _scalar(ctx.fact(part))
            if found is not None:
                text = f"index `{shown(part)}` is a 0-dim tensor, which is read into Python"
                yield Sighting(part, text, found)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield a gather of the one row."""
        from ..rewrites.gathering import element

        assert isinstance(sighting.node, ast.expr)
        yield from element(sighting.node, ctx, code)


def _scalar(fact: Fact) -> Tensor | Array | None:
    """The computed 0-dim tensor of a fact, also one in a list: `x[[i]]`."""
    for option in options(fact):
        if isinstance(option, Sequence) and option.kind == "list":
            for item in option.items or ():
                found = _scalar(item)
                if found is not None:
                    return found
        if isinstance(option, Tensor) and option.rank == 0 and option.role == "":
            return option
        if isinstance(option, Array) and option.rank == 0 and not option.constant:
            return option
    return None
