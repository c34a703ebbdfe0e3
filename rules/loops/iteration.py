"""What the loop rules share: what a loop iterates over, and what its body does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Const,
    Context,
    Fact,
    FromTensor,
    Sequence,
    ShapeInt,
    join_all,
    options,
)
from ..base.reading import module_of, tensor_of

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor)
_WRAPPERS = frozenset({"enumerate", "zip", "reversed", "list", "tuple", "iter"})
JOINING = frozenset(
    {
        "torch.stack",
        "torch.cat",
        "torch.concat",
        "torch.concatenate",
        "torch.hstack",
        "torch.vstack",
        "torch.column_stack",
    }
)


def iterated(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the iterables of a `for` loop or comprehension, as written."""
    if isinstance(node, LOOPS):
        yield node.iter
    elif isinstance(node, COMPREHENSIONS):
        for generator in node.generators:
            yield generator.iter


def sources(iterable: ast.expr, ctx: Context) -> Iterator[tuple[ast.expr, Fact]]:
    """Yield what is really iterated, and its fact, inside enumerate(), zip(), reversed(), list().

    `zip(*pair)` iterates the elements of the pair.
    """
    if isinstance(iterable, ast.Starred):
        held = [o.element() for o in options(ctx.fact(iterable.value)) if isinstance(o, Sequence)]
        yield iterable.value, join_all(held)
        return
    if isinstance(iterable, ast.Call):
        name = ctx.callee(iterable).name
        if name.startswith("builtins.") and name[9:] in _WRAPPERS:
            for arg in iterable.args:
                yield from sources(arg, ctx)
            return
    yield iterable, ctx.fact(iterable)


def is_range(node: ast.expr, ctx: Context) -> bool:
    """Say whether the expression is a call of the builtin range()."""
    return isinstance(node, ast.Call) and ctx.callee(node).name == "builtins.range"


def over_size(node: ast.expr, ctx: Context) -> Fact | None:
    """Return the size that bounds a `range(…)`, None where no tensor size does."""
    if isinstance(node, ast.Call) and is_range(node, ctx):
        for arg in node.args:
            for option in options(ctx.fact(arg)):
                if isinstance(option, ShapeInt):
                    return option
    return None


def fixed_length(fact: Fact) -> bool:
    """Say whether the number of elements is part of the code, as of a list of layers."""
    return module_of(fact) is not None or all(
        isinstance(option, Sequence) and option.items is not None for option in options(fact)
    )


def constant_count(node: ast.expr, ctx: Context) -> int:
    """Return how often a `range(…)` of constants turns, 0 when that isn't known."""
    if not (isinstance(node, ast.Call) and is_range(node, ctx)) or not 0 < len(node.args) <= 3:
        return 0
    bounds: list[int] = []
    for arg in node.args:
        fact = ctx.fact(arg)
        if not (isinstance(fact, Const) and isinstance(fact.value, int)):
            return 0
        bounds.append(fact.value)
    if len(bounds) == 3 and bounds[2] == 0:
        return 0
    return len(range(*bounds))


def computes(loop: ast.For, ctx: Context) -> bool:
    """Say whether its body makes tensors: calls, operators, not only names and indexing."""
    return any(
        isinstance(node, (ast.Call, ast.BinOp)) and tensor_of(ctx.fact(node)) is not None
        for node in ctx.inside(loop)
    )


def carried(loop: ast.For | ast.AsyncFor, ctx: Context) -> str:
    """Return a name that one turn of the loop leaves to the next, "" when there is none."""
    read: dict[str, tuple[int, int]] = {}
    stored: dict[str, tuple[int, int]] = {}
    for node in ctx.inside(loop):
        if isinstance(node, ast.Name):
            kept = read if isinstance(node.ctx, ast.Load) else stored
            place = (node.lineno, node.col_offset)
            kept[node.id] = min(place, kept.get(node.id, place))
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            read[node.target.id] = (0, 0)
    for name, place in sorted(stored.items()):
        start = read.get(name)
        if start is None:
            continue
        if start[0] < place[0] or start <= place or _same(ctx.inside(loop), name):
            return name
    return ""


def _same(nodes: tuple[ast.AST, ...], name: str) -> bool:
    """Whether a statement assigns a name from itself: `h = step(h)`."""
    return any(
        isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
        and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.value))
        for node in nodes
    )


def values_read(fact: Fact) -> FromTensor | None:
    """Return the value that a list read out of a tensor holds, None for anything else."""
    for option in options(fact):
        if isinstance(option, FromTensor) and option.kind == "list":
            return option
        if isinstance(option, Sequence) and option.kind == "list" and option.items is None:
            for held in options(option.elem):
                nested = held.elem if isinstance(held, Sequence) else held
                if isinstance(nested, FromTensor) and nested.how == "item":
                    return nested
    return None
