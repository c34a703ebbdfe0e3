"""CL426: tensors and numbers read out of them as list indices and dict keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    DEFAULT_ONLY,
    Code,
    Const,
    Context,
    Example,
    Fact,
    Fix,
    Mapping,
    Mode,
    Rule,
    Sequence,
    ShapeInt,
    Sighting,
    Static,
    Tensor,
    options,
)
from ..base.reading import module_of, shown
from ..torch_facts import TorchFacts
from .data import derived, held, read_in, read_number

_FULLGRAPH = (Mode.FULLGRAPH,)


class PythonIndex(Rule):
    """A list index or dict key that a tensor decides.

    ## What it does
    Flags `layers[i]` where `i` is a tensor, or a number read out of one with `.item()`, and
    `layers` a list, tuple, dict or `nn.ModuleList`.

    ## Why it matters
    Which Python object is meant has to be known while capturing. A tensor as an index is read
    first, which ends the graph by default; a number that was read out ends it under
    `fullgraph=True`, since its symbol has no value.

    ## Example
    See the bad and good modules below.

    ## Fix
    Stack the candidates and select with the tensor: `torch.stack(values)[i[None]]`. For layers,
    run all and choose with `torch.where`, or `torch.cond` between two. A number that is known
    before the call can be passed in as a Python int.

    ## When it is safe
    When a recompilation for every value is fine: pass the number in as a Python int.
    """

    code = "CL426"
    name = "python-index"
    summary = "a list index or dict key that a tensor decides"
    nodes = (ast.Subscript,)
    graph_breaks = ("GB0124",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, which: torch.Tensor):
    scales = [1.0, 2.0, 4.0]
    return x * scales[which.argmax()]  # error: CL426
""",
            good="""
import torch

def f(x: torch.Tensor, which: torch.Tensor):
    scales = torch.tensor([1.0, 2.0, 4.0])
    return x * scales[which.argmax()[None]]
""",
            inputs="[(torch.randn(3), torch.tensor([0, 1, 0]))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, which: torch.Tensor):
    scales = {0: 1.0, 1: 2.0}
    return x * scales[which.max().item()]  # error: CL401, CL426
""",
            good="""
import torch

def f(x: torch.Tensor, which: torch.Tensor):
    scales = torch.tensor([1.0, 2.0])
    return x * scales[which].max()
""",
            inputs="[(torch.randn(3), torch.tensor([0, 1]))]",
            note="a number that was read out has no value under fullgraph",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether one thing is asked for."""
        return isinstance(node, ast.Subscript) and not isinstance(
            node.slice, (ast.Slice, ast.Tuple)
        )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a Python container is asked for what a tensor decides."""
        assert isinstance(node, ast.Subscript)
        index = ctx.fact(node.slice)
        plain = isinstance(index, (Const, ShapeInt, Static))  # most of them
        return iter(()) if plain else self._subscript(node, index, ctx)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the list stacked, and gathered from."""
        from ..rewrites.gathering import picked

        assert isinstance(sighting.node, ast.expr)
        yield from picked(sighting.node, ctx, code)

    def _subscript(self, node: ast.Subscript, index: Fact, ctx: Context) -> Iterator[Sighting]:
        base = ctx.fact(node.value)
        kinds = options(base)
        layers = module_of(base) is not None
        # of what may be a tensor as well, a tensor picks rows
        listed = any(isinstance(o, Sequence) for o in kinds) and held(base) is None
        found = held(index) or derived(index)
        if found is not None and (layers or listed):
            known = isinstance(found, Tensor) and found.role and not layers
            text = f"index `{shown(node.slice)}` is a tensor, and must be known while capturing"
            yield Sighting(node.slice, text, found, breaks=DEFAULT_ONLY if known else BOTH)
            return
        if held(base) is not None and all(isinstance(o, Sequence) for o in options(index)):
            number = read_in(index)
            if number is not None:
                yield self._unknown(node.slice, number, "the list of indices")
            return
        number = read_number(index)
        if number is not None and (layers or listed or any(isinstance(o, Mapping) for o in kinds)):
            yield self._unknown(node.slice, number, "the index")

    def _unknown(self, node: ast.expr, number: Fact, what: str) -> Sighting:
        text = f"{what} `{shown(node)}` comes from a tensor, and must be known while capturing"
        return Sighting(node, text, number, breaks=_FULLGRAPH)
