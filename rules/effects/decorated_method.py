"""CL531: methods under a grad mode, called on objects that the region makes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from ..base import Callee, Context, Example, Instance, Rule, Sighting
from ..base.reading import made_at, shown
from ..base.scopes import dotted

_MODES = frozenset({"no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "autocast"})


class DecoratedMethod(Rule):
    """A method under `@torch.no_grad()` is called on an object that the region makes.

    ## What it does
    Flags calls of methods that `torch.no_grad`, `enable_grad`, `inference_mode`,
    `set_grad_enabled` or `autocast` decorates, on an object that is made in captured code.

    ## Why it matters
    The decorated method is a function of torch around yours. Dynamo knows it where it comes from
    an object of the outside, and not where it sees the object made: the graph ends at the call.

    ## Example
    See the bad and good modules below.

    ## Fix
    Write `with torch.no_grad():` inside the method, or make the object outside.

    ## When it is safe
    Decorated functions, class methods, and methods of modules and objects made before.
    """

    code = "CL531"
    name = "decorated-method"
    summary = "a method under @torch.no_grad() of an object made inside"
    nodes = (ast.Call,)
    graph_breaks = ("GB0116",)
    examples = (
        Example(
            bad="""
import torch

class Sampler:
    def __init__(self, x):
        self.x = x

    @torch.no_grad()
    def draw(self):
        return self.x + torch.randn(3)

def f(x):
    return Sampler(x).draw()  # error: CL531
""",
            good="""
import torch

class Sampler:
    def __init__(self, x):
        self.x = x

    def draw(self):
        with torch.no_grad():
            return self.x + torch.randn(3)

def f(x):
    return Sampler(x).draw()
""",
        ),
    )

    def answers(self, name: str, torch: object) -> bool:
        """Say whether the callee may be one of the project's."""
        return name == ""

    def check(self, node: ast.AST, ctx: Context) -> Iterable[Sighting]:
        """Yield a sighting for a decorated method of an object made inside."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.project is None or not callee.project.decorators:
            return ()
        return self._decorated(node, callee, ctx)

    def _decorated(self, node: ast.Call, callee: Callee, ctx: Context) -> Iterator[Sighting]:
        this = callee.receiver
        if not isinstance(this, Instance) or not _decorated(callee.project):
            return
        # of objects that came from elsewhere nothing says if the region made them
        if made_at(this, ctx) and not isinstance(this.cls, str):
            text = f"`{shown(node.func)}` is decorated by a grad mode, and its object made inside"
            yield Sighting(node, text, this, local=True)


def _decorated(method: Any) -> bool:
    for deco in method.decorators:
        name = dotted(deco.func if isinstance(deco, ast.Call) else deco)
        if name.rpartition(".")[2] in _MODES and name.startswith("torch."):
            return True
    return False
