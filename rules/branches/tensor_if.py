"""CL101: `if` on a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Rule, Sighting
from .conditions import tested


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
            bad='''
import torch

def f(x):
    if x.sum() > 0:  # error: CL101
        return x.relu()
    return -x
''',
            good='''
import torch

def f(x):
    return torch.where(x.sum() > 0, x.relu(), -x)
''',
            inputs="[(torch.ones(3),), (-torch.ones(3),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the condition is decided by tensor data."""
        assert isinstance(node, ast.If)
        yield from tested(node.test, ctx, "`if`")
