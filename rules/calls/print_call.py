"""CL301: `print` and its like."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from .seen import call_seen, shown

PRINTS = {
    "builtins.print": "GB0059",
    "pprint.pprint": "GB0156",
    "sys.stdout.write": "GB0156",
    "sys.stderr.write": "GB0156",
    "sys.stdout.flush": "GB0156",
    "sys.stderr.flush": "GB0156",
    "rich.print": "GB0142",
    "click.echo": "GB0156",
    "tqdm.tqdm.write": "GB0008",
}


class PrintCall(Rule):
    """`print` inside compiled code.

    ## What it does
    Flags `print`, `pprint.pprint`, `sys.stdout.write`, `rich.print` and `click.echo`, whatever
    they print.

    ## Why it matters
    A graph holds tensor operations and can't write to a terminal. Dynamo ends the graph at the
    call, runs it in Python, and starts a second graph behind it. In a loop the whole function runs
    eagerly. What is printed is a real tensor, so the device is synchronised as well.

    ## Example
    See the bad and good modules below.

    ## Fix
    Delete the line, print from the caller, or guard it with
    `if not torch.compiler.is_compiling():`. Where the output is needed,
    `torch._dynamo.config.reorderable_logging_functions.add(print)` moves prints of tensors behind
    the graph.

    ## When it is safe
    Behind `torch.compiler.is_compiling()`, which this rule understands, and in code that only
    raises or ends the program anyway.
    """

    code = "CL301"
    name = "print-call"
    summary = "`print` ends the graph"
    nodes = (ast.Call,)
    callees = tuple(PRINTS)
    graph_breaks = ("GB0059", "GB0156", "GB0142", "GB0008")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    print("mean", x.mean())  # error: CL301
    return x * 2
""",
            good="""
import torch

def f(x):
    if not torch.compiler.is_compiling():
        print("mean", x.mean())
    return x * 2
""",
        ),
        Example(
            bad="""
import sys
import torch

def f(x):
    for i in range(3):
        sys.stderr.write("step\\n")  # error: CL301
        x = x + i
    return x
""",
            good="""
import torch

def f(x):
    for i in range(3):
        x = x + i
    return x
""",
            note="In a loop, the whole function falls back to eager.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call that writes to the terminal."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        id = PRINTS.get(callee.name)
        if id is not None:
            text = f"`{shown(node)}` can't be captured: the graph ends here"
            yield call_seen(node, callee, text, id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the guard that leaves the printing out while compiling."""
        from ..rewrites.guards import guarded

        yield from guarded(sighting.node, ctx, code, "the printing")
