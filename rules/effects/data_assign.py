"""CL524: `.data` of a computed tensor is replaced."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from ..base.reading import shown, tensor_of
from ..base.scopes import dotted, own
from ..torch_facts import TorchFacts


class DataAssign(Rule):
    """`y.data = …` on a tensor that the region computed.

    ## What it does
    Flags assignments to `.data` of computed tensors.

    ## Why it matters
    The assignment makes one tensor object point to another's memory behind autograd's back. For
    inputs and parameters Dynamo can model that as `set_`; for an intermediate it refuses, and the
    graph ends.

    ## Example
    Replacing the values of a result "without touching the gradient".

    ## Fix
    Write `y = y + (new - y).detach()` to change the value and keep the gradient, or `y.copy_(new)`
    under `no_grad`. A plain `y = new` is often what was meant.

    ## When it is safe
    `p.data = …` and `p.data.mul_(…)` on parameters and inputs are captured, and not reported.
    """

    code = "CL524"
    name = "data-assign"
    summary = "`.data` of a computed tensor replaced"
    nodes = (ast.Assign, ast.AugAssign)
    graph_breaks = ("GB0056",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    y = x + 1
    y.data *= 2  # error: CL524
    return y
""",
            good="""
import torch

def f(x: torch.Tensor):
    y = x + 1
    y *= 2
    return y
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    y = torch.relu(x)
    y.data = x.sign()  # error: CL524
    return y
""",
            good="""
import torch

def f(x: torch.Tensor):
    y = torch.relu(x)
    return y + (x.sign() - y).detach()
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether an attribute `data` is written."""
        return any(getattr(target, "attr", "") == "data" for target in _targets(node))

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for each target that is `.data` of an intermediate."""
        for target in _targets(node):
            if not isinstance(target, ast.Attribute) or target.attr != "data":
                continue
            tensor = tensor_of(ctx.fact(target.value))
            if tensor is not None and not tensor.role and _computed(target.value, ctx):
                what = f"`{shown(target)}` of a tensor in the graph is replaced"
                yield Sighting(target, what, tensor)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield ways to change the value that autograd knows of."""
        from ..rewrites.autograd import valued

        stmt, target = ctx.statement(sighting.node), sighting.node
        if not isinstance(stmt, ast.Assign):
            raise Declined("work with the tensor itself: `y *= 2` is captured")
        assert isinstance(target, ast.Attribute)
        yield from valued(stmt, target, code)


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.AugAssign):
        return [node.target]
    return node.targets if isinstance(node, ast.Assign) else []


def _computed(node: ast.expr, ctx: Context) -> bool:
    """Say whether every value that the function gives the name is a result of torch."""
    values = [
        part.value
        for part in own(ctx.function)
        if isinstance(part, ast.Assign) and any(dotted(t) == dotted(node) for t in part.targets)
    ]
    return bool(values) and all(
        isinstance(v, ast.BinOp)
        or (isinstance(v, ast.Call) and ctx.callee(v).name.startswith("torch."))
        for v in values
    )
