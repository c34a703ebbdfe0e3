"""CL422: resize_, set_, and what changes the shape of an input in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Fact, Rule, Sighting, Tensor
from ..base.reading import shown
from .data import METHOD, certainty, held

_NAMES = frozenset({"resize_", "resize_as_", "set_", "sparse_resize_", "sparse_resize_and_clear_"})
# These are captured on tensors that the graph makes.
_ON_INPUTS = frozenset(
    "t_ transpose_ swapaxes_ swapdims_ squeeze_ unsqueeze_ as_strided_ detach_".split()
)
_INPUTS = frozenset({"input", "param", "buffer", "resumed"})


class ResizeInPlace(Rule):
    """`resize_`, `set_`, or `transpose_` of an input, change a tensor's memory or shape in place.

    ## What it does
    Flags `resize_`, `resize_as_` and `set_` of a tensor, and `t_`, `transpose_`, `swapaxes_`,
    `squeeze_`, `unsqueeze_`, `as_strided_` and `detach_` of an argument, parameter or buffer.

    ## Why it matters
    A captured tensor keeps its storage, and an input of the graph its shape: Dynamo refuses to
    trace what changes them, in every mode.

    ## Example
    See the bad and good modules below.

    ## Fix
    Make a new tensor: `x.new_empty(shape)`, `x[:n]`, `torch.nn.functional.pad`, `x.unsqueeze(0)`.
    To give a parameter other contents, `copy_` into it.

    ## When it is safe
    `unsqueeze_` and its like, and `set_()` without arguments, on a tensor that was made inside of
    the compiled region.
    """

    code = "CL422"
    name = "resize-in-place"
    summary = "`resize_` or `set_` on a tensor, or another shape for an input in place"
    nodes = (ast.Call,)
    callees = tuple(METHOD + name for name in sorted(_NAMES | _ON_INPUTS))
    graph_breaks = ("GB0148", "GB0126")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    y = x.clone()
    y.resize_(2, 2)  # error: CL422
    return y + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x.clone().flatten()[:4].view(2, 2) + 1
""",
            inputs="[(torch.randn(3, 4),)]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    x.unsqueeze_(0)  # error: CL422
    return x + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    y = x.clone()
    y.unsqueeze_(0)
    return y + 1
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call on a tensor."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.receiver is None or not callee.name.startswith(METHOD):
            return
        fact = held(callee.receiver) or callee.receiver
        last = callee.name[len(METHOD) :]
        if last == "set_" and not node.args and not node.keywords and not _input(fact):
            return  # gives the memory of a tensor of the graph away, which is captured
        if last in _NAMES:
            text = f"`{shown(node)}` changes a tensor's memory, which isn't traced"
            yield Sighting(node, text, fact, certainty=certainty(callee))
        elif last in _ON_INPUTS and _input(fact):
            text = f"`{shown(node)}` changes an input of the graph, which isn't traced"
            yield Sighting(node, text, fact, certainty=certainty(callee), graph_breaks=("GB0148",))


def _input(fact: Fact) -> bool:
    return isinstance(fact, Tensor) and fact.role in _INPUTS
