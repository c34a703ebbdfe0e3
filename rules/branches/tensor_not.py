"""CL105: `not` of a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from ..base.reading import shown
from ..torch_facts import TorchFacts
from .conditions import first, is_tested, reads, sighting, untested_operator


class TensorNot(Rule):
    """`not` of a tensor, used as a value.

    ## What it does
    Flags `not t` where `t` is a tensor or was read from one and the result is stored, passed or
    returned, and `operator.not_(t)`. `if not t` is reported as a tensor `if`.

    ## Why it matters
    `not` has to give a Python bool, so it reads the tensor: by default the graph breaks, and with
    `fullgraph=True` compilation raises, even where the result is only used as a number.

    ## Example
    See the bad and good modules below.

    ## Fix
    `torch.logical_not(t)`, `~t` for boolean tensors, or `t == 0`: they stay tensors.

    ## When it is safe
    `not items` on a list of tensors, `not x.shape[0]` or `not self.training` ask Python values
    and are captured.
    """

    code = "CL105"
    name = "tensor-not"
    summary = "`not` of a tensor"
    nodes = (ast.UnaryOp, ast.Call)
    callees = ("operator.not_", "operator.truth")
    graph_breaks = ("GB0033", "GB0059")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    empty = not x.any()  # error: CL105
    return x + empty
""",
            good="""
import torch

def f(x: torch.Tensor):
    rows = [x]
    return x + x.any().logical_not() + (not rows)
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether the operator is `not`."""
        return not isinstance(node, ast.UnaryOp) or isinstance(node.op, ast.Not)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the operand reads tensor data and nothing around tests it."""
        if isinstance(node, ast.Call):
            if ctx.callee(node).name in ("operator.not_", "operator.truth") and node.args:
                read = first(list(reads(node.args[0], ctx)))
                if read is not None:
                    yield sighting(read, f"`{shown(node.func)}`")
            return
        assert isinstance(node, ast.UnaryOp)
        if isinstance(node.op, ast.Not) and not is_tested(node, ctx):
            read = first(list(reads(node.operand, ctx)))
            if read is not None:
                yield sighting(read, "`not`")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the negated tensor."""
        from ..rewrites.choices import tested_fixes

        node = untested_operator(sighting.node, ctx)
        if not isinstance(node, ast.UnaryOp):
            raise Declined("`not` is called as a function")
        return tested_fixes(node, "negate the tensor", ctx, code)
