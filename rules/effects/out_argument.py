"""CL532: out= of a tensor that is empty, or whose elements don't lie side by side."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Certainty, Context, Example, Rule, Sighting
from ..base.reading import place, shown, tensor_of
from ..base.scopes import assignments, parameters
from ..base.walking import own_nodes as own

_EMPTY = frozenset({"empty", "zeros", "ones", "new_empty", "new_zeros", "new_ones", "rand"})
_MADE = frozenset({"tensor", "Tensor", "FloatTensor", "DoubleTensor", "LongTensor", "new"})


class OutArgument(Rule):
    """`out=` names a tensor that is made empty, or a slice of columns.

    ## What it does
    Flags `torch.add(a, b, out=c)` and others where `c` was made by `torch.empty(0)`, `x.new()`,
    `torch.Tensor()` and the like, or is a part of a tensor beyond its rows: `y[:, 1:]`,
    `y[..., 0]`.

    ## Why it matters
    In the graph `out=` becomes a copy into the tensor, which must have the shape of the result and
    be contiguous. Eager PyTorch resizes an empty one and writes into strides; Dynamo refuses both,
    in every mode.

    ## Example
    See the bad and good modules below.

    ## Fix
    Take the result, the compiler reuses memory itself: `c = a + b`, `y[:, 1:] = a + b`.

    ## When it is safe
    With a contiguous tensor of the result's shape.
    """

    code = "CL532"
    name = "out-argument"
    summary = "`out=` of an empty or a strided tensor"
    nodes = (ast.Call,)
    callees = ("torch.",)
    graph_breaks = ("GB0247", "GB0242")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    first = x.new()
    torch.index_select(x, 0, torch.tensor([0, 1]), out=first)  # error: CL532
    return first * 2
""",
            good="""
import torch

def f(x: torch.Tensor):
    first = torch.index_select(x, 0, torch.tensor([0, 1]))
    return first * 2
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    y = x.clone()
    rest = y[:, 1:]
    torch.maximum(rest, x[:, :-1], out=rest)  # error: CL532
    return y
""",
            good="""
import torch

def f(x: torch.Tensor):
    y = x.clone()
    y[:, 1:] = torch.maximum(y[:, 1:], x[:, :-1])
    return y
""",
            inputs="[(torch.randn(3, 4),)]",
        ),
    )

    def concerns(self, node: ast.AST, torch: object) -> bool:
        """Say whether there is an `out=` at all."""
        assert isinstance(node, ast.Call)
        return any(keyword.arg == "out" for keyword in node.keywords)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when everything that the name is given is empty, or is strided."""
        assert isinstance(node, ast.Call)
        given = next(keyword.value for keyword in node.keywords if keyword.arg == "out")
        made = _made(given, node, ctx)
        if not made:
            return
        if all(_empty(value, ctx) for value in made):
            text = f"`out={shown(given)}` is an empty tensor, which would have to grow"
            yield Sighting(given, text, graph_breaks=("GB0247",))
        elif all(_strided(value, ctx) for value in made):
            text = f"`out={shown(given)}` is a part of a tensor whose elements aren't side by side"
            yield Sighting(given, text, certainty=Certainty.LIKELY, graph_breaks=("GB0242",))


def _made(given: ast.expr, call: ast.Call, ctx: Context) -> list[ast.expr]:
    """Return what a tensor is made by, before the call; nothing where that isn't known."""
    if not isinstance(given, ast.Name):
        return [given]
    before = [a for a in assignments(given.id, ctx.function) if place(a) < place(call)]
    stored = sum(
        isinstance(node, ast.Name)
        and node.id == given.id
        and isinstance(node.ctx, ast.Store)
        and place(node) < place(call)
        for node in own(ctx.function)
    )
    known = stored == len(before) and given.id not in parameters(ctx.function)
    return [found.value for found in before] if known else []


def _empty(value: ast.expr, ctx: Context) -> bool:
    """Say whether a call makes a tensor without elements."""
    if not isinstance(value, ast.Call) or tensor_of(ctx.fact(value)) is None:
        return False
    last = ctx.callee(value).name.rpartition(".")[2]
    first = value.args[0] if value.args else None
    if last in _EMPTY:
        return isinstance(first, ast.Constant) and first.value == 0 and len(value.args) == 1
    nothing = first is None or (isinstance(first, ast.List) and not first.elts)
    return last in _MADE and nothing and not any(k.arg == "data" for k in value.keywords)


def _strided(value: ast.expr, ctx: Context) -> bool:
    """Say whether an expression is `x[:, 1:]`: less than whole rows of more than one row."""
    if not isinstance(value, ast.Subscript) or not isinstance(value.slice, ast.Tuple):
        return False
    if tensor_of(ctx.fact(value.value)) is None:
        return False
    rows = False
    for part in value.slice.elts:
        whole = isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step)
        if whole or (isinstance(part, ast.Constant) and part.value is Ellipsis):
            rows = True
        elif isinstance(part, ast.Slice) or (
            isinstance(part, ast.Constant) and isinstance(part.value, int)
        ):
            return rows
        elif not isinstance(part, ast.Constant):
            return False
    return False
