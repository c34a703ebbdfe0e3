"""CL719: a TorchScript module called in compiled code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Instance, Rule, Sighting


class ScriptedModule(Rule):
    """A module made by `torch.jit.script`, `trace`, `freeze` or `load` is called in the region.

    ## What it does
    Flags calls of TorchScript modules in code that is compiled.

    ## Why it matters
    A scripted module runs in TorchScript's own interpreter; Dynamo can't look inside and breaks
    the graph around the call, so nothing fuses across it. (Scripted *functions* are traced
    through their Python source.)

    ## Example
    `self.head = torch.jit.script(Head())` in `__init__`, `self.head(x)` in `forward`.

    ## Fix
    Keep the plain module: `self.head = Head()`. torch.compile does what scripting was for. A
    module that exists as a file only can be called outside of the compiled function.

    ## When it is safe
    When the call is wanted as a boundary; say so with `torch.compiler.disable`.
    """

    code = "CL719"
    name = "scripted-module-call"
    summary = "TorchScript module called in compiled code"
    nodes = (ast.Call,)
    graph_breaks = ("GB4695", "GB0008", "GB0357")
    examples = (
        Example(
            bad="""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.jit.script(nn.Linear(3, 3))  # error: CL704

    def forward(self, x):
        return self.head(x).relu()  # error: CL719

f = Net()
""",
            good="""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 3)

    def forward(self, x):
        return self.head(x).relu()

f = Net()
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

traced = torch.jit.trace(nn.Linear(3, 3), torch.ones(3))  # error: CL704

def f(x):
    return traced(x) + 1  # error: CL719
""",
            good="""
import torch
from torch import nn

plain = nn.Linear(3, 3)

def f(x):
    return plain(x) + 1
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the callee is a TorchScript module."""
        assert isinstance(node, ast.Call)
        fact = ctx.fact(node.func)
        if isinstance(fact, Instance) and fact.cls == "torch.jit.ScriptModule":
            text = ast.unparse(node.func)
            yield Sighting(
                node, f"`{text}` is a TorchScript module, which Dynamo can't trace", fact
            )
