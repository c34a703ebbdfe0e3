"""CL529: an autograd.Function whose backward writes outside itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Certainty,
    ClassRef,
    Code,
    Context,
    Declined,
    Example,
    Fix,
    Rule,
    Sighting,
    options,
)
from ..torch_facts import TorchFacts
from .outside_writes import written_outside


class BackwardEffect(Rule):
    """The `backward` of an autograd.Function has a side effect.

    ## What it does
    Flags writes to globals, captured lists and dicts in the `backward` of a
    `torch.autograd.Function` that the region applies.

    ## Why it matters
    Dynamo captures `backward` as a graph of its own together with `forward`. Only the gradients
    leave it; a write to the outside is refused, and the graph ends at `apply`. (In `forward` the
    same write is recorded and replayed.)

    ## Example
    Logging gradient statistics into a dict from `backward`.

    ## Fix
    Return the gradient only. Take statistics from hooks or from `.grad` outside the region.

    ## When it is safe
    When no input needs gradients, `backward` isn't captured; the finding is only likely.
    """

    code = "CL529"
    name = "backward-effect"
    summary = "autograd.Function whose backward has a side effect"
    nodes = (ast.Call,)
    graph_breaks = ("GB0067",)
    examples = (
        Example(
            bad="""
import torch

stats = {}

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        stats["grad"] = grad  # error: CL529
        return grad * 2

def f(x):
    return Scale.apply(x)
""",
            good="""
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

def f(x):
    return Scale.apply(x)
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether the call is one of `apply`."""
        assert isinstance(node, ast.Call)
        return isinstance(node.func, ast.Attribute) and node.func.attr == "apply"

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting at each write of the backward of the function that is applied."""
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Attribute)
        for option in options(ctx.fact(node.func.value)):
            cls = option.cls if isinstance(option, ClassRef) else None
            backward = cls.methods.get("backward") if cls is not None else None
            if backward is None or backward.module.path != ctx.path:
                continue
            for stmt, target in written_outside(backward):
                what = f"`{target}` is written in a backward that becomes a graph of its own"
                yield Sighting(stmt, what, certainty=Certainty.LIKELY)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: only gradients leave a backward."""
        raise Declined("return the gradient only, and look at it outside")
