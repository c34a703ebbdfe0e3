"""CL302: logging."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from .seen import call_seen, shown
from .stdlib import break_id


class LoggingCall(Rule):
    """A call of `logging`, or of a logger's method, inside compiled code.

    ## What it does
    Flags `logger.info(...)`, `logger.warning_once(...)`, `logger.isEnabledFor(...)` on objects that
    `logging.getLogger` made, `logging.info(...)` and the other module functions, `getLogger` called
    inside, and loguru's `logger`.

    ## Why it matters
    Dynamo has no way to put a log record into the graph, whether or not the level is enabled: it
    stops, runs the call in Python and starts another graph. Under `fullgraph=True` it raises.

    ## Example
    See the bad and good modules below.

    ## Fix
    Log from the caller, or guard the call with `if not torch.compiler.is_compiling():`. To drop the
    calls while compiling without touching the code, list the bound methods in
    `torch._dynamo.config.ignore_logging_functions`.

    ## When it is safe
    When the call is on a path that a compiled run never takes: Dynamo only stops at a call that it
    reaches. Messages behind `is_compiling()` are not reported.
    """

    code = "CL302"
    name = "logging-call"
    summary = "logging ends the graph"
    nodes = (ast.Call,)
    callees = ("logging.", "loguru.logger.")
    graph_breaks = ("GB0291", "GB4841", "GB6215", "GB0007")
    examples = (
        Example(
            bad="""
import logging
import torch

logger = logging.getLogger(__name__)

def f(x):
    logger.info("shape %s", x.shape)  # error: CL302
    return x * 2
""",
            good="""
import logging
import torch

logger = logging.getLogger(__name__)

def f(x):
    if not torch.compiler.is_compiling():
        logger.info("shape %s", x.shape)
    return x * 2
""",
        ),
        Example(
            bad="""
import logging
import torch

def f(x):
    logging.warning("slow path")  # error: CL302
    return x * 2
""",
            good="""
import torch

def f(x):
    return x * 2
""",
        ),
        Example(
            bad="""
import logging
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.log = logging.getLogger("net")

    def forward(self, x):
        if self.log.isEnabledFor(logging.DEBUG):  # error: CL302
            return x + 1
        return x

f = Net
""",
            good="""
import logging
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.debug = logging.getLogger("net").isEnabledFor(logging.DEBUG)

    def forward(self, x):
        if self.debug:
            return x + 1
        return x

f = Net
""",
            note="Asking for the level is a call as well; ask once, outside.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a logging call."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        if name.startswith("logging.Logger"):
            id = "GB0291"
        elif name.startswith("logging."):
            id = break_id(name, ctx.torch)
        else:
            id = "GB0007" if name.startswith("loguru.logger.") else ""
        if id:
            yield call_seen(node, callee, f"`{shown(node)}` logs, which the graph can't hold", id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the guard that leaves the logging out while compiling."""
        from ..rewrites.guards import guarded

        yield from guarded(sighting.node, ctx, code, "the logging")
