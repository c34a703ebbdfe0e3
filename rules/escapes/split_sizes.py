"""CL416: split, tensor_split and chunk at places that a tensor gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    DEFAULT_ONLY,
    Code,
    Context,
    Declined,
    Example,
    Fix,
    Mode,
    Sequence,
    Sighting,
    options,
)
from ..base.reading import shown
from .data import (
    OperationRule,
    certainty,
    derived,
    derived_in,
    held,
    is_method,
    operator_call,
    read_number,
)

_NAMES = frozenset({"split", "tensor_split", "chunk", "split_with_sizes", "hsplit", "vsplit"})
_KEYWORDS = {
    "split": "split_size_or_sections",
    "split_with_sizes": "split_sizes",
    "chunk": "chunks",
}


class SplitSizes(OperationRule):
    """Splitting a tensor where another tensor says.

    ## What it does
    Flags `torch.tensor_split(x, t)`, `x.split([t[0], t[1]])`, `x.split(t.max())` and
    `x.chunk(t.max())` with tensors as places, sizes or numbers of parts.

    ## Why it matters
    The places are read into Python, which ends the graph. How many parts there are must be known
    while capturing, so one size or a number of chunks fails under `fullgraph=True` as well.

    ## Example
    See the bad and good modules below.

    ## Fix
    Keep one tensor and mark which part a row belongs to:
    `torch.bucketize(torch.arange(n), ends, right=True)`, then `scatter_add` or a block mask. Sizes
    that are known before the call can be passed in as Python ints.

    ## When it is safe
    Lists of sizes under `fullgraph=True`.
    """

    code = "CL416"
    name = "tensor-split-sizes"
    summary = "`split`, `tensor_split` or `chunk` where a tensor says"
    nodes = (ast.Call,)
    operations = _NAMES
    graph_breaks = ("GB0033",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, places: torch.Tensor):
    head = torch.tensor_split(x, places)[0]  # error: CL416
    return head.sum(0)
""",
            good="""
import torch

def f(x: torch.Tensor, places: torch.Tensor):
    inside = torch.arange(x.shape[0]) < places[0]
    return (x * inside[:, None]).sum(0)
""",
            inputs="[(torch.randn(3, 4), torch.tensor([1, 2]))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, n: torch.Tensor):
    return x.chunk(n.max())[0]  # error: CL416
""",
            good="""
import torch

def f(x: torch.Tensor, n: torch.Tensor):
    return x.chunk(2)[0]
""",
            inputs="[(torch.randn(4, 4), torch.tensor([1, 2]))]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the places hold tensor data."""
        assert isinstance(node, ast.Call)
        found = operator_call(node, ctx, self.operations)
        if found is None:
            return
        callee, _ = found
        last = callee.name.rpartition(".")[2]
        position = 0 if is_method(callee) else 1
        places = ctx.argument(node, position, _KEYWORDS.get(last, "indices_or_sections"))
        if places is None:
            return
        fact = ctx.fact(places)
        listed = any(isinstance(option, Sequence) for option in options(fact))
        data = held(fact) if last == "tensor_split" else derived(fact)
        data = data or (derived_in(fact) if listed else None)
        if data is not None:
            text = f"`{shown(node)}` splits where a tensor says, which is read into Python"
            both = not listed and last != "tensor_split"
            modes = BOTH if both else DEFAULT_ONLY
            sure, local = certainty(callee), last != "tensor_split"
            yield Sighting(node, text, data, breaks=modes, certainty=sure, local=local)
            return
        number = None if listed else read_number(fact)
        if number is not None:
            text = f"the number of parts of `{shown(node)}` must be known while capturing"
            yield Sighting(node, text, number, breaks=(Mode.FULLGRAPH,))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: there is no form of fixed shape."""
        raise Declined("how long the parts are isn't known: mask, or pass the sizes in")
