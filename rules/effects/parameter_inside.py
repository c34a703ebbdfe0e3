"""CL513: `nn.Parameter(...)` inside the region."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Rule, Sighting
from ..base.reading import shown


class ParameterInside(Rule):
    """An `nn.Parameter` is constructed in code that is captured.

    ## What it does
    Flags calls of `torch.nn.Parameter`.

    ## Why it matters
    Parameters are leaves of autograd and inputs of the compiled graph. One that is born inside
    has no place there; Dynamo ends the graph at the constructor, on every call.

    ## Example
    Wrapping a result as `nn.Parameter(x)` before storing it on a module.

    ## Fix
    Create parameters in `__init__` and write to them in place:
    `with torch.no_grad(): self.weight.copy_(new)`. A plain tensor, or `nn.Buffer`, does where no
    gradient is needed.

    ## When it is safe
    In lazily initialised modules that are run once before they are compiled.
    """

    code = "CL513"
    name = "parameter-inside"
    summary = "`nn.Parameter` made inside the region"
    nodes = (ast.Call,)
    graph_breaks = ("GB0264",)
    examples = (
        Example(
            bad='''
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.scale = nn.Parameter(x.detach())  # error: CL513
        return x * self.scale
''',
            good='''
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        with torch.no_grad():
            self.scale.copy_(x)
        return x * self.scale
''',
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the constructor."""
        assert isinstance(node, ast.Call)
        if ctx.callee(node).name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            yield Sighting(node, f"`{shown(node)}` makes a parameter inside the region")
