"""CL522: attributes written on functions and namespaces."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Code,
    Context,
    Declined,
    Example,
    Fact,
    Fix,
    Function,
    Instance,
    Rule,
    Sighting,
    options,
)
from ..base.reading import shown
from ..base.scopes import outlives
from ..torch_facts import TorchFacts


class FunctionAttribute(Rule):
    """An attribute is set on a function, or on a `types.SimpleNamespace`.

    ## What it does
    Flags `helper.calls = 1`, `helper.calls += 1`, `setattr(helper, ...)` on functions of a
    module, and `ns.x = ...` on `SimpleNamespace` objects that were there before.

    ## Why it matters
    Dynamo records attribute writes on ordinary objects and modules, and replays them after the
    graph. Functions and namespaces are not among those, so the graph ends at the write.

    ## Example
    A call counter, or a "warned once" flag, kept on the function.

    ## Fix
    Keep state on an `nn.Module`, as a buffer, or in an object of a class of your own; a
    `nonlocal` or `global` tensor works as well.

    ## When it is safe
    On functions defined inside the region.
    """

    code = "CL522"
    name = "function-attribute-write"
    summary = "Attribute written on a function or namespace"
    nodes = (ast.Assign, ast.AugAssign, ast.Call)
    callees = ("builtins.setattr",)
    graph_breaks = ("GB0467", "GB0156")
    examples = (
        Example(
            bad="""
import torch

def scale(v):
    return v * 2

def f(x):
    scale.used = True  # error: CL522
    return scale(x)
""",
            good="""
import torch

class State:
    used = False

state = State()

def scale(v):
    return v * 2

def f(x):
    state.used = True
    return scale(x)
""",
        ),
        Example(
            bad="""
from types import SimpleNamespace

import torch

settings = SimpleNamespace(depth=1)

def f(x):
    settings.depth = 2  # error: CL522
    return torch.relu(x)
""",
            good="""
from types import SimpleNamespace

import torch

settings = SimpleNamespace(depth=1)

def f(x):
    return torch.relu(x) * settings.depth
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether an attribute is written, or a function is called."""
        if isinstance(node, ast.Call):
            return True
        return any(isinstance(target, ast.Attribute) for target in _targets(node))

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for each such write."""
        if isinstance(node, ast.Call):
            owner = node.args[0] if node.args else None
            if ctx.callee(node).name == "builtins.setattr" and owner is not None:
                yield from _write(node, owner, ctx)
            return
        for target in _targets(node):
            if isinstance(target, ast.Attribute):
                yield from _write(target, target.value, ctx)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: who reads the attribute isn't known."""
        raise Declined("keep the state in an object of a class of your own")


def _targets(node: ast.AST) -> list[ast.expr]:
    assert isinstance(node, (ast.Assign, ast.AugAssign))
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _write(place: ast.AST, owner: ast.expr, ctx: Context) -> Iterator[Sighting]:
    if not isinstance(owner, (ast.Name, ast.Attribute)):
        return
    for option in options(ctx.fact(owner)):
        id_ = _refused(option)
        if id_ and outlives(owner, ctx):
            kind = "function" if id_ == "GB0467" else "namespace"
            what = f"`{shown(place)}` is written on a {kind}, which Dynamo doesn't record"
            yield Sighting(place, what, option, graph_breaks=(id_,))
            return


def _refused(fact: Fact) -> str:
    if isinstance(fact, Function):
        return "GB0467"
    named = isinstance(fact, Instance) and fact.cls == "types.SimpleNamespace"
    return "GB0156" if named else ""
