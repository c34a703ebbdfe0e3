"""CL418: other operators whose result only the data decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import BOTH, DEFAULT_ONLY, Context, Example, Rule, Sighting
from ..base.reading import shown
from ..torch_facts import TorchFacts
from .data import certainty, subject

_TAGS = frozenset({"data_dependent_output", "dynamic_output_shape"})
# Operators that rules of their own speak of.
_OWNED = frozenset(
    {
        "item",
        "tolist",
        "nonzero",
        "argwhere",
        "where",
        "masked_select",
        "unique",
        "unique_consecutive",
        "bincount",
        "repeat_interleave",
        "equal",
        "allclose",
        "is_nonzero",
        "one_hot",
        "narrow",
        "__getitem__",
        "index",
    }
)
# Captured by no mode, though torch's tables would let fullgraph make a symbol of the size.
_ALWAYS = frozenset({"combinations", "ctc_loss", "CTCLoss"})
# Operators of another package, which torch's tables don't know.
_ELSEWHERE = frozenset(
    {"torch.ops.torchvision.nms"}
    | {
        f"torchvision.ops.{name}"
        for name in ("nms", "batched_nms", "boxes.nms", "boxes.batched_nms")
    }
)


class DataOperator(Rule):
    """An operator whose size or value depends on data: `cov`, `lstsq`, `combinations`, …

    ## What it does
    Flags every operator that torch itself tags as data-dependent (`data_dependent_output`,
    `dynamic_output_shape`) and that has no rule of its own: `torch.cov`, `torch.corrcoef`,
    `torch.linalg.lstsq`, `torch.combinations`; and torchvision's `nms`, which keeps as many boxes
    as the data says.

    ## Why it matters
    Shapes can't be followed through them while capturing: the graph breaks. Those named here
    break under `fullgraph=True` as well.

    ## Example
    See the bad and good modules below.

    ## Fix
    Use an operator of fixed shape: for `cov`, centre and multiply; for `lstsq`,
    `torch.linalg.pinv` or `solve` of the normal equations; for `combinations`, indices from
    `torch.triu_indices`. Others can be wrapped as a `torch.library.custom_op`.

    ## When it is safe
    Outside of the compiled region.
    """

    code = "CL418"
    name = "data-dependent-operator"
    summary = "an operator that torch tags as data-dependent"
    nodes = (ast.Call,)
    graph_breaks = ("GB0036", "GB0033")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return torch.cov(x)  # error: CL418
""",
            good="""
import torch

def f(x: torch.Tensor):
    centred = x - x.mean(dim=1, keepdim=True)
    return centred @ centred.T / (x.shape[1] - 1)
""",
            inputs="[(torch.randn(3, 4),)]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return torch.combinations(x).prod(dim=1)  # error: CL418
""",
            good="""
import torch

def f(x: torch.Tensor):
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1)
    return x[first] * x[second]
""",
            inputs="[(torch.randn(3),)]",
        ),
        Example(
            bad="""
import torch
from torch import nn

loss = nn.CTCLoss()

def f(x: torch.Tensor, targets: torch.Tensor, lengths: torch.Tensor, sizes: torch.Tensor):
    return loss(x.log_softmax(2), targets, lengths, sizes)  # error: CL418
""",
            good="""
import torch
from torch import nn

loss = nn.NLLLoss()

def f(x: torch.Tensor, targets: torch.Tensor, lengths: torch.Tensor, sizes: torch.Tensor):
    return loss(x.log_softmax(2).flatten(0, 1), targets.flatten())
""",
            inputs="[(torch.randn(2, 1, 6), torch.tensor([[1, 2]]), "
            "torch.tensor([2]), torch.tensor([1]))]",
            note="compute the loss outside of the region: no kernel tells the shape",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee is tagged, and no other rule's."""
        if name in _ELSEWHERE or name == "torch.nn.CTCLoss":
            return True
        last = name.rpartition(".")[2]
        if not name.startswith("torch.") or last in _OWNED or last.startswith("__"):
            return False
        return bool(_TAGS & torch.tags(name))

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call of a tagged operator."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        last = name.rpartition(".")[2]
        always = last in _ALWAYS or ctx.torch.dynamo(name) == "break"
        yield Sighting(
            node,
            f"`{shown(node)}`: what `{last}` gives depends on data",
            subject(node, callee, ctx),
            certainty=certainty(callee),
            breaks=BOTH if always else DEFAULT_ONLY,
        )
