"""CL104: `and`, `or` between tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from .conditions import Read, first, is_tested, reads, sighting, untested_operator


class TensorAndOr(Rule):
    """`and` or `or` with a tensor among the operands that it tests.

    ## What it does
    Flags `a and b`, `a or b` used as a value where an operand before the last reads a tensor.
    The last operand is handed on untested. Inside the condition of an `if`, `while`, conditional
    expression, comprehension or `assert`, every operand is tested and the rule of that construct
    reports it.

    ## Why it matters
    Python evaluates the second operand only when the first one says so, which makes `and` a
    branch on a tensor's value: the graph breaks here.

    ## Example
    See the bad and good modules below.

    ## Fix
    Combine tensor conditions with `&` and `|` (mind the parentheses) or `torch.logical_and` and
    `torch.logical_or`. For `x or default`, say `default if x is None else x`.

    ## When it is safe
    When the tensor is the last operand: `enabled and x.sum()` only tests `enabled`.
    """

    code = "CL104"
    name = "tensor-and-or"
    summary = "`and` or `or` tests a tensor"
    nodes = (ast.BoolOp,)
    graph_breaks = ("GB0170",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    inside = (x > -9).all() and (x < 9).all()  # error: CL104
    return x, inside
""",
            good="""
import torch

def f(x: torch.Tensor, enabled=True):
    inside = (x > -9).all() & (x < 9).all()
    return x, enabled and inside
""",
        ),
        Example(
            bad="""
import torch

def scaled(x: torch.Tensor, scale: torch.Tensor):
    scale = scale or 1.0  # error: CL104
    return x * scale

def f(x: torch.Tensor):
    return scaled(x, x.max())
""",
            good="""
import torch

def scaled(x: torch.Tensor, scale: torch.Tensor):
    scale = 1.0 if scale is None else scale
    return x * scale

def f(x: torch.Tensor):
    return scaled(x, x.max())
""",
            note="The idiom for a default value tests the tensor that was given.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield one sighting for the first operand whose test reads tensor data."""
        assert isinstance(node, ast.BoolOp)
        if is_tested(node, ctx):
            return
        found: list[Read] = [read for value in node.values[:-1] for read in reads(value, ctx)]
        read = first(found)
        if read is not None:
            word = "and" if isinstance(node.op, ast.And) else "or"
            yield sighting(read, f"`{word}`")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the operands combined as tensors."""
        from ..rewrites.choices import combined_fixes

        whole = untested_operator(sighting.node, ctx)
        assert isinstance(whole, ast.BoolOp)
        return combined_fixes(whole, ctx, code)
