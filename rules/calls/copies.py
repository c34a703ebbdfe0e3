"""CL313: copy and deepcopy of what holds tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting, options
from .copied import copied, deep_copied
from .seen import call_seen, shown


class Copies(Rule):
    """`copy.copy` or `copy.deepcopy` of a tensor, a module or a container, inside compiled code.

    ## What it does
    Flags `copy.deepcopy` of tensors, of modules, and of lists, dicts and objects that hold
    tensors; and `copy.copy` of tensors, modules, lists, dicts and sets.

    ## Why it matters
    Copying a tensor goes through `Tensor.__deepcopy__`, which handles raw storage and can't be
    traced; a module would give new parameters, which a graph can't create. `copy.copy` of a list or
    dict calls a C method that Dynamo skips.

    ## Example
    See the bad and good modules below.

    ## Fix
    `x.clone()` for tensors, `list(v)`, `dict(v)` or `v.copy()` for containers; copy modules before
    the compiled function runs.

    ## When it is safe
    `copy.deepcopy` of numbers, strings, containers of them and configuration objects is captured,
    and isn't reported.
    """

    code = "CL313"
    name = "copy-call"
    summary = "copy or deepcopy of tensors and modules"
    nodes = (ast.Call,)
    callees = ("copy.copy", "copy.deepcopy")
    graph_breaks = ("GB4198", "GB0208", "GB0007", "GB0008", "GB4315", "GB0156")
    examples = (
        Example(
            bad="""
import copy
import torch

def f(x):
    kept = copy.deepcopy(x)  # error: CL313
    return x.relu() + kept
""",
            good="""
import torch

def f(x):
    kept = x.clone()
    return x.relu() + kept
""",
        ),
        Example(
            bad="""
import copy
import torch
from torch import nn

layer = nn.Linear(3, 3)

def f(x):
    return copy.deepcopy(layer)(x)  # error: CL313
""",
            good="""
import copy
import torch
from torch import nn

layer = copy.deepcopy(nn.Linear(3, 3))

def f(x):
    return layer(x)
""",
        ),
        Example(
            bad="""
import copy
import torch

def f(x):
    options = copy.copy({"scale": 2})  # error: CL313
    return x * options["scale"]
""",
            good="""
import copy
import torch

def f(x):
    options = copy.deepcopy({"scale": 2})
    return x * options["scale"]
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a copy that breaks."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        source = ctx.argument(node, 0, "x")
        if callee.name not in ("copy.copy", "copy.deepcopy") or source is None:
            return
        deep = callee.name == "copy.deepcopy"
        for option in options(ctx.fact(source)):
            id, what = deep_copied(option) if deep else copied(option)
            if id:
                text = f"`{shown(node)}` of `{shown(source)}`, {what}, can't be traced"
                yield call_seen(node, callee, text, id, fact=option)
                return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the copy that torch, or the container itself, makes."""
        from ..rewrites.replacements import copied as copied_by

        assert isinstance(sighting.node, ast.Call)
        source = ctx.argument(sighting.node, 0, "x")
        if source is not None:
            yield from copied_by(sighting.node, source, ctx, code)
