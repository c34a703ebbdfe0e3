"""CL324: progress bars."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Instance, Rule, Sighting, options
from .seen import call_seen, shown, top

_NAMES = {"rich.progress.track": "GB0156", "rich.progress.Progress": "GB0156"}


class ProgressBar(Rule):
    """A progress bar inside compiled code.

    ## What it does
    Flags `tqdm(...)`, `trange(...)`, loops over a bar that was made before, methods of bars, and
    `rich.progress.track`.

    ## Why it matters
    tqdm is on Dynamo's list of packages that are never traced. Since a bar goes around a loop, the
    whole function falls back to eager, even with `disable=True`.

    ## Example
    See the bad and good modules below.

    ## Fix
    Compile the body of the loop as a function of its own and keep the bar outside, or iterate
    without a bar when `torch.compiler.is_compiling()`.

    ## When it is safe
    Around calls of compiled functions, in code that isn't compiled itself.
    """

    code = "CL324"
    name = "progress-bar"
    summary = "a progress bar ends the graph"
    nodes = (ast.Call, ast.For)
    callees = ("tqdm", *_NAMES)
    graph_breaks = ("GB0007", "GB0008", "GB0156")
    examples = (
        Example(
            bad="""
import torch
from tqdm import tqdm

def f(x):
    for step in tqdm(range(3)):  # error: CL324
        x = x + step
    return x
""",
            good="""
import torch

def f(x):
    for step in range(3):
        x = x + step
    return x
""",
            requires=("tqdm",),
        ),
        Example(
            bad="""
import torch
from tqdm import tqdm

def f(x):
    bar = tqdm(range(3))  # error: CL324
    for step in bar:  # error: CL324
        x = torch.relu(x) + step
    return x
""",
            good="""
import torch

def f(x):
    for step in range(3):
        x = torch.relu(x) + step
    return x
""",
            requires=("tqdm",),
            note="Making the bar ends the graph, and so does each loop over it.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a progress bar, or a loop over one."""
        if isinstance(node, ast.For):
            if isinstance(node.iter, (ast.Name, ast.Attribute)):
                for option in options(ctx.fact(node.iter)):
                    if isinstance(option, Instance) and str(option.cls).startswith("tqdm."):
                        text = f"the loop over `{shown(node.iter)}` shows progress"
                        yield Sighting(node.iter, text, option, graph_breaks=("GB0008",))
            return
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        if top(name) == "tqdm" and name != "tqdm.tqdm.write":
            id = "GB0008" if callee.receiver is not None else "GB0007"
        else:
            id = _NAMES.get(name, "")
        if id:
            yield call_seen(node, callee, f"`{shown(node)}` shows progress, which isn't traced", id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the loop without a bar while compiling."""
        from ..rewrites.progress import unbarred

        if not isinstance(sighting.node, ast.Call):
            raise Declined("take the bar away where it is made")
        yield from unbarred(sighting.node, ctx, code)
