"""CL503: optimizers, schedulers and gradient scalers inside the region."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from ..base.reading import shown

_SCALERS = (
    "torch.amp.GradScaler",
    "torch.cuda.amp.GradScaler",
    "torch.amp.grad_scaler.GradScaler",
    "torch.cuda.amp.grad_scaler.GradScaler",
)


class OptimizerInside(Rule):
    """A torch.optim optimizer, a scheduler or a GradScaler used in code that is captured.

    ## What it does
    Flags `optimizer.step()`, `zero_grad()`, `state_dict()`, making an optimizer, `scheduler.step()`
    and the methods of `GradScaler`.

    ## Why it matters
    Optimizer methods are wrapped in hooks that Dynamo doesn't trace: each call is a graph break
    of its own, so a compiled training step is split around every one of them.

    ## Example
    `optimizer.zero_grad()` … `optimizer.step()` around the loss in one compiled function.

    ## Fix
    Keep the compiled region to the forward pass and the loss. To compile the update as well,
    compile it alone: `step = torch.compile(optimizer.step)` is captured whole.

    ## When it is safe
    Optimizers of your own that subclass `torch.optim.Optimizer` and only do tensor arithmetic in
    `step` are traced; they are not reported.
    """

    code = "CL503"
    name = "optimizer-inside"
    summary = "Optimizer, scheduler or GradScaler used inside the region"
    nodes = (ast.Call,)
    callees = ("torch.optim", *_SCALERS)
    graph_breaks = ("GB0025", "GB0008", "GB0099")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, name: str = "SGD"):
    shift = torch.zeros_like(x)
    optimizer = getattr(torch.optim, name)([shift], lr=0.1)  # error: CL503
    optimizer.zero_grad()  # error: CL503
    return x + shift
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x + torch.zeros_like(x)
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def f(x):
    optimizer.zero_grad()  # error: CL503
    return net(x).sum()
""",
            good="""
import torch
from torch import nn

net = nn.Linear(3, 1)

def f(x):
    net.zero_grad()
    return net(x).sum()
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

weight = nn.Parameter(torch.ones(3))
weight.grad = torch.ones(3)
optimizer = torch.optim.AdamW([weight], lr=0.1)

def f(x):
    optimizer.step()  # error: CL503
    return x + weight
""",
            good="""
import torch
from torch import nn

weight = nn.Parameter(torch.ones(3))
weight.grad = torch.ones(3)

def f(x):
    with torch.no_grad():
        weight.sub_(weight.grad, alpha=0.1)
    return x + weight
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for calls of optimizer classes and of their objects' methods."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        if callee.project is not None or not name:
            return
        owner, _, method = name.rpartition(".")
        if owner.startswith("torch.optim.") and callee.receiver is not None:
            ids = (
                ("GB0099",)
                if owner.endswith(".LBFGS")
                else (
                    ("GB0025",) if method == "step" and "lr_scheduler" not in owner else ("GB0008",)
                )
            )
        elif (owner in _SCALERS and callee.receiver is not None) or _makes(name):
            ids = ("GB0008",)
        else:
            return
        message = f"`{shown(node)}` is optimizer machinery that Dynamo doesn't trace"
        yield Sighting(node, message, callee.receiver, graph_breaks=ids)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: where the region ends is the caller's choice."""
        raise Declined("compile the forward pass and the loss, and step outside")


def _makes(name: str) -> bool:
    owner, _, last = name.rpartition(".")
    if name in _SCALERS:
        return True
    return owner.startswith("torch.optim") and last[:1].isupper()
