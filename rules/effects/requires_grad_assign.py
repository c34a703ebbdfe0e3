"""CL506: assignment to `requires_grad`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting, Tensor, options
from ..base.reading import shown
from ..torch_facts import TorchFacts


class RequiresGradAssign(Rule):
    """`x.requires_grad = …` in code that is captured.

    ## What it does
    Flags assignments to the `requires_grad` attribute of a tensor.

    ## Why it matters
    Dynamo doesn't trace the setter at all: the graph ends at the assignment whatever the value,
    even where the flag already had it. In a loop over parameters the whole function falls back
    to eager.

    ## Example
    `for p in self.head.parameters(): p.requires_grad = False` in `forward`.

    ## Fix
    Set the flag once outside the compiled call. To stop gradients at one place, use
    `x.detach()`.

    ## When it is safe
    Never inside a region. Outside, in `__init__` or a training script, it is the right tool.
    """

    code = "CL506"
    name = "requires-grad-assign"
    summary = "Assignment to a tensor's `requires_grad`"
    nodes = (ast.Assign,)
    graph_breaks = ("GB0206",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    h = x.sin()
    h.requires_grad = True  # error: CL506
    return h * 2
""",
            good="""
import torch

def f(x: torch.Tensor):
    h = x.sin()
    return h * 2
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        for p in self.head.parameters():
            p.requires_grad = False  # error: CL506
        return self.head(x)
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)
        for p in self.head.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.head(x)
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether an attribute `requires_grad` is written."""
        assert isinstance(node, ast.Assign)
        return any(getattr(target, "attr", "") == "requires_grad" for target in node.targets)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for each target that is a tensor's flag."""
        assert isinstance(node, ast.Assign)
        for target in node.targets:
            if not isinstance(target, ast.Attribute) or target.attr != "requires_grad":
                continue
            for option in options(ctx.fact(target.value)):
                if isinstance(option, Tensor):
                    yield Sighting(target, f"`{shown(node)}` sets the flag while capturing", option)
                    break

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the tensor without the flag, if the function made it."""
        from ..rewrites.autograd import unflagged

        node, fact = sighting.node, sighting.fact
        if isinstance(fact, Tensor) and fact.role in ("input", "param", "buffer"):
            raise Declined("a tensor from outside gets the flag: set it before the compiled call")
        assert isinstance(node, ast.Attribute)
        yield from unflagged(node, ctx, code)
