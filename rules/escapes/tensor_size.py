"""CL415: a tensor as a size."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import BOTH, DEFAULT_ONLY, Code, Context, Declined, Example, Fix, Mode, Sighting
from ..base.reading import shown
from .data import OperationRule, certainty, derived_in, read_in
from .number_parameters import SIZES, arguments, passed


class TensorSize(OperationRule):
    """A tensor where an operator takes a size.

    ## What it does
    Flags `torch.arange(lengths.max())`, `torch.zeros(n, 4)`, `x.view(t[0], -1)`,
    `x.narrow(0, 0, n)`, `F.pad(x, (0, n))` and others with a tensor that the graph computes as
    the size.

    ## Why it matters
    The tensor is read, as by `.item()`: by default the graph ends, and what is made has a size
    that depends on data. Where the size must be known (`steps`, `pad`, a step of `arange`)
    `fullgraph=True` fails as well.

    ## Example
    See the bad and good modules below.

    ## Fix
    Use an upper bound that shapes tell, and mask: `torch.arange(x.shape[1]) < lengths[:, None]`.
    If the size is known before the call, pass it as a Python int.

    ## When it is safe
    For plain sizes under `fullgraph=True`, or with
    `torch._dynamo.config.capture_scalar_outputs = True`.
    """

    code = "CL415"
    name = "tensor-as-size"
    summary = "a tensor as a size"
    nodes = (ast.Call,)
    operations = frozenset(SIZES)
    breaks = BOTH
    graph_breaks = ("GB0033",)
    examples = (
        Example(
            bad="""
import torch

def f(lengths: torch.Tensor):
    return torch.arange(lengths.max()) < lengths[:, None]  # error: CL415
""",
            good="""
import torch

def f(lengths: torch.Tensor):
    return torch.arange(8) < lengths[:, None]
""",
            inputs="[(torch.tensor([2, 0, 1]),)]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, n: torch.Tensor):
    return torch.zeros((3, n.max())) + x.sum()  # error: CL415
""",
            good="""
import torch

def f(x: torch.Tensor, n: torch.Tensor):
    return torch.zeros(3, x.shape[0]) + x.sum()
""",
            inputs="[(torch.randn(3), torch.tensor([1, 2]))]",
        ),
        Example(
            bad="""
import torch
import torch.nn.functional as F

def f(x: torch.Tensor, n: torch.Tensor):
    return F.pad(x, (0, n.max()))  # error: CL415
""",
            good="""
import torch
import torch.nn.functional as F

def f(x: torch.Tensor, n: torch.Tensor):
    return F.pad(x, (0, 2))
""",
            inputs="[(torch.randn(3, 4), torch.tensor([1, 2]))]",
            note="`pad` must know the number: it fails under fullgraph as well",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for every size that is a computed tensor."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        for parameter, given in arguments(node, callee, ctx, SIZES):
            fact = passed(given, ctx)
            found = derived_in(fact)
            if found is not None:
                text = f"size `{shown(given)}` is a tensor, which is read into Python"
                modes = BOTH if parameter.tensor == "both" else DEFAULT_ONLY
                sure = certainty(callee)
                yield Sighting(given, text, found, breaks=modes, certainty=sure, local=True)
                continue
            number = read_in(fact) if parameter.number else None
            if number is not None:
                text = f"size `{shown(given)}` comes from a tensor, and must be known here"
                yield Sighting(given, text, number, breaks=(Mode.FULLGRAPH,))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: there is no form of fixed shape."""
        raise Declined("a size must be known: use an upper bound that shapes tell, and mask")
