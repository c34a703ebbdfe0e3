"""CL423: as_tensor of a list of tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    Code,
    Context,
    Example,
    Fact,
    Fix,
    Mode,
    Rule,
    Sequence,
    Sighting,
    Tensor,
    options,
)
from ..base.reading import shown
from ..torch_facts import TorchFacts
from .data import read_number

_NAMES = frozenset({"torch.as_tensor", "torch.asarray", "torch.Tensor"})


class TensorOfTensors(Rule):
    """`torch.as_tensor([a, b])` of tensors reads each of them.

    ## What it does
    Flags `torch.as_tensor`, `torch.asarray` and `torch.Tensor` of a list that holds tensors, or
    numbers that were read out of tensors.

    ## Why it matters
    The list is converted element by element into Python numbers, which aren't there while
    capturing: the graph breaks in every mode. `torch.tensor` and `torch.stack` are captured.

    ## Example
    See the bad and good modules below.

    ## Fix
    `torch.stack([a, b])`, which also keeps gradients.

    ## When it is safe
    For lists of Python numbers.
    """

    code = "CL423"
    name = "tensor-of-tensors"
    summary = "`torch.as_tensor` of a list of tensors"
    nodes = (ast.Call,)
    graph_breaks = ("GB4315",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return torch.as_tensor([x.sum(), x.mean()])  # error: CL423
""",
            good="""
import torch

def f(x: torch.Tensor):
    return torch.stack([x.sum(), x.mean()])
""",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee makes a tensor of a list, element by element."""
        return name in _NAMES

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the list holds tensors or numbers read out of them."""
        assert isinstance(node, ast.Call)
        if len(node.args) != 1:
            return
        for option in options(ctx.fact(node.args[0])):
            if isinstance(option, Sequence) and option.kind in ("list", "tuple"):
                for item in option.items if option.items is not None else (option.elem,):
                    found = _data(item)
                    if found is not None:
                        breaks = BOTH if isinstance(found, Tensor) else (Mode.FULLGRAPH,)
                        text = f"`{shown(node)}` reads the tensors in the list into Python"
                        yield Sighting(node, text, found, breaks=breaks)
                        return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield `torch.stack` of the tensors."""
        from ..rewrites.scalars import stacked

        assert isinstance(sighting.node, ast.Call)
        yield from stacked(sighting.node, ctx, code)


def _data(item: Fact) -> Fact | None:
    for option in options(item):
        if isinstance(option, Tensor):
            return option
    return read_number(item)
