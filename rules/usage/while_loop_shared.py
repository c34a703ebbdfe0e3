"""CL718: a tensor that reaches a while_loop twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Rule, Severity, Sighting, Tensor
from ..base.hops import HOPS
from .arms import arms, body_nodes, operator


class WhileLoopShared(Rule):
    """One tensor is carried by `while_loop` twice, or carried and captured by its functions.

    ## What it does
    Flags `while_loop` calls that carry the same variable twice, or whose functions close over a
    variable that is also carried.

    ## Why it matters
    Dynamo captures it, and backend="eager" runs it. AOTAutograd then finds two inputs of the loop
    that share memory and raises, so it fails under the default backend, and late.

    ## Example
    `while_loop(more, lambda i, y: (i + 1, y + x), (i, x))`: `y` starts as the captured `x`.

    ## Fix
    Carry a copy: `(i, x.clone())`.

    ## When it is safe
    With backends that don't go through AOTAutograd.
    """

    code = "CL718"
    name = "while-loop-shared-input"
    summary = "tensor that is carried by while_loop twice, or also captured"
    nodes = (ast.Call,)
    callees = HOPS
    breaks = ()
    severity = Severity.WARNING
    examples = (
        Example(
            bad="""
import torch

def f(x):
    def body(i, y):
        return i + 1, y + x

    start = torch.tensor(0)
    return torch.while_loop(lambda i, y: i < 3, body, (start, x))[1]  # error: CL718

def witness():
    try:
        torch.compile(f, backend="aot_eager")(torch.ones(3))
    except Exception:
        return True
    return False
""",
            good="""
import torch

def f(x):
    def body(i, y):
        return i + 1, y + x

    start = torch.tensor(0)
    return torch.while_loop(lambda i, y: i < 3, body, (start, x.clone()))[1]

def witness():
    try:
        torch.compile(f, backend="aot_eager")(torch.ones(3))
    except Exception:
        return True
    return False
""",
            truth="witness",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the first tensor that reaches the loop twice."""
        assert isinstance(node, ast.Call)
        given = ctx.argument(node, 2, "carried_inputs")
        if operator(node, ctx) != "while_loop" or not isinstance(given, (ast.Tuple, ast.List)):
            return
        names = [
            part.id
            for part in given.elts
            if isinstance(part, ast.Name) and isinstance(ctx.fact(part), Tensor)
        ]
        for name in names:
            if names.count(name) > 1:
                yield Sighting(node, f"`while_loop` carries `{name}` twice")
                return
        for arm in arms(node, ctx):
            own = {*arm.params, *arm.assigned()}
            for part in body_nodes(arm.node):
                if isinstance(part, ast.Name) and part.id in names and part.id not in own:
                    text = f"`{arm.text}` captures `{part.id}`, which `while_loop` also carries"
                    yield Sighting(node, text)
                    return
