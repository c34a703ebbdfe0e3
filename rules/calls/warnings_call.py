"""CL303: warnings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from .seen import call_seen, shown
from .stdlib import break_id


class WarningsCall(Rule):
    """A call of the `warnings` module inside compiled code.

    ## What it does
    Flags `warnings.warn`, `warn_explicit`, `simplefilter`, `filterwarnings` and `resetwarnings`.

    ## Why it matters
    `warnings` is on Dynamo's list of modules that are never traced. Each call that is reached ends
    the graph, also when the filters would have dropped the message.

    ## Example
    See the bad and good modules below.

    ## Fix
    Warn where the module is built or the argument is first seen, outside of the compiled function,
    or guard the call with `if not torch.compiler.is_compiling():`. Move filters to the caller.

    ## When it is safe
    When the condition in front of the call is never true in compiled runs. `with
    warnings.catch_warnings():` alone is captured, and isn't reported.
    """

    code = "CL303"
    name = "warnings-call"
    summary = "`warnings.warn` ends the graph"
    nodes = (ast.Call,)
    callees = ("warnings.",)
    graph_breaks = ("GB0007",)
    examples = (
        Example(
            bad="""
import warnings
import torch

def f(x, scale=None):
    if scale is None:
        warnings.warn("scale is not set")  # error: CL303
        scale = 1.0
    return x * scale
""",
            good="""
import torch

def f(x, scale=None):
    if scale is None:
        scale = 1.0
    return x * scale
""",
        ),
        Example(
            bad="""
import warnings
import torch

def f(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # error: CL303
        return x.sqrt()
""",
            good="""
import warnings
import torch

def f(x):
    with warnings.catch_warnings():
        return x.sqrt()
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call of `warnings` that breaks."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.name.startswith("warnings."):
            id = break_id(callee.name, ctx.torch)
            if id:
                text = f"`{shown(node)}` is never traced: the graph ends here"
                yield call_seen(node, callee, text, id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the guard that leaves the warning out while compiling."""
        from ..rewrites.guards import guarded

        yield from guarded(sighting.node, ctx, code, "the warning")
