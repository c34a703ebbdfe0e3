"""CL610: a container that grows with every call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Instance, Rule, Sequence, Severity, Sighting, options
from ..base.reading import shown
from ..base.scopes import dotted, outlives
from ..torch_facts import TorchFacts
from .state import kept, shrinks, shrunk

_GROW = frozenset({"append", "extend", "insert"})


class GrowingState(Rule):
    """A list that outlives the call gets longer with every call.

    ## What it does
    Flags `self.history.append(...)` and `LOG.append(...)` on lists of modules and globals that the
    function neither empties nor starts afresh.

    ## Why it matters
    Dynamo guards on the length of a list it touches. The next call finds a longer one and
    compiles again, up to the recompile limit; and the list keeps every tensor alive.

    ## Example
    Collecting losses or features on `self` in `forward`.

    ## Fix
    Return the value and append it outside. Use a preallocated buffer and an index tensor where
    the number of calls is known.

    ## When it is safe
    When the list is emptied between calls (by code that this function doesn't show), each call
    finds the same length.
    """

    code = "CL610"
    name = "growing-state"
    summary = "List that outlives the call and grows with every one"
    nodes = (ast.Call,)
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
        self.history = []

    def forward(self, x):
        y = torch.relu(x)
        self.history.append(y)  # error: CL610
        return y
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def forward(self, x):
        self.history = []
        y = torch.relu(x)
        self.history.append(y)
        return y
""",
            inputs="[(torch.ones(3),)] * 5",
            truth="recompile",
        ),
        Example(
            bad="""
import torch

losses = []

def f(x):
    loss = torch.sum(x)
    losses.append(loss)  # error: CL610
    return loss
""",
            good="""
import torch

def f(x):
    losses = []
    loss = torch.sum(x)
    losses.append(loss)
    return loss
""",
            inputs="[(torch.ones(3),)] * 5",
            truth="recompile",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether the call is one of a method that lengthens a list."""
        assert isinstance(node, ast.Call)
        return isinstance(node.func, ast.Attribute) and node.func.attr in _GROW

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call that lengthens such a list."""
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Attribute)
        holder = node.func.value
        path = dotted(holder)
        if not path or not any(
            isinstance(o, Sequence) and o.kind == "list" for o in options(ctx.fact(holder))
        ):
            return
        named = isinstance(holder, ast.Name)
        lives = outlives(holder, ctx, arguments=False) if named else kept(holder, ctx)
        if lives and not shrunk(path, ctx) and not _emptied(holder, ctx):
            what = f"`{shown(holder)}` is longer with every call: each recompiles"
            yield Sighting(node, what)


def _emptied(holder: ast.expr, ctx: Context) -> bool:
    """Say whether another method of the object's class starts the list afresh, or shortens it."""
    if not isinstance(holder, ast.Attribute):
        return False
    for option in options(ctx.fact(holder.value)):
        if not isinstance(option, Instance) or isinstance(option.cls, str):
            continue
        for method in option.cls.methods.values():
            if method.name != "__init__" and shrinks(method.node, f".{holder.attr}"):
                return True
    return False
