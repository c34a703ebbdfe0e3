"""CL515: `with` on a context manager object that was made outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..base import Code, Context, Example, Fact, Fix, Instance, Rule, Sequence, Sighting, options
from ..base.reading import shown
from ..base.scopes import bound, outlives, parameters, root

# Objects of these classes are entered by Dynamo only where it sees them made.
_MADE_INSIDE = frozenset(
    {
        "torch.no_grad",
        "torch.enable_grad",
        "torch.inference_mode",
        "torch.set_grad_enabled",
    }
)


class ContextObject(Rule):
    """A `with` statement enters an object that was there before the call.

    ## What it does
    Flags `with self.ctx:`, `with GUARD:` where the object is a global, an attribute of a module or
    an argument, and its class is one of yours or a grad mode of torch.

    ## Why it matters
    Dynamo enters a context manager that it sees being made. One that exists already is an opaque
    object, whose `__enter__` may have effects on the world outside, so the graph ends here, and the
    whole function runs eagerly.

    ## Example
    A timer that is made in `__init__` and entered in `forward`.

    ## Fix
    Make the object in the `with` statement (`with torch.no_grad():`, `with Guard(self):`), or
    enter it around the compiled call.

    ## When it is safe
    Objects of `nullcontext` and `torch.autocast` are entered wherever they were made.
    """

    code = "CL515"
    name = "context-object"
    summary = "`with` on a context manager made outside the region"
    nodes = (ast.With,)
    graph_breaks = ("GB0142",)
    examples = (
        Example(
            bad="""
import torch
from torch import nn

class Scope:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.scope = Scope()

    def forward(self, x):
        with self.scope:  # error: CL515
            return x + 1
""",
            good="""
import torch
from torch import nn

class Scope:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

class f(nn.Module):
    def forward(self, x):
        with Scope():
            return x + 1
""",
        ),
        Example(
            bad="""
import torch

frozen = torch.no_grad()

def f(x):
    with frozen:  # error: CL515
        return torch.relu(x)
""",
            good="""
import torch

def f(x):
    with torch.no_grad():
        return torch.relu(x)
""",
        ),
        Example(
            bad="""
import torch

class Scope:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

def f(scope: Scope, x):
    with scope:  # error: CL515
        return x + 1
""",
            good="""
import torch

class Scope:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

def f(name: str, x):
    with Scope():
        return x + 1
""",
            inputs="[(Scope() if 'scope' in f.__code__.co_varnames else '', torch.randn(3))]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for each item that is an object from outside."""
        assert isinstance(node, ast.With)
        for item in node.items:
            expr = item.context_expr
            if not isinstance(expr, (ast.Name, ast.Attribute)):
                continue
            for option in options(ctx.fact(expr)):
                if _opaque(option) and (outlives(expr, ctx) or _given(expr, ctx)):
                    what = f"`{shown(expr)}` was made outside the region, so Dynamo can't enter it"
                    yield Sighting(expr, what, option)
                    break

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the grad mode made where it is entered."""
        from ..rewrites.managers import made_inside

        assert isinstance(sighting.node, ast.expr)
        yield from made_inside(sighting.node, ctx, code)


def _given(expr: ast.expr, ctx: Context) -> bool:
    """Say whether an object came in with the arguments of the compiled function, `self` as well."""
    name = root(expr)
    return ctx.entry and name in parameters(ctx.function) and name not in bound(ctx.function)


def _opaque(fact: Fact) -> bool:
    if isinstance(fact, Sequence):
        return fact.kind == "generator"  # what a @contextmanager function returned
    if not isinstance(fact, Instance):
        return False
    return fact.cls in _MADE_INSIDE if isinstance(fact.cls, str) else _enters(fact.cls)


def _enters(cls: Any) -> bool:
    return "__enter__" in cls.methods and "__exit__" in cls.methods
