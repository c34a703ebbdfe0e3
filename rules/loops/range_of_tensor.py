"""CL201: range() of a number that a tensor decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import BOTH, Certainty, Code, Context, Example, Fact, Fix, FromTensor, Rule, Sighting
from ..base.reading import data_in, modes_of, numpy_scalar, shown, tensor_of


class RangeOfTensor(Rule):
    """`range()` whose bounds depend on tensor data.

    ## What it does
    Flags `range(t)`, `range(int(t))`, `range(lengths.max().item())`, `range(len(hits))` where
    `hits` has a data-dependent size, and `range(random.randint(…))`.

    ## Why it matters
    A Python loop is unrolled while it is captured, so the number of turns must be known then. A
    tensor as bound breaks the graph in every mode. A number read out of a tensor is a symbol
    under `fullgraph=True`, and compilation raises when `range` asks for its value.

    ## Example
    See the bad and good modules below.

    ## Fix
    Loop up to the largest possible count and mask: `torch.arange(limit) < n`. Vectorise over the
    counts. Or carry the counter through `torch.while_loop`. If the count comes from the caller,
    pass it as an int: each value is compiled once.

    ## When it is safe
    `range(x.shape[0])`, `range(self.layers)`. A 0-dim integer tensor on the CPU that is itself an
    input is read and specialised under `fullgraph=True`.
    """

    code = "CL201"
    name = "range-of-tensor"
    summary = "range() of a number that a tensor decides"
    nodes = (ast.Call,)
    callees = ("builtins.range",)
    graph_breaks = ("GB0059", "GB4841")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, lengths: torch.Tensor):
    for step in range(lengths.max()):  # error: CL201
        x = x + step
    return x
""",
            good="""
import torch

def f(x: torch.Tensor, lengths: torch.Tensor, limit: int = 4):
    for step in range(limit):
        x = torch.where(step < lengths.max(), x + step, x)
    return x
""",
            inputs="[(torch.randn(3), torch.tensor([1, 3]))]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the first bound that depends on tensor data."""
        assert isinstance(node, ast.Call)
        if ctx.callee(node).name != "builtins.range":
            return
        for arg in node.args:
            known = ctx.fact(arg)
            fact = data_in(known) or numpy_scalar(known)
            if fact is None or not modes_of(fact):
                continue
            modes = modes_of(fact)
            yield Sighting(
                node,
                f"`{shown(node)}`: how often the loop turns {_source(fact)}",
                fact,
                certainty=Certainty.LIKELY if _read_of_input(arg, ctx) else None,
                breaks=modes,
                graph_breaks=None if modes == BOTH else (),
            )
            return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the loop as `torch.while_loop` with the index as a tensor."""
        from ..rewrites.iteration import range_fixes

        assert isinstance(sighting.node, ast.Call)
        yield from range_fixes(sighting.node, ctx, code)


def _source(fact: Fact) -> str:
    how = fact.how if isinstance(fact, FromTensor) else ""
    return {
        "size": "is a size that depends on tensor data",
        "random": "is drawn at random",
    }.get(how, "depends on tensor data")


def _read_of_input(node: ast.expr, ctx: Context) -> bool:
    """`int(n)`, `n.item()` of an input: a 0-dim integer on the CPU would be specialised."""
    if not isinstance(node, ast.Call):
        return False
    inside = node.args[0] if node.args else None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "item":
        inside = node.func.value
    tensor = None if inside is None else tensor_of(ctx.fact(inside))
    return tensor is not None and tensor.role in ("input", "buffer")
