"""CL318: calls of functions that torch.compile was told to leave alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from .seen import call_seen, shown

_DISABLE = frozenset(
    {
        "torch.compiler.disable",
        "torch._dynamo.disable",
        "torch._dynamo.eval_frame.disable",
        "torch._disable_dynamo",
    }
)


class DisabledCall(Rule):
    """A function or module under `torch.compiler.disable` is called from compiled code.

    ## What it does
    Flags calls of functions, methods and modules that `torch.compiler.disable` or
    `torch._dynamo.disable` marks, and using these inside compiled code.

    ## Why it matters
    What is disabled runs eagerly, so the graph of the caller ends at the call. Under
    `fullgraph=True` it raises.

    ## Example
    See the bad and good modules below.

    ## Fix
    Call it before or after the compiled part. If it only can't be traced but is a pure function of
    tensors, make it a custom operator (`torch.library.custom_op`), or use
    `torch.compiler.nonstrict_trace`; both stay in the graph.

    ## When it is safe
    When the break is what you want. Suppress the finding there, with the reason.
    """

    code = "CL318"
    name = "disabled-call"
    summary = "a function under torch.compiler.disable is called"
    nodes = (ast.Call,)
    callees = (*sorted(_DISABLE), "torch.compiler.disabled.__call__")
    graph_breaks = ("GB0098", "GB0099", "GB0148", "GB0007")
    examples = (
        Example(
            bad="""
import torch

@torch.compiler.disable
def record(x):
    return x + 1

def f(x):
    return record(x.relu()) * 2  # error: CL318
""",
            good="""
import torch

def record(x):
    return x + 1

def f(x):
    return record(x.relu()) * 2
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.compiler.disable(nn.Linear(3, 3))

    def forward(self, x):
        return self.layer(x)  # error: CL318

f = Net
""",
            good="""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)

f = Net
""",
        ),
        Example(
            bad="""
import torch

def record(x):
    return x + 1

def f(x):
    return torch.compiler.disable(record)(x)  # error: CL318
""",
            good="""
import torch

def record(x):
    return x + 1

def f(x):
    return record(x)
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call of something disabled."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.name in _DISABLE and callee.project is not None:
            text = f"`{shown(node)}` is kept out of compilation: the graph ends here"
            yield call_seen(node, callee, text, "GB0098")
        elif callee.name == "torch.compiler.disabled.__call__":
            if not (isinstance(node.func, ast.Call) and ctx.callee(node.func).name in _DISABLE):
                text = f"`{shown(node)}` is kept out of compilation: the graph ends here"
                yield call_seen(node, callee, text, "GB0098")
        elif callee.name in _DISABLE:
            yield call_seen(node, callee, f"`{shown(node)}` isn't traced itself", "GB0007")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: the break was asked for."""
        raise Declined("the break was asked for: call it outside, or make it a custom operator")
