"""CL715: compiled code thrown away in a loop or in every step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Safety, Severity, Sighting
from .arms import body_nodes
from .compiling import HOT, compile_name, conditional

_RESETS = frozenset({"torch._dynamo.reset", "torch.compiler.reset"})


class ResetInLoop(Rule):
    """`torch.compiler.reset()` in a loop, or in a function that runs for every batch.

    ## What it does
    Flags `torch.compiler.reset()` and `torch._dynamo.reset()` in a loop that compiles nothing
    itself, and in `forward`, `__call__` and training steps.

    ## Why it matters
    It drops all compiled code of the process. What is called next is traced and compiled again:
    seconds to minutes, in every pass.

    ## Example
    `for epoch in range(n): torch._dynamo.reset(); train(model)`, to be rid of a recompile limit.

    ## Fix
    Remove it. If recompilations are the problem, find what changes with
    `TORCH_LOGS=recompiles`; mark sizes with `torch._dynamo.mark_dynamic`.

    ## When it is safe
    Between tests, and in benchmarks that compile something new in every pass: those loops are
    not reported.
    """

    code = "CL715"
    name = "reset-in-loop"
    summary = "compiled code is dropped in every pass of a loop"
    nodes = (ast.Call,)
    callees = tuple(sorted(_RESETS))
    breaks = ()
    severity = Severity.WARNING
    scope = "file"
    triggers = ("_dynamo",)
    examples = (
        Example(
            bad="""
import torch

graphs = []

def backend(graph, inputs):
    graphs.append(graph)
    return graph.forward

def train(step, passes):
    for _ in range(passes):
        torch._dynamo.reset()  # error: CL715
        step(torch.ones(3))

def witness():
    train(torch.compile(lambda x: x + 1, backend=backend), 3)
    return len(graphs) > 1
""",
            good="""
import torch

graphs = []

def backend(graph, inputs):
    graphs.append(graph)
    return graph.forward

def train(step, passes):
    torch._dynamo.reset()
    for _ in range(passes):
        step(torch.ones(3))

def witness():
    train(torch.compile(lambda x: x + 1, backend=backend), 3)
    return len(graphs) > 1
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when compiled code is dropped again and again."""
        assert isinstance(node, ast.Call)
        if ctx.callee(node).name not in _RESETS:
            return
        loop = ctx.loop(node)
        name = getattr(ctx.function, "name", "")
        if loop is not None:
            holder = ast.Module(body=loop.body, type_ignores=[])
            calls = (part for part in body_nodes(holder) if isinstance(part, ast.Call))
            if not any(compile_name(call, ctx) for call in calls):
                yield Sighting(node, "all compiled code is dropped in every pass of the loop")
        elif name in HOT and not conditional(node, ctx):
            yield Sighting(node, f"all compiled code is dropped in every call of `{name}`")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the reset in front of the loop."""
        from ..rewrites.autograd import gone

        stmt, loop = ctx.statement(sighting.node), ctx.loop(sighting.node)
        if not isinstance(stmt, ast.Expr):
            raise Declined("the call is part of a larger statement")
        edits = [gone(stmt, code)]
        if loop is not None:
            edits.append(code.insert(loop, [code.indent(loop) + code.text(stmt)]))
        title = "keep compiled code from pass to pass"
        yield code.fix(title, edits, Safety.UNSAFE)
