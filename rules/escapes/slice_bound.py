"""CL414: a tensor as the bound of a slice."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    DEFAULT_ONLY,
    Array,
    Code,
    Context,
    Declined,
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
from ..base.reading import made_at, shown
from ..torch_facts import TorchFacts
from .data import derived, held, read_number
from .masks import parts


class SliceBound(Rule):
    """`x[:n]` where `n` is a tensor reads `n`.

    ## What it does
    Flags slices whose start, stop or step is a tensor, of tensors as well as of Python lists, in
    reads, assignments and `del`. A NumPy scalar that the function computes is a tensor as well.

    ## Why it matters
    A slice needs a Python int, so the tensor is read as by `.item()`: the graph ends, and what
    comes out has a size that depends on data. A Python list can't be cut at a number that only
    the data knows, so there `fullgraph=True` fails as well.

    ## Example
    See the bad and good modules below.

    ## Fix
    Keep the shape and mask: `torch.where(torch.arange(x.shape[0]) < n, x, 0)`. If `n` is known
    before the call, pass it as an int.

    ## When it is safe
    For slices of tensors under `fullgraph=True`, or with
    `torch._dynamo.config.capture_scalar_outputs = True`.
    """

    code = "CL414"
    name = "tensor-slice-bound"
    summary = "a slice bound that is a tensor"
    nodes = (ast.Subscript, ast.Call)
    callees = ("builtins.slice",)
    breaks = DEFAULT_ONLY
    graph_breaks = ("GB0124",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, starts: torch.Tensor):
    part = slice(starts[0], starts[1])  # error: CL414
    return x[part] * 2
""",
            good="""
import torch

def f(x: torch.Tensor, starts: torch.Tensor):
    places = torch.arange(x.shape[0])
    return torch.where((places >= starts[0]) & (places < starts[1]), x, 0) * 2
""",
            inputs="[(torch.randn(4), torch.tensor([1, 3]))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, lengths: torch.Tensor):
    return x[: lengths.max()].sum()  # error: CL414
""",
            good="""
import torch

def f(x: torch.Tensor, lengths: torch.Tensor):
    inside = torch.arange(x.shape[0]) < lengths.max()
    return torch.where(inside, x, 0.0).sum()
""",
            inputs="[(torch.randn(4), torch.tensor([2, 3]))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, n: torch.Tensor):
    parts = [x, x + 1, x + 2]
    return torch.stack(parts[: n.sum()])  # error: CL414
""",
            good="""
import torch

def f(x: torch.Tensor, n: torch.Tensor):
    parts = torch.stack([x, x + 1, x + 2])
    return parts * (torch.arange(3) < n.sum())[:, None]
""",
            inputs="[(torch.randn(4), torch.tensor([1, 1]))]",
            note="a slice of a Python list fails under fullgraph as well",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether there is a slice with bounds."""
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id == "slice"
        return isinstance(node, ast.Subscript) and any(
            isinstance(part, ast.Slice) for part in parts(node.slice)
        )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for every slice bound that holds tensor data."""
        if isinstance(node, ast.Call):
            if ctx.callee(node).name == "builtins.slice":
                for bound in node.args:
                    if all(
                        isinstance(option, (Tensor, Array)) for option in options(ctx.fact(bound))
                    ):
                        yield from self._bound(bound, ctx, False)
            return
        assert isinstance(node, ast.Subscript)
        base = ctx.fact(node.value)
        python = any(isinstance(option, Sequence) for option in options(base))
        if not python and held(base) is None:
            return
        for part in parts(node.slice):
            if isinstance(part, ast.Slice):
                for bound in (part.lower, part.upper, part.step):
                    if bound is not None:
                        yield from self._bound(bound, ctx, python)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield a gather of fixed length, or a mask."""
        from ..rewrites.sizes import bounded

        assert isinstance(sighting.node, ast.expr)
        if isinstance(ctx.parent(sighting.node), ast.Call):
            raise Declined("what the slice is taken of isn't here")
        yield from bounded(sighting.node, ctx, code)

    def _bound(self, bound: ast.expr, ctx: Context, python: bool) -> Iterator[Sighting]:
        fact: Fact = ctx.fact(bound)
        found = held(fact) or derived(fact)
        if isinstance(fact, Array) and fact.constant and not python and made_at(fact, ctx):
            text = f"slice bound `{shown(bound)}` is a NumPy scalar, which is traced as a tensor"
            yield Sighting(bound, text, fact, breaks=BOTH, graph_breaks=("GB0208",), local=True)
            return
        if found is None:
            number = read_number(fact)
            if python and number is not None:
                text = f"slice bound `{shown(bound)}` of a list must be known while capturing"
                yield Sighting(bound, text, number, breaks=(Mode.FULLGRAPH,))
            return
        both = python and not (isinstance(found, Tensor) and found.role)
        text = f"slice bound `{shown(bound)}` is a tensor, which is read into Python"
        yield Sighting(bound, text, found, breaks=BOTH if both else DEFAULT_ONLY)
