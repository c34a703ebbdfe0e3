"""CL601: an integer attribute that counts calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Severity, Sighting
from ..base.reading import shown
from ..torch_facts import TorchFacts
from .state import counts, kept, moved_by, whole_number


class AttributeCounter(Rule):
    """An int attribute is moved on by every call.

    ## What it does
    Flags `self.calls += 1`, `self.offset = self.offset + n` on modules, classes and objects that
    outlive the call, where the attribute is a Python int.

    ## Why it matters
    The value is read while capturing, so it becomes a constant of the graph with a guard on it.
    The next call finds another value and compiles again, and so on, until the recompile limit
    (8 by default) sends the function to eager for good.

    ## Example
    A call counter, or the fill level of a KV cache, kept as an int.

    ## Fix
    Make it a tensor: `register_buffer("calls", torch.zeros((), dtype=torch.long))` and
    `self.calls.add_(1)`. Or count outside, in the training loop.

    ## When it is safe
    When it counts a handful of calls only. Floats are made dynamic after one recompile, and are
    not reported.
    """

    code = "CL601"
    name = "attribute-counter"
    summary = "Int attribute that every call moves on"
    nodes = (ast.AugAssign, ast.Assign)
    breaks = ()
    severity = Severity.WARNING
    examples = (
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1  # error: CL601
        return torch.relu(x)
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.calls.add_(1)
        return torch.relu(x)
""",
            inputs="[(torch.ones(3),)] * 5",
            truth="recompile",
        ),
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(16, 2))
        self.size = 0

    def forward(self, k: torch.Tensor):
        n = k.shape[0]
        self.keys[self.size : self.size + n] = k
        self.size += n  # error: CL601
        return self.keys.sum()
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(16, 2))
        self.register_buffer("size", torch.zeros((), dtype=torch.long))

    def forward(self, k: torch.Tensor):
        rows = self.size + torch.arange(k.shape[0])
        self.keys.index_copy_(0, rows, k)
        self.size.add_(k.shape[0])
        return self.keys.sum()
""",
            inputs="[(torch.ones(2, 2),)] * 5",
            truth="recompile",
            note="The fill level of a cache.",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether the statement moves something on from its old value."""
        return moved_by(node) is not None

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a write that moves an int attribute on."""
        moved = counts(node, ctx)
        if moved is None:
            return
        target, _ = moved
        if isinstance(target, ast.Attribute) and kept(target, ctx):
            if whole_number(ctx.fact(target), loose=True):
                what = f"`{shown(target)}` is an int that changes with every call: each recompiles"
                yield Sighting(node, what)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield a buffer in place of the int: other readers get a tensor, so only on request."""
        from ..rewrites.counters import buffered

        assert isinstance(sighting.node, ast.stmt)
        yield from buffered(sighting.node, ctx, code)
