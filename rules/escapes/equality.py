"""CL405: torch.equal, torch.allclose, torch.is_nonzero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Sighting
from ..base.reading import shown
from .data import OperationRule, certainty, operator_call

_NAMES = frozenset({"equal", "allclose", "is_nonzero"})


class TensorEquality(OperationRule):
    """`torch.equal`, `torch.allclose` and `torch.is_nonzero` give a Python bool.

    ## What it does
    Flags these functions and the methods of the same names.

    ## Why it matters
    Their result is a Python bool that only the data knows. There is no symbol for it, so the graph
    breaks in every mode, also when nothing tests the result.

    ## Example
    See the bad and good modules below.

    ## Fix
    `(a == b).all()` and `torch.isclose(a, b).all()` give 0-dim tensors, for `torch.where`,
    `torch.cond` or `torch._assert_async`. To test shapes only, compare `a.shape == b.shape`.

    ## When it is safe
    In tests and checks outside of the compiled region.
    """

    code = "CL405"
    name = "tensor-equality"
    summary = "`torch.equal`, `allclose` or `is_nonzero`"
    nodes = (ast.Call,)
    operations = _NAMES
    graph_breaks = ("GB0033",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    return x + torch.equal(x, y)  # error: CL405
""",
            good="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    return x + (x == y).all()
""",
            inputs="[(torch.ones(3), torch.ones(3))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    if x.allclose(y):  # error: CL405
        return x
    return y
""",
            good="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    return torch.where(torch.isclose(x, y).all(), x, y)
""",
            inputs="[(torch.ones(3), torch.ones(3))]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call of torch's functions or the tensor methods."""
        found = operator_call(node, ctx, self.operations)
        if found is None or not found[0].name.startswith("torch."):
            return
        text = f"`{shown(node)}` gives a Python bool that only the data knows"
        yield Sighting(node, text, found[1], certainty=certainty(found[0]))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the comparison as a 0-dim tensor."""
        from ..rewrites.scalars import test_of_equality

        assert isinstance(sighting.node, ast.Call)
        yield from test_of_equality(sighting.node, ctx, code)
