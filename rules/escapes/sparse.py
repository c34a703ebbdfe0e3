"""CL421: making sparse tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Rule, Sighting
from ..base.reading import shown
from ..torch_facts import TorchFacts
from .data import METHOD, certainty, subject

_FUNCTIONS = frozenset(
    f"torch.sparse_{kind}_tensor" for kind in ("coo", "csr", "csc", "bsr", "bsc", "compressed")
)
_METHODS = frozenset({"to_mkldnn", "_to_sparse"})


class SparseTensor(Rule):
    """Making a sparse tensor inside of the compiled region.

    ## What it does
    Flags `torch.sparse_coo_tensor` and its like, and `to_sparse*` and `to_mkldnn` of a tensor.

    ## Why it matters
    How many elements a sparse tensor stores depends on data, and Dynamo doesn't trace tensors of
    such layouts: the graph breaks in every mode, at each operation on them.

    ## Example
    See the bad and good modules below.

    ## Fix
    Stay dense with a mask, or with indices and values as two tensors:
    `out.index_put_((rows, columns), values, accumulate=True)` makes the dense matrix, and
    `torch.zeros(n, d).index_add_(0, rows, values[:, None] * x[columns])` multiplies by it.

    ## When it is safe
    In functions under `torch.compiler.disable`, which are called from compiled code.
    """

    code = "CL421"
    name = "sparse-tensor"
    summary = "making a sparse tensor"
    nodes = (ast.Call,)
    graph_breaks = ("GB0277", "GB0007", "GB0374", "GB0015")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return x.to_sparse()  # error: CL421
""",
            good="""
import torch

def f(x: torch.Tensor):
    return torch.where(x > 0, x, 0.0)
""",
            inputs="[(torch.eye(3),)]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, at: torch.Tensor):
    s = torch.sparse_coo_tensor(at, x, (3, 3))  # error: CL421
    return s
""",
            good="""
import torch

def f(x: torch.Tensor, at: torch.Tensor):
    return torch.zeros(3, 3).index_put((at[0], at[1]), x)
""",
            inputs="[(torch.ones(2), torch.tensor([[0, 1], [1, 0]]))]",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee is a function or method that makes such a tensor."""
        last = name[len(METHOD) :] if name.startswith(METHOD) else ""
        return name in _FUNCTIONS or last in _METHODS or last.startswith("to_sparse")

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call that makes a sparse tensor."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        text = f"`{shown(node)}` makes a tensor of a layout that isn't traced"
        fact = subject(node, callee, ctx)
        yield Sighting(node, text, fact, certainty=certainty(callee))
