"""CL401: `.item()` of a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import DEFAULT_ONLY, Code, Context, Example, Fix, Rule, Sighting, Unknown
from ..base.reading import shown
from .data import ARRAY_METHOD, METHOD, certainty, held


class TensorItem(Rule):
    """`.item()` reads a tensor's value into Python.

    ## What it does
    Flags `.item()` on a tensor, or on a NumPy array that Dynamo traces as one: `loss.item()`,
    `lengths.max().item()`, `array.sum().item()`.

    ## Why it matters
    The graph ends at the read: what was captured so far runs, the host waits for the device, and
    the number starts a second graph. In a loop, the whole function runs eagerly. Under
    `fullgraph=True` the number is captured as a symbol, and only Python code that must know it,
    such as an `if` or a list index, fails.

    ## Example
    See the bad and good modules below.

    ## Fix
    Keep the value a tensor: a 0-dim tensor works wherever a number does in tensor arithmetic,
    `torch.where`, `masked_fill` and `torch.full`. Log it outside the compiled function. Where a
    number is needed for a size, pass it in, or set
    `torch._dynamo.config.capture_scalar_outputs = True`.

    ## When it is safe
    Under `fullgraph=True`, or with `capture_scalar_outputs`, when the number only feeds tensor
    operations.
    """

    code = "CL401"
    name = "tensor-item"
    summary = "`.item()` of a tensor"
    nodes = (ast.Call,)
    callees = (METHOD + "item", ARRAY_METHOD + "item")
    breaks = DEFAULT_ONLY
    graph_breaks = ("GB0124", "GB0033")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    peak = x.max().item()  # error: CL401
    return x / peak
""",
            good="""
import torch

def f(x: torch.Tensor):
    peak = x.max()
    return x / peak
""",
            inputs="[(torch.ones(3),)]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    total = x.numpy().sum().item()  # error: CL401
    return x + total
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x + x.sum()
""",
            note="NumPy arrays are traced as tensors",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the receiver holds tensor data."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.name == METHOD + "item":
            receiver = callee.receiver
            if receiver is None and node.args:  # torch.Tensor.item(x)
                receiver = ctx.fact(node.args[0])
        elif callee.name == ARRAY_METHOD + "item" and not node.args:
            receiver = callee.receiver
        else:
            return
        fact = held(receiver or Unknown())
        if fact is not None:
            message = f"`{shown(node)}` reads a tensor's value, which ends the graph"
            yield Sighting(node, message, fact, certainty=certainty(callee))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the tensor itself, where it can take the number's place."""
        from ..rewrites.scalars import number_kept

        assert isinstance(sighting.node, ast.Call)
        yield from number_kept(sighting.node, ctx, code)
