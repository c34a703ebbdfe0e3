"""CL530: an `nn.Buffer` is set where the region runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..base import Certainty, Context, Example, Instance, Rule, Sighting, options
from ..base.reading import shown
from ..base.scopes import dotted

_BUFFERS = frozenset({"torch.nn.Buffer", "torch.nn.parameter.Buffer"})
# Methods that give the tensor itself where there is nothing to do.
_CONVERSIONS = frozenset(
    "to float half double bfloat16 long int cpu cuda contiguous type type_as".split()
)


class BufferReplaced(Rule):
    """An attribute of a module is set to an `nn.Buffer`, or to a converted one of its own.

    ## What it does
    Flags `self.b = nn.Buffer(…)` in code that is captured, and `self.b = self.b.to(…)` (`float()`,
    `contiguous()`, …) where `__init__` made the attribute with `nn.Buffer`.

    ## Why it matters
    Setting an attribute of a module to a buffer registers it, and asks the buffer whether it is
    persistent, which Dynamo can't answer: the graph ends there. A conversion that has nothing to
    do gives the buffer itself.

    ## Example
    See the bad and good modules below.

    ## Fix
    Keep the converted tensor in a local variable: `b = self.b.to(x.device)`. Usually nothing needs
    to be converted, as `model.to(…)` moves buffers, too.

    ## When it is safe
    Buffers made by `register_buffer`, and other tensors set as an attribute, are captured; a
    conversion that makes a new tensor is as well.
    """

    code = "CL530"
    name = "buffer-replaced"
    summary = "an nn.Buffer is set inside of the region"
    nodes = (ast.Assign,)
    graph_breaks = ("GB4841", "GB0116")
    examples = (
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Buffer(torch.ones(3))

    def forward(self, x):
        self.table = self.table.to(device=x.device, dtype=x.dtype)  # error: CL530
        return x + self.table
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Buffer(torch.ones(3))

    def forward(self, x):
        table = self.table.to(device=x.device, dtype=x.dtype)
        return x + table
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def forward(self, x):
        self.last = nn.Buffer(torch.ones(3))  # error: CL530
        return x + self.last
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def forward(self, x):
        self.last = torch.ones(3)
        return x + self.last
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: object) -> bool:
        """Say whether an attribute is set to what a call gives."""
        return (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Attribute)
            and isinstance(node.value, ast.Call)
        )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for an attribute of a module that is set to a buffer."""
        assert isinstance(node, ast.Assign)
        target, value = node.targets[0], node.value
        if not (isinstance(target, ast.Attribute) and isinstance(value, ast.Call)):
            return
        owner = next((o for o in options(ctx.fact(target.value)) if _is_module(o)), None)
        if owner is None:
            return
        if ctx.callee(value).name in _BUFFERS:
            text = f"`{shown(node, 40)}` registers a buffer while capturing"
            yield Sighting(node, text, certainty=_certainty(owner))
        elif _converts(target, value) and _made_as_buffer(owner, target.attr):
            text = f"`{shown(node, 40)}` sets the buffer itself where nothing is to be converted"
            yield Sighting(node, text, certainty=Certainty.LIKELY)


def _is_module(fact: Any) -> bool:
    return isinstance(fact, Instance) and fact.module and not isinstance(fact.cls, str)


def _certainty(owner: Any) -> Certainty | None:
    return None if owner.sure else Certainty.LIKELY


def _converts(target: ast.Attribute, value: ast.Call) -> bool:
    """Say whether an attribute is set to a conversion of what it holds."""
    called = value.func
    return (
        isinstance(called, ast.Attribute)
        and called.attr in _CONVERSIONS
        and dotted(called.value) == dotted(target) != ""
    )


def _made_as_buffer(owner: Any, name: str) -> bool:
    """Say whether the class's constructor makes the attribute with `nn.Buffer`."""
    method = owner.cls.methods.get("__init__")
    return method is not None and any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and dotted(node.value.func).rpartition(".")[2] == "Buffer"
        and any(isinstance(t, ast.Attribute) and t.attr == name for t in node.targets)
        for node in method.nodes
    )
