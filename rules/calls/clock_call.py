"""CL304: clocks and dates."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from .seen import call_seen, shown, top
from .stdlib import break_id


class ClockCall(Rule):
    """The clock is read, or a date is made, inside compiled code.

    ## What it does
    Flags `time.time`, `perf_counter`, `sleep` and the other functions of `time`,
    `datetime.now()`, dates and time deltas, and `timeit.default_timer`.

    ## Why it matters
    They are C functions that Dynamo refuses to trace: the graph ends at each reading. The time
    itself is misleading too, since kernels run asynchronously and the two graphs are no longer the
    code that runs without the clock.

    ## Example
    See the bad and good modules below.

    ## Fix
    Time the call from outside, after a warm-up and with `torch.cuda.synchronize()`, or use
    `torch.profiler`; inside, `with torch.profiler.record_function("name"):` is captured.

    ## When it is safe
    Behind `if not torch.compiler.is_compiling():`, or in code that a compiled run never reaches.
    """

    code = "CL304"
    name = "clock-call"
    summary = "reading the clock ends the graph"
    nodes = (ast.Call,)
    callees = ("time", "datetime", "timeit")
    graph_breaks = ("GB0007", "GB0156", "GB0147", "GB0059")
    examples = (
        Example(
            bad="""
import time
import torch

def f(x):
    start = time.perf_counter()  # error: CL304
    y = x @ x
    return y, start
""",
            good="""
import torch

def f(x):
    with torch.profiler.record_function("matmul"):
        return x @ x
""",
            inputs="[(torch.randn(3, 3),)]",
        ),
        Example(
            bad="""
from datetime import datetime
import torch

def f(x):
    stamp = datetime.now()  # error: CL304
    return x + 1, stamp
""",
            good="""
import torch

def f(x):
    return x + 1
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call of `time`, `datetime` or `timeit` that breaks."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if top(callee.name) in ("time", "datetime", "timeit"):
            id = break_id(callee.name, ctx.torch)
            if id:
                yield call_seen(node, callee, f"`{shown(node)}` reads the clock in Python", id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the guard that leaves the timing out while compiling."""
        from ..rewrites.guards import guarded

        yield from guarded(sighting.node, ctx, code, "the timing")
