"""CL309: other processes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from .seen import call_seen, shown, top
from .stdlib import break_id


def is_process(name: str) -> bool:
    """Say whether a canonical name starts or asks about a process."""
    return top(name) in ("subprocess", "multiprocessing", "signal") or name in (
        "os.system",
        "os.popen",
        "os.kill",
        "os.getpid",
        "os.getppid",
    )


class Processes(Rule):
    """Another process is started or asked, inside compiled code.

    ## What it does
    Flags `subprocess`, `multiprocessing`, `signal`, `os.system`, `os.popen`, `os.getpid`.

    ## Why it matters
    They are system calls, which Dynamo never traces: the graph ends, and the process starts on
    every call of the compiled function.

    ## Example
    See the bad and good modules below.

    ## Fix
    Ask once, before the compiled function runs, and pass in what was found.

    ## When it is safe
    Never inside a region that should be one graph.
    """

    code = "CL309"
    name = "process-call"
    summary = "starting a process ends the graph"
    nodes = (ast.Call,)
    callees = ("subprocess", "multiprocessing", "signal", "os.")
    graph_breaks = ("GB0007",)
    examples = (
        Example(
            bad="""
import subprocess
import torch

def f(x):
    subprocess.run(["true"])  # error: CL309
    return x + 1
""",
            good="""
import torch

def f(x):
    return x + 1
""",
        ),
        Example(
            bad="""
import os
import torch

def f(x):
    return x + os.getpid() % 2  # error: CL309
""",
            good="""
import os
import torch

PID = os.getpid()

def f(x):
    return x + PID % 2
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call that starts or asks a process."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if is_process(callee.name):
            id = break_id(callee.name, ctx.torch)
            if id:
                yield call_seen(node, callee, f"`{shown(node)}` is a system call", id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: when to ask is the caller's choice."""
        raise Declined("ask once, before the compiled call, and pass in the answer")
