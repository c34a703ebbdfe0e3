"""CL114: a branch on a size that depends on data."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from ..base import Code, Context, Declined, Example, Fix, Mode, Rule, Sighting
from ..torch_facts import TorchFacts
from .conditions import COMPREHENSIONS, of_size, raises


class SizeTest(Rule):
    """A branch on a size that tensor data decides.

    ## What it does
    Flags `if`, conditional expressions and comprehension filters that test the number of elements
    of what `nonzero`, a boolean mask, `unique` or `masked_select` gave: `if hits.numel() == 0`,
    `if len(selected)`.

    ## Why it matters
    A shape is usually known while capturing, but this one is a symbol that stands for a count of
    values. With `fullgraph=True` the operator itself is captured and compilation raises here, at
    the test. By default the graph has already broken at the operator.

    ## Example
    See the bad and good modules below.

    ## Fix
    Most such tests protect code that does nothing on empty input anyway (`index_add_`, `sum`,
    `cat`): drop them. Otherwise keep full shapes and a mask, and use `torch.where`.

    ## When it is safe
    On sizes of inputs and of everything computed from them by shape-preserving operations.
    """

    code = "CL114"
    name = "data-dependent-size-test"
    summary = "branch on a size that depends on tensor data"
    nodes = (ast.If, ast.IfExp, *COMPREHENSIONS)
    breaks = (Mode.FULLGRAPH,)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    hits = torch.nonzero(x > 1)  # error: CL406
    if hits.numel() == 0:  # error: CL114
        return x
    return x * 2
""",
            good="""
import torch

def f(x: torch.Tensor):
    if x.numel() == 0:
        return x
    return torch.where((x > 1).any(), x * 2, x)
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether there is a condition, and no arm of an `if` only raises."""
        if isinstance(node, COMPREHENSIONS):
            return any(generator.ifs for generator in node.generators)
        return not isinstance(node, ast.If) or not (raises(node.body) or raises(node.orelse))

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Return sightings where a condition tests a data-dependent size."""
        if isinstance(node, ast.If):
            return of_size(node.test, ctx, "`if`")
        if isinstance(node, ast.IfExp):
            return of_size(node.test, ctx, "the conditional expression")
        assert isinstance(node, COMPREHENSIONS)
        tests = [test for generator in node.generators for test in generator.ifs]
        return chain.from_iterable(of_size(test, ctx, "the comprehension") for test in tests)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the body without the test, or the test as one of the mask."""
        from ..rewrites.branches import size_fixes

        stmt = ctx.statement(sighting.node)
        if not isinstance(stmt, ast.If) or sighting.node not in ast.walk(stmt.test):
            raise Declined("a size that depends on data decides: keep full shapes and a mask")
        return size_fixes(stmt, ctx, code)
