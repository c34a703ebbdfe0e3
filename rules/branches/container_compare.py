"""CL115: lists, tuples or dicts that hold tensors are compared."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    NONE,
    Const,
    Context,
    Example,
    Fact,
    Mapping,
    Rule,
    Sequence,
    Sighting,
    Unknown,
    options,
)
from ..base.reading import shown
from ..torch_facts import TorchFacts
from .holding import tensor_inside

# Containers that Python compares element by element, and what each compares with.
_KINDS = {"list": "list", "tuple": "tuple", "size": "tuple"}
ORDER = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


class ContainerCompare(Rule):
    """Two containers that hold tensors are compared.

    ## What it does
    Flags `==`, `!=`, `<` … between lists or tuples where a tensor meets another value, and `==`
    between dicts that hold tensors.

    ## Why it matters
    Python compares the elements one after the other and tests each answer. With tensors inside
    that is a branch on their values, which breaks the graph (and raises in eager code as soon as
    a tensor has more than one element).

    ## Example
    See the bad and good modules below.

    ## Fix
    Compare what you mean: lengths, shapes, or identities (`a is b`). For values stack both sides
    and use `torch.eq(…).all()`.

    ## When it is safe
    Shapes, sizes and containers of Python values; containers whose lengths differ.
    """

    code = "CL115"
    name = "tensor-container-compare"
    summary = "containers of tensors are compared"
    nodes = (ast.Compare,)
    graph_breaks = ("GB6622", "GB0170")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    same = [x.sum(), 1] == [y.sum(), 1]  # error: CL115
    return x + same
""",
            good="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    same = x.sum() == y.sum()
    return x + same + (tuple(x.shape) == (3,)) + ([x] == [])
""",
            inputs="[(torch.randn(3), torch.randn(3))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, length: torch.Tensor):
    assert x.shape == (2, length)  # error: CL115
    return x * 2
""",
            good="""
import torch

def f(x: torch.Tensor, length: torch.Tensor):
    assert x.shape == (2, 3)
    return x * 2 + length
""",
            inputs="[(torch.randn(2, 3), torch.tensor(3))]",
            note="a size is compared as a tuple is",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether something is compared by value."""
        return isinstance(node, ast.Compare) and any(isinstance(op, ORDER) for op in node.ops)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when an element that is compared is a tensor."""
        assert isinstance(node, ast.Compare)
        sides = [node.left, *node.comparators]
        for op, left, right in zip(node.ops, sides, sides[1:]):
            if isinstance(op, ORDER):
                found = _meeting(ctx.fact(left), ctx.fact(right))
                if found is not None:
                    text = f"`{shown(node)}` compares the tensors inside, one by one"
                    yield Sighting(node, text, found)
                    return


def _meeting(left: Fact, right: Fact) -> Fact | None:
    """Return a tensor that is compared with an element at the same place of the other side."""
    for a in options(left):
        for b in options(right):
            if isinstance(a, Sequence) and isinstance(b, Sequence):
                found = _sequences(a, b)
            elif isinstance(a, Mapping) and isinstance(b, Mapping):
                found = tensor_inside(a) and tensor_inside(b)
            else:
                found = None
            if found is not None:
                return found
    return None


def _sequences(a: Sequence, b: Sequence) -> Fact | None:
    if a.kind not in _KINDS or _KINDS[a.kind] != _KINDS.get(b.kind):
        return None
    if a.items is not None and b.items is not None:
        if len(a.items) != len(b.items):
            return None
        pairs = list(zip(a.items, b.items))
    else:
        pairs = [(a.element(), b.element())]
    for one, other in pairs:
        if isinstance(one, Unknown) or isinstance(other, Unknown) or NONE in (one, other):
            continue
        if isinstance(one, Const) and isinstance(other, Const) and one != other:
            return None  # decided before a tensor is reached
        found = tensor_inside(one) or tensor_inside(other)
        if found is not None and one is not other:
            return found
    return None
