"""CL403: `.tolist()` of a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import BOTH, DEFAULT_ONLY, Code, Context, Example, Fix, Rule, Sighting, Tensor, Unknown
from ..base.reading import shown
from .data import ARRAY_METHOD, METHOD, certainty, held


class TensorTolist(Rule):
    """`.tolist()` reads a whole tensor into Python.

    ## What it does
    Flags `.tolist()` on a tensor or a traced NumPy array.

    ## Why it matters
    Every element is read to the host, and the graph ends. Lists of ints are captured as symbols
    under `fullgraph=True`; floats and bools aren't, and break there as well. Looping over the list
    makes one copy of the loop's body per element.

    ## Example
    See the bad and good modules below.

    ## Fix
    Iterate over the tensor itself (`for row in t` is captured), use tensor operations
    (`index_select`, `torch.cat`, masks), or read the list before the compiled function and pass
    it in.

    ## When it is safe
    For integer tensors under `fullgraph=True`, when the numbers only make sizes and slices.
    """

    code = "CL403"
    name = "tensor-tolist"
    summary = "`.tolist()` of a tensor"
    nodes = (ast.Call,)
    callees = (METHOD + "tolist", ARRAY_METHOD + "tolist")
    graph_breaks = ("GB0033", "GB0109")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, lengths: torch.Tensor):
    first = torch.split(x, lengths.tolist())[0]  # error: CL403
    return first.sum(0)
""",
            good="""
import torch

def f(x: torch.Tensor, lengths: torch.Tensor):
    inside = torch.arange(x.shape[0]) < lengths[0]
    return (x * inside[:, None]).sum(0)
""",
            inputs="[(torch.randn(3, 4), torch.tensor([2, 1]))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    first = x.float().tolist()[0]  # error: CL403
    return x + first
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x + x[0]
""",
            note="lists of floats break under fullgraph as well",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the receiver holds tensor data."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.name not in (METHOD + "tolist", ARRAY_METHOD + "tolist"):
            return
        fact = held(callee.receiver or Unknown())
        if fact is None or (isinstance(fact, Tensor) and fact.rank == 0 and fact.role):
            return  # of an input that is one int, Dynamo makes a symbol
        both = fact.dtype in ("float", "bool", "complex") and (
            fact.rank != 0 or not isinstance(fact, Tensor)
        )
        yield Sighting(
            node,
            f"`{shown(node)}` reads a whole tensor into a Python list",
            fact,
            certainty=certainty(callee),
            breaks=BOTH if both else DEFAULT_ONLY,
        )

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the tensor itself, where it can take the list's place."""
        from ..rewrites.scalars import list_kept
        from ..rewrites.segments import segments

        assert isinstance(sighting.node, ast.Call)
        fixes = [*segments(sighting.node, ctx, code)]
        yield from fixes or list_kept(sighting.node, ctx, code)
