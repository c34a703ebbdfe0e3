"""CL305: Python's random numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..base import (
    BOTH,
    DEFAULT_ONLY,
    Code,
    Const,
    Context,
    Declined,
    Example,
    Fact,
    Fix,
    FromTensor,
    Mapping,
    Rule,
    Sequence,
    Sighting,
    Tensor,
    Union,
    options,
)
from .draws import bound_in, drawn_in, drawn_with_numbers, number_drawn
from .seen import call_seen, shown, top
from .stdlib import break_id

# Dynamo wraps these: each call draws a new number when the graph runs.
_FUNCTIONS = frozenset({"random.randint", "random.randrange", "random.uniform"})
_METHODS = frozenset({"random", "randint", "randrange", "uniform", "seed", "getstate", "setstate"})
_DRAWN = frozenset({FromTensor, Union})  # of what facts of drawn numbers are
# What makes another number of one that was drawn, and the modes in which that breaks.
_CONVERSIONS = {
    "builtins.int": DEFAULT_ONLY,
    "builtins.float": DEFAULT_ONLY,
    "builtins.round": BOTH,
}
_HOLDERS = ("torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ParameterList")


class RandomCall(Rule):
    """Python's `random` or `secrets` inside compiled code.

    ## What it does
    Flags the functions of `random` that Dynamo can't wrap (`random.random`, `choice`, `shuffle`,
    `sample`, `gauss`, `seed`, …), the same methods of `random.Random` objects, `secrets`, and
    what numbers drawn by `random.randint` and `uniform`, which Dynamo does wrap, can't take part
    in: indexing, arithmetic with other numbers, `int`, `float` and `round`.

    ## Why it matters
    The generator lives in Python: the graph ends at the call, the number is drawn, and the next
    graph gets it as an input. `randint`, `randrange` and `uniform` are drawn anew each time the
    graph runs and can take part in arithmetic with tensors, but an index or an `if` needs their
    value, and arithmetic with Python's numbers ends the graph: `3 * random.uniform(0, 1)`.

    ## Example
    See the bad and good modules below.

    ## Fix
    Draw with torch (`torch.rand(())`, `torch.randint`), which belongs to the graph, and choose with
    `torch.where` or `index_select`; or draw outside and pass the number in.

    ## When it is safe
    When the draw is meant to stay in Python and two graphs are good enough. `random.uniform(0, 1)`
    times a tensor is captured and isn't reported.
    """

    code = "CL305"
    name = "random-call"
    summary = "Python's random numbers end the graph"
    nodes = (ast.Call, ast.Subscript, ast.BinOp)
    callees = ("random", "secrets", *_CONVERSIONS)
    graph_breaks = ("GB0007", "GB0156", "GB0008", "GB0033", "GB0178", "GB0213")
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
        Example(
            bad="""
import random
import torch

def f(x: torch.Tensor):
    return x * (1 + random.uniform(-0.1, 0.1))  # error: CL305
""",
            good="""
import random
import torch

def f(x: torch.Tensor):
    return x * random.uniform(0.9, 1.1)
""",
            note="Bounds may do the arithmetic.",
        ),
        Example(
            bad="""
import random
import torch

def f(x: torch.Tensor):
    n = round(random.uniform(0.5, 5.0))  # error: CL305
    return x * n
""",
            good="""
import random
import torch

def f(x: torch.Tensor):
    return x * random.randint(1, 5)
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterable[Sighting]:
        """Yield a sighting for a draw that breaks, or an index that was drawn."""
        if isinstance(node, ast.Subscript):
            return () if isinstance(ctx.fact(node.slice), Const) else self._index(node, ctx)
        if isinstance(node, ast.BinOp):
            left, right = ctx.fact(node.left), ctx.fact(node.right)
            known = _DRAWN.isdisjoint((type(left), type(right)))  # most of them
            return () if known else self._mixed(node, left, right)
        assert isinstance(node, ast.Call)
        return self._call(node, ctx)

    def _mixed(self, node: ast.BinOp, left: Fact, right: Fact) -> Iterator[Sighting]:
        drawn = drawn_with_numbers(left, right)
        if drawn is not None:
            text = f"`{shown(node)}` mixes a number drawn at random with Python's"
            yield Sighting(node, text, drawn, graph_breaks=("GB0213",))

    def _call(self, node: ast.Call, ctx: Context) -> Iterator[Sighting]:
        callee = ctx.callee(node)
        name = callee.name
        id = ""
        if name in _CONVERSIONS:
            drawn = number_drawn(ctx.fact(node.args[0])) if node.args else None
            if drawn is not None:
                text = f"`{shown(node)}` asks for a number that is drawn at random"
                modes = _CONVERSIONS[name]
                yield Sighting(node, text, drawn, breaks=modes, graph_breaks=("GB0178",))
            return
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
        if isinstance(call, ast.Subscript):
            raise Declined("Python needs the number that is drawn: index by `index_select`")
        if not isinstance(call, ast.Call) or ctx.callee(call).name in _CONVERSIONS:
            raise Declined("let the bounds of the draw do the arithmetic")
        yield from drawn(call, ctx.callee(call).name, ctx, code)
