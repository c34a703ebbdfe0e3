"""CL316: TorchScript inside a region."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from .seen import call_seen, shown

_CALLED = "torch.jit.ScriptModule."


class TorchScript(Rule):
    """TorchScript is made or run inside compiled code.

    ## What it does
    Flags `torch.jit.script`, `trace`, `fork`, `wait`, `isinstance` and the like called inside, and
    calls of modules that `torch.jit.script`, `trace` or `load` made.

    ## Why it matters
    A scripted module is a C++ object with a compiler of its own. Dynamo can't look into it: the
    graph ends before it and starts again behind it, and nothing is fused across.

    ## Example
    See the bad and good modules below.

    ## Fix
    Use the plain Python module: torch.compile does what TorchScript was for, and more.

    ## When it is safe
    Functions decorated with `@torch.jit.script` are captured (Dynamo traces the Python behind
    them), as is `torch.jit.is_scripting()`; they are not reported.
    """

    code = "CL316"
    name = "torchscript-inside"
    summary = "TorchScript inside compiled code"
    nodes = (ast.Call,)
    callees = ("torch.jit.",)
    graph_breaks = ("GB4695", "GB0007", "GB0098", "GB0008")
    examples = (
        Example(
            bad="""
import torch

def double(x):
    return x * 2

def f(x):
    fast = torch.jit.script(double)  # error: CL316, CL704
    return fast(x)
""",
            good="""
import torch

def double(x):
    return x * 2

def f(x):
    if torch.jit.is_scripting():
        return x
    return double(x)
""",
        ),
        Example(
            bad="""
import torch

def double(x):
    return x * 2

def f(x):
    later = torch.jit.fork(double, x)  # error: CL316
    return torch.jit.wait(later)  # error: CL316
""",
            good="""
import torch

def double(x):
    return x * 2

def f(x):
    return double(x)
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

layer = torch.jit.script(nn.Linear(3, 3))  # error: CL704

def f(x):
    return layer(x)  # error: CL316
""",
            good="""
import torch
from torch import nn

layer = nn.Linear(3, 3)

def f(x):
    return layer(x)
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for TorchScript made or called."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        if name.startswith("torch.jit.") and callee.project is None:
            id = "GB4695" if name.startswith(_CALLED) else ctx.torch.break_id(name)
            if id:
                text = f"`{shown(node)}` isn't traced: the graph ends here"
                yield call_seen(node, callee, text, id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the Python behind the TorchScript."""
        from ..rewrites.replacements import plain

        assert isinstance(sighting.node, ast.Call)
        yield from plain(sighting.node, ctx.callee(sighting.node).name, ctx, code)
