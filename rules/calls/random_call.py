"""CL305: Python's random numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    DEFAULT_ONLY,
    Code,
    Context,
    Declined,
    Example,
    Fix,
    Mapping,
    Rule,
    Sequence,
    Sighting,
    Tensor,
    options,
)
from .draws import bound_in, drawn_in
from .seen import call_seen, shown, top
from .stdlib import break_id

# Dynamo wraps these: each call draws a new number when the graph runs.
_FUNCTIONS = frozenset({"random.randint", "random.randrange", "random.uniform"})
_METHODS = frozenset({"random", "randint", "randrange", "uniform", "seed", "getstate", "setstate"})
_HOLDERS = ("torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ParameterList")


class RandomCall(Rule):
    """Python's `random` or `secrets` inside compiled code.

    ## What it does
    Flags the functions of `random` that Dynamo can't wrap (`random.random`, `choice`, `shuffle`,
    `sample`, `gauss`, `seed`, …), the same methods of `random.Random` objects, `secrets`, and
    indexing with a number drawn by `random.randint`, which Dynamo does wrap.

    ## Why it matters
    The generator lives in Python: the graph ends at the call, the number is drawn, and the next
    graph gets it as an input. `randint`, `randrange` and `uniform` are drawn anew each time the
    graph runs and can take part in arithmetic, but an index or an `if` needs their value.

    ## Example
    See the bad and good modules below.

    ## Fix
    Draw with torch (`torch.rand(())`, `torch.randint`), which belongs to the graph, and choose with
    `torch.where` or `index_select`; or draw outside and pass the number in.

    ## When it is safe
    When the draw is meant to stay in Python and two graphs are good enough. `random.uniform(0, 1)`
    used in arithmetic is captured and isn't reported.
    """

    code = "CL305"
    name = "random-call"
    summary = "Python's random numbers end the graph"
    nodes = (ast.Call, ast.Subscript)
    callees = ("random", "secrets")
    graph_breaks = ("GB0007", "GB0156", "GB0008", "GB0033", "GB0178")
    examples = (
        Example(
            bad="""
import random
import torch

def f(x):
    if random.random() < 0.5:  # error: CL305
        return x.flip(0)
    return x
""",
            good="""
import torch

def f(x):
    return torch.where(torch.rand(()) < 0.5, x.flip(0), x)
""",
        ),
        Example(
            bad="""
import random
import torch

dice = random.Random(0)

def f(x):
    return x * dice.choice([1.0, 2.0])  # error: CL305
""",
            good="""
import random
import torch

dice = random.Random(0)

def f(x):
    return x * dice.uniform(1.0, 2.0)
""",
        ),
        Example(
            bad="""
import random
import torch

def f(x: torch.Tensor):
    return x[random.randint(0, 2)]  # error: CL305
""",
            good="""
import torch

def f(x):
    return x.index_select(0, torch.randint(0, 3, (1,)))
""",
            note="The draw is captured, using it as an index is not.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a draw that breaks, or an index that was drawn."""
        if isinstance(node, ast.Subscript):
            yield from self._index(node, ctx)
            return
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        id = ""
        if name.startswith("random.Random."):
            id = "" if name.rpartition(".")[2] in _METHODS else "GB0156"
        elif top(name) in ("random", "secrets") and name not in _FUNCTIONS:
            id = break_id(name, ctx.torch)
        if id:
            text = f"`{shown(node)}` draws in Python: the graph ends here"
            yield call_seen(node, callee, text, id)

    def _index(self, node: ast.Subscript, ctx: Context) -> Iterator[Sighting]:
        index = ctx.fact(node.slice)
        drawn = drawn_in(index) or bound_in(index)
        if drawn is None or not isinstance(node.ctx, ast.Load):
            return
        sliced = drawn_in(index) is None
        for held in options(ctx.fact(node.value)):
            holder = isinstance(held, (Tensor, Sequence, Mapping))
            if sliced and isinstance(held, Tensor):
                text = f"`{shown(node)}` has a size drawn at random"
                yield Sighting(node, text, drawn, breaks=DEFAULT_ONLY, graph_breaks=("GB0124",))
                return
            if not sliced and (holder or getattr(held, "cls", None) in _HOLDERS):
                text = f"`{shown(node)}` is indexed with a number drawn at random"
                id = "GB0033" if isinstance(held, Tensor) else "GB0178"
                yield Sighting(node, text, drawn, graph_breaks=(id,))
                return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the draw of torch."""
        from ..rewrites.draws import drawn

        call = sighting.node
        if not isinstance(call, ast.Call):
            raise Declined("Python needs the number that is drawn: index by `index_select`")
        yield from drawn(call, ctx.callee(call).name, ctx, code)
