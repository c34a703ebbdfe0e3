"""CL718: a tensor that reaches a while_loop twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Severity, Sighting, Tensor
from ..base.hops import HOPS
from ..base.reading import place
from .arms import Arm, arms, body_nodes, operator


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
        same = _aliases(ctx)
        for arm in arms(node, ctx):
            for name in _captured(arm):
                if same.get(name, name) in {same.get(other, other) for other in names}:
                    text = f"`{arm.text}` captures `{name}`, which `while_loop` also carries"
                    yield Sighting(node, text)
                    return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the call with a clone of what reaches it twice."""
        from ..rewrites.carried_calls import copies_fix

        assert isinstance(sighting.node, ast.Call)
        given = ctx.argument(sighting.node, 2, "carried_inputs")
        if not isinstance(given, (ast.Tuple, ast.List)):
            raise Declined("the carried values aren't written at the call")
        same = _aliases(ctx)
        captured = {same.get(n, n) for arm in arms(sighting.node, ctx) for n in _captured(arm)}
        shared: list[ast.expr] = []
        seen: set[str] = set()
        for part in given.elts:
            if isinstance(part, ast.Name) and isinstance(ctx.fact(part), Tensor):
                name = same.get(part.id, part.id)
                if name in captured or name in seen:
                    shared.append(part)
                seen.add(name)
        yield copies_fix(shared, code)


def _captured(arm: Arm) -> list[str]:
    """Return the names that a function reads from outside, in source order."""
    own = {*arm.params, *arm.assigned()}
    found = [n for n in body_nodes(arm.node) if isinstance(n, ast.Name) and n.id not in own]
    return [n.id for n in sorted(found, key=place)]


def _aliases(ctx: Context) -> dict[str, str]:
    """Return the names that `name = other` makes another name of a tensor, at their one binding."""
    stores = [
        node
        for node in ctx.inside(ctx.function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    counts = [node.id for node in stores]
    found: dict[str, str] = {}
    for node in stores:
        made = ctx.parent(node)
        if counts.count(node.id) == 1 and isinstance(made, ast.Assign) and node in made.targets:
            if isinstance(made.value, ast.Name) and counts.count(made.value.id) == 0:
                found[node.id] = made.value.id
    return found
