"""CL501: `.backward()` inside the region."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from ..base.reading import shown


class BackwardInside(Rule):
    """`.backward()` or `torch.autograd.backward` in code that is captured.

    ## What it does
    Flags calls that run the backward pass: `loss.backward()`, `torch.autograd.backward(losses)`.

    ## Why it matters
    The region is captured as a forward graph; its backward graph is derived from it afterwards.
    A backward call needs the autograd tape of work that hasn't run yet, so Dynamo ends the graph
    before it. What follows (gradient clipping, the optimizer) becomes another graph or runs
    eagerly.

    ## Example
    A whole training step under `torch.compile`.

    ## Fix
    Compile the part that computes the loss, and call `backward()` on its result outside. The
    backward pass is compiled all the same, on the first call. For gradients as values inside the
    region use `torch.func.grad`.

    ## When it is safe
    With `torch._dynamo.config.compiled_autograd = True` and a region that is meant to break here,
    suppress it.
    """

    code = "CL501"
    name = "backward-inside"
    summary = "`.backward()` inside the region"
    nodes = (ast.Call,)
    callees = ("torch.Tensor.backward", "torch.autograd.backward")
    graph_breaks = ("GB0123", "GB0007")
    examples = (
        Example(
            bad="""
import torch
from torch import nn

net = nn.Linear(3, 1)

def f(x, y):
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()  # error: CL501
    return loss
""",
            good="""
import torch
from torch import nn

net = nn.Linear(3, 1)

def f(x, y):
    return nn.functional.mse_loss(net(x), y)
""",
            inputs="[(torch.randn(4, 3), torch.randn(4, 1))]",
        ),
        Example(
            bad="""
import torch

def f(x):
    torch.autograd.backward((x * 2).sum())  # error: CL501
    return x + 1
""",
            good="""
import torch

def f(x):
    grad = torch.func.grad(lambda v: (v * 2).sum())(x)
    return x + grad
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
        ),
        Example(
            bad="""
import torch

weight = torch.ones(3, requires_grad=True)
losses = {"mean": lambda x: (weight * x).mean()}

def f(x, name="mean"):
    loss = losses[name](x)
    loss.backward()  # error: CL501
    return loss.detach()
""",
            good="""
import torch

weight = torch.ones(3, requires_grad=True)
losses = {"mean": lambda x: (weight * x).mean()}

def f(x, name="mean"):
    return losses[name](x)
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call that runs the backward pass."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.name == "torch.Tensor.backward":
            this = callee.receiver
            if len(node.args) > 1 and this is not None and not this.sure:
                return  # `rule.backward(module, grads)`: what isn't known to be a tensor is none
            ids = ("GB0123",)
        elif callee.name == "torch.autograd.backward":
            ids = ("GB0007",)
        else:
            return
        message = f"`{shown(node)}` runs the backward pass inside the region"
        yield Sighting(node, message, callee.receiver, graph_breaks=ids)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: where the region ends is the caller's choice."""
        raise Declined("compile what computes the loss, and run backward outside")
