"""CL103: `a if t else b` on a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from .conditions import of_value


class TensorTernary(Rule):
    """A conditional expression on a value that a tensor decides.

    ## What it does
    Flags `a if t else b` whose condition reads a tensor, wherever the expression stands: in an
    assignment, a return, an argument or a lambda.

    ## Why it matters
    It is an `if` in small: the graph ends at the condition, the value is read back to the host,
    and the rest of the function becomes another graph.

    ## Example
    See the bad and good modules below.

    ## Fix
    `torch.where(t, a, b)` evaluates both sides and picks. Where the condition only protects a
    division or a logarithm, clamp its operand instead, which also keeps gradients finite.

    ## When it is safe
    On shapes, dtypes, `None` or configuration the condition is settled during capture.
    """

    code = "CL103"
    name = "tensor-ternary"
    summary = "conditional expression on a tensor's value"
    nodes = (ast.IfExp,)
    graph_breaks = ("GB0170",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return torch.relu(x if x.sum() > 0 else -x)  # error: CL103
""",
            good="""
import torch

def f(x: torch.Tensor):
    return torch.relu(torch.where(x.sum() > 0, x, -x))
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    total = x.abs().sum()
    scale = (
        1.0
        if total == 0  # error: CL103
        else 1.0 / total
    )
    return x * scale
""",
            good="""
import torch

def f(x: torch.Tensor, factor=None):
    total = x.abs().sum()
    scale = 1.0 if factor is None else factor
    return x * scale / total.clamp(min=1e-12)
""",
            note="A test for zero before dividing: clamp the divisor.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the condition is decided by tensor data."""
        assert isinstance(node, ast.IfExp)
        yield from of_value(node.test, ctx, "the conditional expression")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the expression as `torch.where` or `torch.cond`."""
        from ..rewrites.choices import ternary_fixes
        from ..rewrites.twins import twin_asked

        for node in (sighting.node, *ctx.ancestors(sighting.node)):
            if isinstance(node, ast.IfExp):
                twin = twin_asked(node.test, ctx, code)
                yield from (twin,) if twin is not None else ternary_fixes(node, ctx, code)
                return
