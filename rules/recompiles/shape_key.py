"""CL612: a size used as a dict key."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Context,
    Example,
    Fact,
    Mapping,
    Rule,
    Sequence,
    Severity,
    ShapeInt,
    Sighting,
    options,
)
from ..base.reading import shown
from ..base.scopes import dotted, own
from ..torch_facts import TorchFacts


class ShapeKey(Rule):
    """A dict is asked for, or given, a key made of tensor sizes.

    ## What it does
    Flags `cache[x.shape[0]]`, `cache[x.shape] = …` on dicts.

    ## Why it matters
    To look a key up Dynamo must know its value, so the size becomes a constant with a guard. The
    function is then compiled once for every size, and never turns dynamic, until the recompile
    limit is reached.

    ## Example
    Position tables cached by sequence length.

    ## Fix
    Build the table for the largest size once and slice it, or compute it: a compiled `arange` is
    cheap. `functools.lru_cache` on the helper isn't guarded on, as Dynamo looks through it.

    ## When it is safe
    When only a few sizes occur.
    """

    code = "CL612"
    name = "shape-key"
    summary = "Tensor size used as a dict key"
    nodes = (ast.Subscript,)
    breaks = ()
    severity = Severity.WARNING
    examples = (
        Example(
            bad="""
import torch

tables = {n: n for n in range(16)}

def f(x: torch.Tensor):
    return x * tables[x.shape[0]]  # error: CL612
""",
            good="""
import torch

table = torch.arange(16)

def f(x: torch.Tensor):
    return x * table[: x.shape[0]]
""",
            inputs="[(torch.ones(n),) for n in range(2, 8)]",
            truth="recompile",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether the key isn't a constant."""
        return isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a subscript of a dict by a size."""
        assert isinstance(node, ast.Subscript)
        if not any(isinstance(o, Mapping) for o in options(ctx.fact(node.value))):
            return
        if _is_size(ctx.fact(node.slice)) and not _counted(node.slice, ctx):
            what = f"`{shown(node)}` has a size as its key: every size compiles again"
            yield Sighting(node, what, ctx.fact(node.slice))


def _is_size(fact: Fact) -> bool:
    if isinstance(fact, Sequence) and fact.kind in ("tuple", "size"):
        return any(isinstance(o, ShapeInt) for o in options(fact.element()))
    return isinstance(fact, ShapeInt)


def _counted(key: ast.expr, ctx: Context) -> bool:
    """Say whether the key is a loop's variable: the loop is unrolled, and that is what costs."""
    return any(
        isinstance(part, ast.For) and dotted(key) in {dotted(n) for n in ast.walk(part.target)}
        for part in own(ctx.function)
    )
