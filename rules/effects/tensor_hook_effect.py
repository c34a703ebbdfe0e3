"""CL511: a tensor hook that writes outside itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from .outside_writes import first_write


class TensorHookEffect(Rule):
    """A hook given to `tensor.register_hook` has a side effect.

    ## What it does
    Flags hooks that append to a captured list, set an attribute, store into a dict or assign a
    global.

    ## Why it matters
    Dynamo captures the hook as a graph of its own, to run in the backward pass. Only its return
    value leaves that graph, so a write to the outside is refused, and the graph ends where the
    hook is registered.

    ## Example
    Collecting gradients of intermediates in a list.

    ## Fix
    Let the hook only transform the gradient. To look at gradients, return the intermediate from
    the region, and hook or `retain_grad` it outside.

    ## When it is safe
    In debugging code behind `if not torch.compiler.is_compiling()`.
    """

    code = "CL511"
    name = "tensor-hook-effect"
    summary = "Tensor hook with a side effect"
    nodes = (ast.Call,)
    callees = ("torch.Tensor.register_hook",)
    graph_breaks = ("GB0067",)
    examples = (
        Example(
            bad="""
import torch

seen = []

def f(x: torch.Tensor):
    y = x * 2
    y.register_hook(lambda g: seen.append(g))  # error: CL511
    return y + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    y = x * 2
    y.register_hook(lambda g: g * 0.5)
    return y + 1
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    grads = {}
    y = x * 2

    def keep(grad):
        grads[grad.device] = grad  # error: CL511

    y.register_hook(keep)
    return y + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    grads = torch.zeros(2, 3)
    y = x * 2

    def keep(grad):
        grads[0] = grad

    y.register_hook(keep)
    return y + 1
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
            note="a tensor that the hook writes into is part of its graph",
        ),
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.grad = None

    def save(self, grad):
        self.grad = grad  # error: CL511

    def forward(self, x):
        h = self.layer(x)
        h.register_hook(self.save)
        return h * 2
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def soften(self, grad):
        return grad.tanh()

    def forward(self, x):
        h = self.layer(x)
        h.register_hook(self.soften)
        return h * 2
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting at the write of a hook that isn't pure."""
        assert isinstance(node, ast.Call)
        if ctx.callee(node).name != "torch.Tensor.register_hook":
            return
        hook = ctx.argument(node, 0, "hook")
        if hook is not None:
            why = "becomes part of the backward graph"
            yield from first_write(ctx.fact(hook), node, why, ctx)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: who reads what the hook writes isn't known."""
        raise Declined("what the hook writes is wanted: return the tensor, and hook it outside")
