"""CL108: a comprehension or filter() that selects by tensor values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    NONE,
    Code,
    Const,
    Context,
    Declined,
    Example,
    Fact,
    Fix,
    Rule,
    Sequence,
    Sighting,
    Tensor,
    options,
)
from ..base.reading import data_in, modes_of, shown
from .conditions import COMPREHENSIONS, Read, of_value, sighting


class TensorFilter(Rule):
    """A comprehension or `filter()` that keeps elements by a tensor's value.

    ## What it does
    Flags the `if` of list, set, dict comprehensions and generator expressions, and predicates
    passed to `filter`, that read tensor data: `[t for t in parts if t.sum() > 0]`.

    ## Why it matters
    Every element is a branch, and how many are kept isn't known while capturing. Since the break
    sits inside a loop, the whole function that holds it runs eagerly.

    ## Example
    See the bad and good modules below.

    ## Fix
    Keep all elements and multiply, or mask, what shouldn't count. Stack the elements first when
    they have one shape and filter with `torch.where` along the new dimension.

    ## When it is safe
    Filters on `None`, types, shapes or names.
    """

    code = "CL108"
    name = "tensor-filter"
    summary = "comprehension or filter() on tensor values"
    nodes = (*COMPREHENSIONS, ast.Call)
    callees = ("builtins.filter",)
    graph_breaks = ("GB0170", "GB8335")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    kept = [t for t in (x, y) if t.sum() > 0]  # error: CL108
    return torch.cat([x, *kept])
""",
            good="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    kept = [t * (t.sum() > 0) for t in (x, y) if t is not None and t.shape[0] > 1]
    return torch.cat([x, *kept])
""",
            inputs="[(torch.ones(3), torch.ones(3)), (torch.ones(3), -torch.ones(3))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return x + sum(filter(lambda v: v > 0, x))  # error: CL108
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x + x.clamp(min=0).sum()
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for every filter condition that reads tensor data."""
        if isinstance(node, COMPREHENSIONS):
            for generator in node.generators:
                for condition in generator.ifs:
                    yield from of_value(condition, ctx, "the comprehension")
        elif isinstance(node, ast.Call):
            yield from self._filter(node, ctx)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield a sum with zeros instead of what is filtered out."""
        from ..rewrites.choices import filter_fixes

        for node in (sighting.node, *ctx.ancestors(sighting.node)):
            if isinstance(node, COMPREHENSIONS):
                return filter_fixes(node, ctx, code)
        raise Declined("how many elements are kept depends on data")

    def _filter(self, node: ast.Call, ctx: Context) -> Iterator[Sighting]:
        callee = ctx.callee(node)
        if callee.name != "builtins.filter" or len(node.args) != 2:
            return
        predicate = ctx.fact(node.args[0])
        result = callee.inner
        if isinstance(predicate, Const) and predicate == NONE:
            result = _elements(node.args[1], ctx)
        fact = None if result is None else data_in(result)
        if fact is not None and modes_of(fact):
            seen = sighting(Read(node.args[0], fact), "`filter`")
            text = f"`filter` keeps what `{shown(node.args[0])}` says, which depends on tensor data"
            yield Sighting(
                node,
                text,
                fact,
                breaks=seen.breaks,
                graph_breaks=("GB0170",) if seen.breaks == BOTH else (),
            )


def _elements(node: ast.expr, ctx: Context) -> Fact | None:
    for option in options(ctx.fact(node)):
        if isinstance(option, Sequence):
            return option.element()
        if isinstance(option, Tensor):
            return option
    return None
