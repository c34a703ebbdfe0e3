"""CL101: `if` on a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from ..torch_facts import TorchFacts
from .conditions import holding_if, of_value, raises


class TensorIf(Rule):
    """`if` or `elif` on a value that a tensor decides.

    ## What it does
    Flags `if`, `elif` whose condition reads a tensor: `if x.sum() > 0`, `if mask.any()`,
    `if n > 3` where `n = lengths.max().item()`.

    ## Why it matters
    While capturing, torch.compile knows a tensor's shape and dtype, never its values. It can't
    know which arm runs, so the graph ends here: the condition is computed, read back to the host
    (a device synchronisation), and each arm becomes a graph of its own. With `fullgraph=True`
    compilation raises.

    ## Example
    See the bad and good modules below.

    ## Fix
    Compute both arms and choose with `torch.where` when they are cheap and pure; use `torch.cond`
    when an arm is expensive or must not run; use `torch._check` when the `if` only raises.

    ## When it is safe
    When the condition is a shape, a dtype, a config value or `None`-ness: those are guarded on,
    not captured, and this rule doesn't report them. In code that is never compiled, suppress it.
    """

    code = "CL101"
    name = "tensor-if"
    summary = "`if` on a tensor's value"
    nodes = (ast.If,)
    graph_breaks = ("GB0170",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    if x.sum() > 0:  # error: CL101
        return x.relu()
    return -x
""",
            good="""
import torch

def f(x: torch.Tensor):
    return torch.where(x.sum() > 0, x.relu(), -x)
""",
            inputs="[(torch.ones(3),), (-torch.ones(3),)]",
        ),
        Example(
            bad="""
import torch
from torch import nn

class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ready", torch.tensor(False))

    def forward(self, x):
        if x.ndim == 3:
            return x
        elif x.is_floating_point() and not self.ready:  # error: CL101
            return x * 2
        return x

f = Step()
""",
            good="""
import torch
from torch import nn

class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ready", torch.tensor(False))

    def forward(self, x):
        if x.ndim == 3 or not x.is_floating_point():
            return x
        return torch.where(self.ready, x, x * 2)

f = Step()
""",
            note="A buffer is a tensor; `and` and `not` inside the condition test it too.",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    for scale in range(4):
        x = x * 2
        if x.abs().max() > 8:  # error: CL101
            break
    return x
""",
            good="""
import torch

def f(x: torch.Tensor, limit=None):
    if limit is None and x.shape[0] > 2 and isinstance(x, torch.Tensor):
        x = x.float()
    done = torch.zeros((), dtype=torch.bool)
    for scale in range(4):
        x = torch.where(done, x, x * 2)
        done = done | (x.abs().max() > 8)
    return x
""",
            note="In a loop the whole function falls back to eager. Shape, `None` and type tests "
            "are fine.",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether no arm only raises, which is a rule of its own."""
        return isinstance(node, ast.If) and not raises(node.body) and not raises(node.orelse)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the condition is decided by tensor data."""
        assert isinstance(node, ast.If)
        return of_value(node.test, ctx, "`if`")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the `if` as `torch.where` or `torch.cond`, or the loop that it leaves."""
        from ..rewrites.branches import branch_fixes
        from ..rewrites.breaks import break_fixes, leaves_round
        from ..rewrites.draws import redrawn
        from ..rewrites.twins import twin_asked

        stmt = holding_if(sighting.node, ctx)
        first = redrawn(stmt.test, ctx, code) or twin_asked(stmt.test, ctx, code)
        if first is not None:
            return iter((first,))
        if leaves_round(stmt):
            return break_fixes(stmt, ctx, code)
        return branch_fixes(stmt, ctx, code)
