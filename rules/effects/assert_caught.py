"""CL526: an AssertionError that is caught."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Certainty, Code, Context, Example, Fix, Rule, Sighting
from ..base.reading import data_in, shown
from .handlers import caught, guarded


class AssertCaught(Rule):
    """`assert` in a `try` whose handler catches AssertionError and goes on.

    ## What it does
    Flags assertions in a `try` block with `except AssertionError` (by name) that doesn't raise.

    ## Why it matters
    Dynamo treats a failed assertion as the end of the program it captures: it stops with a graph
    break instead of raising the error that the handler waits for.

    ## Example
    Using `assert` to choose between two layouts.

    ## Fix
    Use `if`; shapes, dtypes and configuration are known while capturing.

    ## When it is safe
    As long as the assertion holds the code is captured; the finding is only likely.
    """

    code = "CL526"
    name = "assert-caught"
    summary = "AssertionError caught and lived with"
    nodes = (ast.Try,)
    graph_breaks = ("GB0034",)
    examples = (
        Example(
            bad="""
import torch

def f(x):
    try:
        assert x.dim() == 3  # error: CL526
        scale = 1
    except AssertionError:
        scale = 2
    return torch.relu(x) * scale
""",
            good="""
import torch

def f(x):
    scale = 1 if x.dim() == 3 else 2
    return torch.relu(x) * scale
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for each assertion that may fail into its handler."""
        assert isinstance(node, ast.Try)
        if "AssertionError" not in caught(node):
            return
        for part in guarded(node):
            if isinstance(part, ast.Assert) and ctx.reached(part):
                if data_in(ctx.fact(part.test)) is None:  # tensors are a matter of CL1xx
                    what = f"if `{shown(part.test)}` fails, capturing stops before the `except`"
                    yield Sighting(part, what, certainty=Certainty.LIKELY)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the assertion as an `if`."""
        from ..rewrites.trying import asked_first

        guard = next((p for p in ctx.ancestors(sighting.node) if isinstance(p, ast.Try)), None)
        assert guard is not None
        assert isinstance(sighting.node, ast.Assert)
        failing = [part for part in guarded(guard) if isinstance(part, ast.Assert)]
        yield from asked_first(sighting.node, failing, ctx, code)
