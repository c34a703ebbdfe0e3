"""CL510: the handle of a tensor hook is used inside the region."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from ..base.reading import shown
from ..base.scopes import dotted, own


class TensorHookHandle(Rule):
    """The handle that `tensor.register_hook(...)` returns is removed, returned or stored.

    ## What it does
    Flags `handle.remove()`, `return handle` and `self.handle = y.register_hook(...)` in the
    function that registered the hook.

    ## Why it matters
    A hook on an intermediate becomes part of the backward graph. Its handle isn't an object of
    the compiled program: Dynamo can neither rebuild it for the outside nor take the hook out
    again.

    ## Example
    A hook that is meant to run once and is removed a few lines later.

    ## Fix
    Leave the hook in place and ignore the handle, or do what the hook does as an operation in the
    forward pass (a small `torch.autograd.Function`).

    ## When it is safe
    `y.register_hook(fn)` as a statement of its own is captured, and not reported.
    """

    code = "CL510"
    name = "tensor-hook-handle"
    summary = "Handle of a tensor hook used inside the region"
    nodes = (ast.Call,)
    callees = ("torch.Tensor.register_hook",)
    graph_breaks = ("GB0092",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    y = x * 2
    handle = y.register_hook(lambda g: g * 2)
    handle.remove()  # error: CL510
    return y + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    y = x * 2
    y.register_hook(lambda g: g * 2)
    return y + 1
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    y = x * 2
    handle = y.register_hook(lambda g: g.clamp(-1, 1))
    return y + 1, handle  # error: CL510
""",
            good="""
import torch

def f(x: torch.Tensor):
    y = x * 2
    y.register_hook(lambda g: g.clamp(-1, 1))
    return y + 1
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting where the handle of this registration is used."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.name != "torch.Tensor.register_hook":
            return
        parent = ctx.parent(node)
        if isinstance(parent, ast.Return):
            yield Sighting(node, f"the handle of `{shown(node)}` leaves the region")
        if not isinstance(parent, ast.Assign):
            return
        target = parent.targets[0]
        if isinstance(target, ast.Attribute):
            yield Sighting(node, f"the handle of `{shown(node)}` is stored on an object")
        elif isinstance(target, ast.Name):
            yield from _uses(target.id, ctx)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the function without a hook that never runs."""
        from ..rewrites.autograd import unhooked

        yield from unhooked(sighting.node, ctx, code)


def _uses(name: str, ctx: Context) -> Iterator[Sighting]:
    for node in own(ctx.function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "remove" and dotted(node.func.value) == name:
                yield Sighting(node, f"`{shown(node)}` takes a hook out of a graph being captured")
        elif isinstance(node, ast.Return) and node.value is not None:
            items = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for item in items:
                if dotted(item) == name:
                    yield Sighting(item, f"hook handle `{name}` leaves the region")
