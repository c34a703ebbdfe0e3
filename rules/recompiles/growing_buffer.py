"""CL606: a buffer that is concatenated onto itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Instance, Rule, Severity, Sighting, options
from ..base.reading import shown
from ..base.scopes import dotted, own
from ..torch_facts import TorchFacts
from .state import kept

_JOINS = frozenset(
    {"torch.cat", "torch.concat", "torch.concatenate", "torch.hstack", "torch.vstack"}
)


class GrowingBuffer(Rule):
    """A registered buffer gets longer with every call.

    ## What it does
    Flags `self.keys = torch.cat([self.keys, k])` where `keys` is a buffer of the module.

    ## Why it matters
    Sizes of parameters and buffers are taken as constants, even after they have changed: unlike
    those of inputs they never turn dynamic. So each call meets a new size and compiles again, up
    to the recompile limit.

    ## Example
    A key/value cache that is a buffer.

    ## Fix
    Allocate the buffer for the longest sequence, keep the fill level as a tensor, and write with
    `index_copy_`. Or hold the cache outside, and pass it in and out.

    ## When it is safe
    For a plain tensor attribute (not a buffer) the size turns dynamic after two recompiles.
    """

    code = "CL606"
    name = "growing-buffer"
    summary = "Buffer concatenated onto itself"
    nodes = (ast.Assign,)
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
        self.register_buffer("keys", torch.zeros(0, 2))

    def forward(self, k):
        self.keys = torch.cat([self.keys, k])  # error: CL606
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

    def forward(self, k):
        self.keys.index_copy_(0, self.size + torch.arange(1), k)
        self.size.add_(1)
        return self.keys.sum()
""",
            inputs="[(torch.ones(1, 2),)] * 5",
            truth="recompile",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether an attribute is given what a call makes."""
        assert isinstance(node, ast.Assign)
        return isinstance(node.value, ast.Call) and any(
            isinstance(target, ast.Attribute) for target in node.targets
        )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for an assignment that lengthens a buffer by itself."""
        assert isinstance(node, ast.Assign)
        call = node.value
        if not isinstance(call, ast.Call) or ctx.callee(call).name not in _JOINS or not call.args:
            return
        parts = call.args[0]
        if not isinstance(parts, (ast.List, ast.Tuple)):
            return
        for target in node.targets:
            old = next((p for p in parts.elts if dotted(p) and dotted(p) == dotted(target)), None)
            if old is None or not isinstance(target, ast.Attribute) or not kept(target, ctx):
                continue
            if _registered(target, ctx):
                what = f"buffer `{shown(target)}` is longer with every call: each recompiles"
                yield Sighting(node, what)


def _registered(target: ast.Attribute, ctx: Context) -> bool:
    """Say whether the object's class registers a buffer of that name."""
    for option in options(ctx.fact(target.value)):
        if not isinstance(option, Instance) or isinstance(option.cls, str):
            continue
        for method in option.cls.methods.values():
            for node in own(method.node):
                if isinstance(node, ast.Call) and dotted(node.func).endswith(".register_buffer"):
                    name = node.args[0] if node.args else None
                    if isinstance(name, ast.Constant) and name.value == target.attr:
                        return True
    return False
