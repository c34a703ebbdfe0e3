"""CL431: sparse tensors and arrays of objects, where a graph gets them as inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..base import (
    DEFAULT_ONLY,
    Array,
    Context,
    Example,
    Fact,
    Mapping,
    Rule,
    Sequence,
    Sighting,
    Tensor,
    Union,
    options,
)
from ..base.reading import place, shown

_HOLDERS = frozenset({Tensor, Array, Union})  # facts that may be, or stand for, such a value
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class OpaqueValue(Rule):
    """A sparse tensor, or an array of Python's objects, is an input of the next graph.

    ## What it does
    Flags the first statement that uses such a value after the one that made it, or the first use
    of a parameter that callers pass one for. A statement that makes another counts as a use.

    ## Why it matters
    Making the value broke the graph. The next graph would have it as an input, and Dynamo has no
    inputs of that kind: the graph breaks again, and the rest of the function runs eagerly.

    ## Example
    See the bad and good modules below.

    ## Fix
    Keep dense tensors, or indices and values, in compiled code; pad rows of different length into
    one array. Or make and use the value in one function under `torch.compiler.disable`.

    ## When it is safe
    Where everything after it runs eagerly anyway.
    """

    code = "CL431"
    name = "opaque-value"
    summary = "a sparse tensor or an array of objects as input of a graph"
    nodes = (ast.Assign, *_FUNCTIONS)
    breaks = DEFAULT_ONLY
    graph_breaks = ("GB0015", "GB0185")
    examples = (
        Example(
            bad="""
import torch

def diagonal(x: torch.Tensor):
    at = torch.arange(3).expand(2, 3)
    return torch.sparse_coo_tensor(at, x, (3, 3))  # error: CL421

def f(x: torch.Tensor):
    matrix = diagonal(x)
    return torch.arange(matrix.shape[0]) + x  # error: CL431
""",
            good="""
import torch

def diagonal(x: torch.Tensor):
    return torch.diag(x)

def f(x: torch.Tensor):
    matrix = diagonal(x)
    return torch.arange(matrix.shape[0]) + x
""",
        ),
        Example(
            bad="""
import numpy as np
import torch

def rows(x: torch.Tensor):
    a = x.numpy()
    return np.array([a, a[:2]], dtype=object)  # error: CL307

def f(x: torch.Tensor):
    total = x.sum()
    parts = rows(x)
    for part in parts:  # error: CL431
        total = total + len(part)
    return total
""",
            good="""
import numpy as np
import torch

def rows(x: torch.Tensor):
    a = x.numpy()
    return [a, a[:2]]

def f(x: torch.Tensor):
    total = x.sum()
    parts = rows(x)
    for part in parts:
        total = total + len(part)
    return total
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: object) -> bool:
        """Say whether something is bound to what a call gives, or a function starts."""
        return not isinstance(node, ast.Assign) or isinstance(node.value, ast.Call)

    def check(self, node: ast.AST, ctx: Context) -> Iterable[Sighting]:
        """Yield a sighting for the first use of a value that a new graph can't get."""
        if isinstance(node, ast.Assign):
            given = ctx.fact(node.value)
            if not _may_hold(given):
                return ()
            return self._used(_bound(node.targets[0], given), node.end_lineno or node.lineno, ctx)
        if node is not ctx.function:
            return ()
        return self._used(map(_opaque, filter(_may_hold, ctx.given.values())), 0, ctx)

    def _used(self, made: Iterator[Fact | None], after: int, ctx: Context) -> Iterator[Sighting]:
        fact = next(filter(None, made), None)
        if fact is None:
            return
        uses = [part for part in ctx.inside(ctx.function) if _uses(part, after, ctx)]
        first = min(uses, key=place, default=None)
        if first is not None:
            kind = "a sparse tensor" if isinstance(fact, Tensor) else "an array of objects"
            text = f"`{shown(first, 40)}`: {kind} can't be an input of the next graph"
            yield Sighting(first, text, fact, graph_breaks=_id(fact))


def _may_hold(fact: Fact) -> bool:
    """Say at little cost whether a value may be opaque, or have a part that is."""
    if type(fact) is Sequence:
        parts = (fact.elem, *fact.head) if fact.items is None else fact.items
        return any(map(_may_hold, parts))
    return type(fact) in _HOLDERS and getattr(fact, "role", "sparse") == "sparse"


def _opaque(fact: Fact) -> Fact | None:
    """Return the alternative of a fact that no graph takes as an input, None without one.

    A value that may as well be a container isn't asked for as a whole.
    """
    if any(isinstance(option, (Sequence, Mapping)) for option in options(fact)):
        return None
    for option in options(fact):
        if isinstance(option, Tensor) and option.role == "sparse":
            return option
        if isinstance(option, Array) and option.dtype == "object":
            return option
    return None


def _bound(target: ast.expr, fact: Fact) -> Iterator[Fact | None]:
    """Yield the opaque values that an assignment binds to names."""
    if isinstance(target, ast.Name):
        yield _opaque(fact)
    parts = target.elts if isinstance(target, ast.Tuple) else []
    for option in options(fact) if parts else ():
        if isinstance(option, Sequence):
            known = option.head if option.items is None else option.items
            for i, part in enumerate(parts):
                yield from _bound(part, known[i] if i < len(known) else option.elem)


def _uses(node: ast.AST, after: int, ctx: Context) -> bool:
    """Say whether a node reads such a value, or makes another, in a later line."""
    if not isinstance(node, (ast.Name, ast.Call)) or node.lineno <= after:
        return False
    if isinstance(node, ast.Name):
        # handed on as it is, or put into a list: nothing asks for the value
        parent = ctx.parent(node)
        listed = isinstance(parent, (ast.List, ast.Tuple)) and not isinstance(
            ctx.parent(parent), ast.Return
        )
        if isinstance(node.ctx, ast.Store) or listed or isinstance(parent, ast.Return):
            return False
    return ctx.reached(node) and _opaque(ctx.fact(node)) is not None


def _id(fact: Fact) -> tuple[str, ...]:
    return ("GB0015",) if isinstance(fact, Tensor) else ("GB0185",)
