"""CL112: `in`, list.index and list.remove with tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    Array,
    Certainty,
    Code,
    Context,
    Declined,
    Example,
    Fact,
    Fix,
    FromTensor,
    Rule,
    Sequence,
    Sighting,
    Tensor,
)
from ..base.reading import data_in, modes_of, shown
from ..torch_facts import TorchFacts
from .conditions import is_membership, is_tested


class TensorMembership(Rule):
    """A search that compares tensor values one by one.

    ## What it does
    Flags `value in tensor`, `tensor in [1, 2]` where the answer is tested or negated, and
    `list.index` and `list.remove` over tensors.

    ## Why it matters
    The search stops at the first element that equals, which asks for the values.

    ## Example
    See the bad and good modules below.

    ## Fix
    `(x == value).any()` or `torch.isin(x, values)`. To find a tensor *object* in a list compare
    identities: `any(t is x for t in items)`.

    ## When it is safe
    `name in names`, keys of a dict, and the very tensor object at the head of a list.
    """

    code = "CL112"
    name = "tensor-membership"
    summary = "`in`, index or remove compares tensor values"
    nodes = (ast.Compare, ast.Call)
    callees = ("list.index", "tuple.index", "list.remove")
    graph_breaks = ("GB0170", "GB0124", "GB0033")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    if 2 in x:  # error: CL112
        return x + 1
    return x
""",
            good="""
import torch

def f(x, names=("a", "b")):
    if "a" in names:
        return torch.where((x == 2).any(), x + 1, x)
    return x
""",
            inputs="[(torch.tensor([2, 0, 1]),)]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, step: torch.Tensor):
    if step not in (1, 3):  # error: CL112
        return x + 1
    return x
""",
            good="""
import torch

def f(x: torch.Tensor, step: torch.Tensor):
    return torch.where(torch.isin(step, torch.tensor([1, 3])), x, x + 1)
""",
            inputs="[(torch.randn(3), torch.tensor(3)), (torch.randn(3), torch.tensor(2))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return x + [x.sum(), x.max()].index(x.max())  # error: CL112
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x + (torch.stack([x.sum(), x.max()]) == x.max()).int().argmax()
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether it is a call, or a comparison by `in`."""
        return isinstance(node, ast.Call) or (
            isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn))
        )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the search asks for tensor data."""
        assert isinstance(node, (ast.Compare, ast.Call))
        return _contains(node, ctx) if isinstance(node, ast.Compare) else _search(node, ctx)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the search as a tensor comparison, unless a test around it is rewritten whole."""
        from ..rewrites.branches import branch_fixes
        from ..rewrites.choices import tested_fixes

        if not isinstance(sighting.node, ast.Compare):
            raise Declined("the position in a Python list, or the error without one, is lost")
        stmt = ctx.statement(sighting.node)
        if isinstance(stmt, ast.If) and sighting.node in ast.walk(stmt.test):
            return branch_fixes(stmt, ctx, code)
        if is_tested(sighting.node, ctx):
            raise Declined("what tests it comes first")
        return tested_fixes(sighting.node, "compare as tensors", ctx, code)


def _contains(node: ast.Compare, ctx: Context) -> Iterator[Sighting]:
    op, right = node.ops[0], node.comparators[0]
    negated = isinstance(op, ast.NotIn)
    if is_membership(node, ctx):
        held = data_in(ctx.fact(right))
        fact = held if isinstance(held, (Tensor, Array)) else data_in(ctx.fact(node.left))
        if fact is held or negated or is_tested(node, ctx):
            yield _seen(node, fact, f"`{shown(node)}` compares tensor values")
    elif negated and len(node.ops) == 1 and isinstance(ctx.fact(right), Sequence):
        fact = data_in(ctx.fact(node.left))
        if isinstance(fact, FromTensor) and modes_of(fact):
            yield _seen(node, fact, f"`{shown(node)}` compares a value read from a tensor")


def _search(node: ast.Call, ctx: Context) -> Iterator[Sighting]:
    callee = ctx.callee(node)
    searches = callee.name in ("list.index", "tuple.index", "list.remove") and node.args
    if not searches or not isinstance(callee.receiver, Sequence):
        return
    items = callee.receiver.items
    if items and items[0] is ctx.fact(node.args[0]):
        return  # the very object at the head of the list: found by identity
    wanted = data_in(ctx.fact(node.args[0]))
    held = data_in(callee.receiver.element())
    fact = next((f for f in (held, wanted) if isinstance(f, (Tensor, Array))), held or wanted)
    if fact is not None and modes_of(fact):
        word = callee.name.rpartition(".")[2]
        yield _seen(node, fact, f"`{word}` compares tensor values with `{shown(node.args[0], 40)}`")


def _seen(node: ast.expr, fact: Fact | None, message: str) -> Sighting:
    modes = BOTH if fact is None else modes_of(fact)
    return Sighting(
        node,
        message,
        fact,  # a list may hold the very object at its head
        certainty=None if isinstance(node, ast.Compare) else Certainty.LIKELY,
        breaks=modes,
        graph_breaks=None if modes == BOTH else (),
    )
