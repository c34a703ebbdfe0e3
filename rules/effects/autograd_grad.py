"""CL502: `torch.autograd.grad` inside the region."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting


class AutogradGrad(Rule):
    """`torch.autograd.grad` in code that is captured.

    ## What it does
    Flags `torch.autograd.grad(...)`: gradient penalties, score functions, force fields.

    ## Why it matters
    It asks the autograd engine for gradients while the forward graph is still being captured.
    Unless `torch._dynamo.config.trace_autograd_ops` is on (it is off by default), the graph ends
    here, and the double backward that a penalty needs isn't compiled.

    ## Example
    A gradient penalty computed next to the loss.

    ## Fix
    `torch.func.grad`, `grad_and_value`, `vjp` or `jacrev` give the same gradients as functions of
    functions, and are captured whole.

    ## When it is safe
    When `trace_autograd_ops` is switched on for the region.
    """

    code = "CL502"
    name = "autograd-grad"
    summary = "`torch.autograd.grad` inside the region"
    nodes = (ast.Call,)
    callees = ("torch.autograd.grad",)
    graph_breaks = ("GB9186",)
    examples = (
        Example(
            bad="""
import torch

def f(x):
    energy = (x ** 2).sum()
    (force,) = torch.autograd.grad(energy, x, create_graph=True)  # error: CL502
    return force
""",
            good="""
import torch

def f(x):
    return torch.func.grad(lambda v: (v ** 2).sum())(x)
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for every call of torch.autograd.grad."""
        assert isinstance(node, ast.Call)
        if ctx.callee(node).name == "torch.autograd.grad":
            yield Sighting(node, "`torch.autograd.grad` asks for gradients while capturing")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: the function to differentiate must be cut out by hand."""
        raise Declined("write what is differentiated as a function, and use `torch.func.grad`")
