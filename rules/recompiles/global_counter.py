"""CL609: an integer in a global or a container that counts calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Mapping, Rule, Sequence, Severity, Sighting, options
from ..base.reading import shown
from ..base.scopes import outlives
from ..torch_facts import TorchFacts
from .state import counts, declared_global, kept, moved_by, whole_number


class GlobalCounter(Rule):
    """A global int, or an int kept in a list or dict, is moved on by every call.

    ## What it does
    Flags `global N; N += 1`, `STATS["calls"] += 1`, `self.stats["calls"] += 1`, `COUNT[0] += 1`.

    ## Why it matters
    The number is read while capturing and guarded on as a constant, so the next call, which finds
    another, compiles again, up to the recompile limit.

    ## Example
    A global step counter.

    ## Fix
    Count outside the region, or keep the number in a tensor and `add_` to it.

    ## When it is safe
    Counters of a closure (`nonlocal n`) recompile once only and are not reported, nor are
    floats.
    """

    code = "CL609"
    name = "global-counter"
    summary = "Global int, or int in a container, that every call moves on"
    nodes = (ast.AugAssign, ast.Assign)
    breaks = ()
    severity = Severity.WARNING
    examples = (
        Example(
            bad="""
import torch

calls = 0

def f(x):
    global calls
    calls += 1  # error: CL609
    return torch.relu(x)
""",
            good="""
import torch

calls = torch.zeros((), dtype=torch.long)

def f(x):
    calls.add_(1)
    return torch.relu(x)
""",
            inputs="[(torch.ones(3),)] * 5",
            truth="recompile",
        ),
        Example(
            bad="""
import torch

stats = {"calls": 0}

def f(x):
    stats["calls"] += 1  # error: CL609
    return torch.relu(x)
""",
            good="""
import torch

def f(x):
    stats = {"calls": 0}
    stats["calls"] += 1
    return torch.relu(x)
""",
            inputs="[(torch.ones(3),)] * 5",
            truth="recompile",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether the statement moves something on from its old value."""
        return moved_by(node) is not None

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a write that moves such a number on."""
        moved = counts(node, ctx)
        if moved is None:
            return
        target, _ = moved
        if not whole_number(ctx.fact(target)):
            return
        if isinstance(target, ast.Name):
            found = declared_global(target.id, ctx)
        else:
            found = isinstance(target, ast.Subscript) and _in_kept(target.value, ctx)
        if found:
            what = f"`{shown(target)}` is an int that changes with every call: each recompiles"
            yield Sighting(node, what)


def _in_kept(holder: ast.expr, ctx: Context) -> bool:
    if not any(isinstance(o, (Mapping, Sequence)) for o in options(ctx.fact(holder))):
        return False
    if isinstance(holder, ast.Name):
        return outlives(holder, ctx, arguments=False)
    return kept(holder, ctx)
