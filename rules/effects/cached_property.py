"""CL527: `functools.cached_property`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..base import (
    Certainty,
    Code,
    Context,
    Declined,
    Example,
    Extern,
    Fact,
    Fix,
    Instance,
    Rule,
    Sighting,
    Tensor,
    options,
)
from ..base.reading import shown
from ..torch_facts import TorchFacts


class CachedProperty(Rule):
    """A `functools.cached_property` is computed in code that is captured.

    ## What it does
    Flags reads of attributes that a class of yours defines with `functools.cached_property`.

    ## Why it matters
    The first read runs library code that takes a lock and writes to the object's `__dict__`.
    Dynamo traces into it and stops at the lock. Once the value is there, reads are captured,
    so the first call is what breaks, on every new object.

    ## Example
    A rotary table or a mask that is a cached property of the module.

    ## Fix
    Compute the value in `__init__` (a buffer if it is a tensor), use a plain `property`, or
    `functools.lru_cache` on a function, which Dynamo looks through.

    ## When it is safe
    When the property has been read before the first compiled call.
    """

    code = "CL527"
    name = "cached-property"
    summary = "`functools.cached_property` computed inside the region"
    nodes = (ast.Attribute,)
    triggers = ("cached_property",)
    graph_breaks = ("GB0142",)
    examples = (
        Example(
            bad="""
import functools

import torch
from torch import nn

class f(nn.Module):
    @functools.cached_property
    def table(self):
        return torch.ones(3)

    def forward(self, x):
        return x + self.table  # error: CL527
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    @property
    def table(self):
        return torch.ones(3)

    def forward(self, x):
        return x + self.table
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether the node reads an attribute."""
        assert isinstance(node, ast.Attribute)
        return isinstance(node.ctx, ast.Load)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a read of such an attribute."""
        assert isinstance(node, ast.Attribute)
        base = ctx.fact(node.value)  # that of most attributes, and no object of the project
        return iter(()) if isinstance(base, (Tensor, Extern)) else self._reads(node, base)

    def _reads(self, node: ast.Attribute, base: Fact) -> Iterator[Sighting]:
        for option in options(base):
            if not isinstance(option, Instance) or isinstance(option.cls, str):
                continue
            method = option.cls.methods.get(node.attr)
            if method is not None and any(_cached(d, method.module) for d in method.decorators):
                what = f"`{shown(node)}` is a cached property, which is filled under a lock"
                yield Sighting(node, what, certainty=Certainty.LIKELY)
                return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the property without a cache."""
        from ..rewrites.replacements import uncached

        node = sighting.node
        assert isinstance(node, ast.Attribute)
        for option in options(ctx.fact(node.value)):
            cls = option.cls if isinstance(option, Instance) else None
            method = None if cls is None or isinstance(cls, str) else cls.methods.get(node.attr)
            if method is not None and method.module.path == ctx.path:
                (decorator,) = (d for d in method.decorators if _cached(d, method.module))
                yield from uncached(decorator, node.attr, code)
                return
        raise Declined("the property stands in another module")


def _cached(decorator: ast.expr, module: Any) -> bool:
    if isinstance(decorator, ast.Attribute):
        return ast.unparse(decorator) == "functools.cached_property"
    if not isinstance(decorator, ast.Name) or decorator.id != "cached_property":
        return False
    return getattr(module.bindings.get(decorator.id), "module", "") == "functools"
