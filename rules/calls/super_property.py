"""CL331: properties of the class above, read through `super()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Certainty, Context, Example, Rule, Sighting
from ..base.reading import place, shown
from ..torch_facts import TorchFacts


class SuperProperty(Rule):
    """`super().prop` gives Dynamo the property, not its value.

    ## What it does
    Flags a property that is read through `super()` and then used: its methods, arithmetic,
    comparisons, items, as an argument of torch; calls of what hangs on a method,
    `super().method.__wrapped__(…)`; and methods of `object` and `type` that are called through
    it: `super().__eq__(other)`, `super().__call__(…)` of a metaclass, and of a tensor subclass
    `super().__getitem__(…)` and `super().__setitem__(…)`.

    ## Why it matters
    Dynamo (2.13) looks the attribute up on the class above and doesn't run the property. What is
    done with it raises while capturing, or isn't known: the graph ends, often at the caller, too.

    ## Example
    See the bad and good modules below.

    ## Fix
    Put what the property computes into a method, and call that: `super().compute_mean()`. Or name
    the property: `Base.mean.fget(self)`.

    ## When it is safe
    Methods in Python called through `super()` are traced; attributes that aren't properties, too.
    """

    code = "CL331"
    name = "super-property"
    summary = "a property read through super()"
    nodes = (ast.Attribute,)
    graph_breaks = ("GB0156", "GB0088", "GB0055", "GB4841", "GB6215", "GB0006")
    examples = (
        Example(
            bad="""
import torch

class Base:
    def __init__(self, x):
        self.x = x

    @property
    def mean(self):
        return self.x * 2

class Shifted(Base):
    @property
    def mean(self):
        return super().mean + 1  # error: CL331

def f(x):
    return Shifted(x).mean
""",
            good="""
import torch

class Base:
    def __init__(self, x):
        self.x = x

    def compute_mean(self):
        return self.x * 2

class Shifted(Base):
    @property
    def mean(self):
        return super().compute_mean() + 1

def f(x):
    return Shifted(x).mean
""",
        ),
        Example(
            bad="""
import torch
from torch.distributions import Normal

class Narrow(Normal):
    def spread(self):
        variance = super().variance
        return variance.sum()  # error: CL331

def f(x):
    return Narrow(x, 1.0).spread()
""",
            good="""
import torch
from torch.distributions import Normal

class Narrow(Normal):
    def spread(self):
        variance = self.variance
        return variance.sum()

def f(x):
    return Narrow(x, 1.0).spread()
""",
        ),
        Example(
            bad="""
import torch

class Named:
    def __eq__(self, other):
        return super().__eq__(other)  # error: CL331

def f(x: torch.Tensor):
    return x + 1 if Named().__eq__(x) is True else x
""",
            good="""
import torch

class Named:
    def __eq__(self, other):
        return self is other

def f(x: torch.Tensor):
    return x + 1 if Named().__eq__(x) is True else x
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether an attribute of `super()` is read."""
        held = node.value if isinstance(node, ast.Attribute) else None
        return (
            isinstance(held, ast.Call)
            and isinstance(held.func, ast.Name)
            and held.func.id == "super"
        )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting where a property of the class above is used."""
        assert isinstance(node, ast.Attribute)
        kind = ctx.above(node)
        if kind == "property":
            bound = _bound(node, ctx)
            used = node if _used(node, ctx) else _first_use(bound, node, ctx) if bound else None
            if used is not None:
                text = f"`{shown(node)}` is a property, which Dynamo doesn't run through `super()`"
                certainty = Certainty.LIKELY if bound else None
                yield Sighting(used, text, certainty=certainty)
        elif kind == "slot" and isinstance(ctx.parent(node), ast.Call):
            # objects are made without their metaclass where Dynamo sees them made
            if node.attr != "__call__" or ctx.entry:
                text = f"`{shown(node)}` is a method of Python's in C, which Dynamo doesn't call"
                certainty = Certainty.LIKELY if node.attr == "__call__" else None
                yield Sighting(node, text, certainty=certainty, graph_breaks=("GB0006",))
        elif kind == "method" and _method_called(ctx.parent(node), ctx):
            text = f"what hangs on `{shown(node)}` isn't known to Dynamo"
            yield Sighting(node, text, graph_breaks=("GB0156",))


def _used(node: ast.AST, ctx: Context) -> bool:
    """Say whether something is done with a value, other than to hand it on."""
    parent = ctx.parent(node)
    if isinstance(parent, ast.Attribute):
        return _method_called(parent, ctx) or isinstance(
            ctx.parent(parent), (ast.Subscript, ast.BinOp, ast.Compare)
        )
    if isinstance(parent, (ast.Subscript, ast.For)):
        return node in (getattr(parent, "value", None), getattr(parent, "iter", None))
    if isinstance(parent, ast.Call):
        return ctx.callee(parent).name.startswith("torch.") and node in parent.args
    return isinstance(parent, (ast.BinOp, ast.Compare))


def _method_called(node: ast.AST | None, ctx: Context) -> bool:
    parent = ctx.parent(node) if isinstance(node, ast.Attribute) else None
    return isinstance(parent, ast.Call) and parent.func is node


def _bound(node: ast.AST, ctx: Context) -> str:
    """Return the name that is bound to a value, "" where it isn't bound to one."""
    parent = ctx.parent(node)
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else ""


def _first_use(name: str, node: ast.Attribute, ctx: Context) -> ast.AST | None:
    loads = [
        part
        for part in ctx.inside(ctx.function)
        if isinstance(part, ast.Name)
        and part.id == name
        and isinstance(part.ctx, ast.Load)
        and part.lineno > node.lineno
        and ctx.reached(part)
    ]
    first = min(loads, key=place, default=None)
    return first if first is not None and _used(first, ctx) else None
