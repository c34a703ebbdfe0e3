"""CL528: a checkpointed function that writes outside itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from .outside_writes import first_write


class CheckpointEffect(Rule):
    """A function given to `torch.utils.checkpoint` has a side effect.

    ## What it does
    Flags checkpointed functions and modules that append to a list, set an attribute, store into a
    dict or assign a global.

    ## Why it matters
    A checkpointed function runs twice: once forward, once more to recompute for the backward
    pass. Dynamo makes it a graph of its own, from which only return values get out; a write is
    refused, and the function falls back to eager.

    ## Example
    A block that stores its attention map on `self`, under activation checkpointing.

    ## Fix
    Return what you want to keep from the function and store it after the checkpoint call.

    ## When it is safe
    In-place updates of buffers, such as those of batch norm, are captured.
    """

    code = "CL528"
    name = "checkpoint-effect"
    summary = "Checkpointed function with a side effect"
    nodes = (ast.Call,)
    callees = ("torch.utils.checkpoint.checkpoint",)
    graph_breaks = ("GB0067", "GB4413")
    examples = (
        Example(
            bad="""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

class f(nn.Module):
    def block(self, x):
        self.last = x  # error: CL528
        return torch.relu(x)

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)
""",
            good="""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

class f(nn.Module):
    def block(self, x):
        return torch.relu(x)

    def forward(self, x):
        self.last = x
        return checkpoint(self.block, x, use_reentrant=False)
""",
        ),
        Example(
            bad="""
import torch
from torch.utils.checkpoint import checkpoint

def f(x):
    seen = []

    def block(v):
        seen.append(v)  # error: CL528
        return torch.relu(v)

    return checkpoint(block, x, use_reentrant=False)
""",
            good="""
import torch
from torch.utils.checkpoint import checkpoint

def f(x):
    def block(v):
        seen = []
        seen.append(v)
        return torch.relu(seen[0])

    return checkpoint(block, x, use_reentrant=False)
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting at the write of a checkpointed function."""
        assert isinstance(node, ast.Call)
        if ctx.callee(node).name != "torch.utils.checkpoint.checkpoint":
            return
        function = ctx.argument(node, 0, "function")
        if function is not None:
            yield from first_write(ctx.fact(function), node, "is checkpointed", ctx)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: the write must move to the caller of the checkpoint."""
        raise Declined("return what is kept, and store it behind the checkpoint")
