"""CL328: locks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Instance, Rule, Sighting, options
from .seen import shown

_LOCKS = frozenset(
    {
        "threading.Lock",
        "threading.RLock",
        "threading.Condition",
        "threading.Semaphore",
        "multiprocessing.Lock",
    }
)


class Locks(Rule):
    """A lock is held inside compiled code.

    ## What it does
    Flags `with lock:` where the lock is one of `threading` or `multiprocessing`.

    ## Why it matters
    A lock is a C object that Dynamo can't enter. The body of the `with` isn't captured at all: it
    runs eagerly.

    ## Example
    See the bad and good modules below.

    ## Fix
    Hold the lock around the call of the compiled function.

    ## When it is safe
    In code that guards a cache and is reached only on the first, uncompiled call.
    """

    code = "CL328"
    name = "lock-held"
    summary = "a lock is held inside compiled code"
    nodes = (ast.With,)
    graph_breaks = ("GB0142",)
    examples = (
        Example(
            bad="""
import threading
import torch

lock = threading.Lock()

def f(x):
    with lock:  # error: CL328
        return x + 1
""",
            good="""
import torch

def f(x):
    return x + 1
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a lock in a `with` statement."""
        assert isinstance(node, ast.With)
        for item in node.items:
            for option in options(ctx.fact(item.context_expr)):
                if isinstance(option, Instance) and option.cls in _LOCKS:
                    text = f"`with {shown(item.context_expr)}` can't be entered inside a graph"
                    yield Sighting(item.context_expr, text, option)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: what the lock protects isn't known."""
        raise Declined("hold the lock around the compiled call")
