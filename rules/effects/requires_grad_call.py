"""CL504: `requires_grad_()` on inputs, parameters, buffers and modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Certainty,
    Code,
    Const,
    Context,
    Declined,
    Example,
    Fix,
    Instance,
    Rule,
    Sighting,
    Tensor,
    options,
)
from ..base.reading import shown
from ..torch_facts import TorchFacts


class RequiresGradCall(Rule):
    """`requires_grad_()` that changes a tensor the region didn't make.

    ## What it does
    Flags `x.requires_grad_()` on an input, `p.requires_grad_(False)` on a parameter,
    `buffer.requires_grad_()` and `module.requires_grad_(...)`.

    ## Why it matters
    Whether an input needs gradients decides which graph is built. Changing it half-way would make
    the first part of the graph wrong, so Dynamo refuses a call that changes the flag, and the
    graph ends.

    ## Example
    Freezing a layer in `forward`.

    ## Fix
    Set the flag before the compiled call: in `__init__`, or in the training script. To cut
    gradients for one use, read `x.detach()`.

    ## When it is safe
    When the flag already has that value, the call is dropped while capturing: then the finding is
    only likely, and may be suppressed.
    """

    code = "CL504"
    name = "requires-grad-call"
    summary = "`requires_grad_()` on an input, parameter, buffer or module"
    nodes = (ast.Call,)
    graph_breaks = ("GB0125",)
    examples = (
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(3, 3)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        self.base.requires_grad_(False)  # error: CL504
        return self.head(self.base(x))
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(3, 3).requires_grad_(False)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return self.head(self.base(x))
""",
        ),
        Example(
            bad="""
import torch

def f(x):
    x.requires_grad_()  # error: CL504
    return x.sin()
""",
            good="""
import torch

def f(x):
    return x.sin()
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

net = nn.Linear(3, 3)

def f(x):
    for p in net.parameters():
        p.requires_grad_(False)  # error: CL504
    return net(x)
""",
            good="""
import torch
from torch import nn

net = nn.Linear(3, 3)

def f(x):
    with torch.no_grad():
        return net(x)
""",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee sets the flag."""
        return name.endswith(".requires_grad_")

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the call may change the flag of a tensor from outside."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.receiver is None:
            return
        value = _value(node, ctx)
        for option in options(callee.receiver):
            if isinstance(option, Instance) and option.module:
                if value is not True:
                    what = f"`{shown(node)}` changes whether parameters need gradients"
                    yield Sighting(node, what, option)
            elif isinstance(option, Tensor) and _may_change(option.role, value):
                what = f"`{shown(node)}` changes whether {_NOUN[option.role]} needs gradients"
                # a buffer keeps the flag: another call may have set it before
                sure = option.sure and option.role == "param" and value is not None
                certainty = Certainty.CERTAIN if sure else Certainty.LIKELY
                yield Sighting(node, what, option, certainty=certainty)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: the caller sees the flag."""
        raise Declined("the flag of what was there before is set: set it before the compiled call")


_NOUN = {"input": "an input", "param": "a parameter", "buffer": "a buffer"}


def _may_change(role: str, value: bool | None) -> bool:
    if role == "param":  # parameters need gradients unless told otherwise
        return value is not True
    return role == "input" or (role == "buffer" and value is not False)


def _value(node: ast.Call, ctx: Context) -> bool | None:
    given = ctx.argument(node, 0, "requires_grad")
    if given is None:
        return True
    fact = ctx.fact(given)
    return bool(fact.value) if isinstance(fact, Const) else None
