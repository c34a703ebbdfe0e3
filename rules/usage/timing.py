"""CL705: timing compiled code without warm-up, or without waiting for the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from ..base import (
    Code,
    Context,
    Declined,
    Example,
    Fix,
    Function,
    Instance,
    Rule,
    Severity,
    Sighting,
    options,
)
from ..base.hops import compiled_at
from .arms import body_nodes
from .compiling import compile_name, compiled_in

_CLOCKS = frozenset(
    f"time.{name}{unit}"
    for name in ("time", "perf_counter", "monotonic", "process_time")
    for unit in ("", "_ns")
)
_UNSYNCED = "returns before the device is done: synchronise first"
_WAITS = frozenset({"synchronize", "item", "cpu", "tolist", "numpy", "elapsed_time"})


class CompiledTiming(Rule):
    """A clock around the first call of a compiled function, or around work that hasn't ended.

    ## What it does
    Flags clock readings (`time.perf_counter()` and its like) around a call of a compiled function
    that wasn't called before, and around calls on CUDA tensors without synchronisation.

    ## Why it matters
    The first call compiles: it takes seconds to minutes and hides what the next ones take. And
    CUDA calls return at once; without waiting for the device, what is measured is the launch.

    ## Example
    `start = perf_counter(); compiled(x); print(perf_counter() - start)`

    ## Fix
    Call it before the clock starts, and synchronise before both readings.

    ## When it is safe
    When the time to compile is what you want to know.
    """

    code = "CL705"
    name = "compiled-timing"
    summary = "timing compiled code without warm-up or synchronisation"
    nodes = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)
    breaks = ()
    severity = Severity.WARNING
    scope = "file"
    triggers = ("compile",)
    examples = (
        Example(
            bad="""
import time
import torch

compiled_at = []

def backend(graph, inputs):
    compiled_at.append(time.perf_counter())
    return graph.forward

def step(x):
    return x.relu() + 1

def measured():
    compiled = torch.compile(step, backend=backend)
    x = torch.ones(3)
    start = time.perf_counter()
    compiled(x)  # error: CL705
    end = time.perf_counter()
    return start, end

def witness():
    start, end = measured()
    return any(start <= at <= end for at in compiled_at)
""",
            good="""
import time
import torch

compiled_at = []

def backend(graph, inputs):
    compiled_at.append(time.perf_counter())
    return graph.forward

def step(x):
    return x.relu() + 1

def measured():
    compiled = torch.compile(step, backend=backend)
    x = torch.ones(3)
    compiled(x)
    start = time.perf_counter()
    compiled(x)
    end = time.perf_counter()
    return start, end

def witness():
    start, end = measured()
    return any(start <= at <= end for at in compiled_at)
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for every timed call that the clock misjudges."""
        if node is not ctx.function:
            return
        calls = [part for part in body_nodes(node) if isinstance(part, ast.Call)]
        clocks = sorted(c.lineno for c in calls if ctx.callee(c).name in _CLOCKS)
        if len(clocks) < 2:
            return
        known = compiled_in(node, ctx)
        compiled = [call for call in calls if _runs_compiled(call, ctx, known)]
        for start, end in pairwise(clocks):
            timed = [call for call in compiled if start < call.lineno <= end]
            if timed:
                first = min(timed, key=lambda c: c.lineno)
                yield from _judge(first, start, end, calls, ctx)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the warm-up, or the waits for the device."""
        from ..rewrites.compiled import synchronised, warmed

        call = sighting.node
        assert isinstance(call, ast.Call)
        read = [c for c in body_nodes(ctx.function) if isinstance(c, ast.Call)]
        clocks = [ctx.statement(c) for c in read if ctx.callee(c).name in _CLOCKS]
        before = [stmt for stmt in clocks if stmt.lineno < call.lineno]
        after = [stmt for stmt in clocks if stmt.lineno > call.lineno]
        if not before or not after:
            raise Declined("the clock is read in the statement of the call")
        start = max(before, key=lambda stmt: stmt.lineno)
        end = min(after, key=lambda stmt: stmt.lineno)
        if sighting.message.endswith(_UNSYNCED):
            yield from synchronised([start, end], code)
        else:
            yield from warmed(call, start, code)


def _judge(
    call: ast.Call, start: int, end: int, calls: list[ast.Call], ctx: Context
) -> Iterator[Sighting]:
    text = ast.unparse(call.func)
    earlier = [c for c in calls if c.lineno < start and compile_name(c, ctx) == ""]
    warm = any(text in map(ast.unparse, (c.func, *c.args)) for c in earlier)
    loop = ctx.loop(call)
    if not warm and (loop is None or loop.lineno > start):
        yield Sighting(call, f"the first call of `{text}` compiles, and the clock is running")
    after = [c.func for c in calls if call.lineno <= c.lineno <= end]
    waits = any(isinstance(func, ast.Attribute) and func.attr in _WAITS for func in after)
    if not waits and _on_cuda(ctx.function):
        yield Sighting(call, f"`{text}` {_UNSYNCED}")


def _on_cuda(function: ast.AST) -> bool:
    """Say whether a function speaks of CUDA: `.cuda()`, `device="cuda:0"`, `torch.cuda…`."""
    return any(
        "cuda" in str(getattr(part, "value", "")) or getattr(part, "attr", "") == "cuda"
        for part in body_nodes(function)
        if isinstance(part, (ast.Constant, ast.Attribute))
    )


def _runs_compiled(call: ast.Call, ctx: Context, known: set[str]) -> bool:
    """Say whether a call runs something that went through torch.compile."""
    if ast.unparse(call.func) in known:
        return True
    for option in options(ctx.fact(call.func)):
        if isinstance(option, (Function, Instance)) and compiled_at(option) is not None:
            return True
        decorators = option.function.decorators if isinstance(option, Function) else ()
        if any(ast.unparse(getattr(deco, "func", deco)) == "torch.compile" for deco in decorators):
            return True
    return False
