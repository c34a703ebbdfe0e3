"""CL605: an input that is concatenated longer in every round of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Severity, Sighting
from ..base.reading import shown
from ..base.scopes import dotted, own
from .loops import assigned_in, rounds

_JOINS = frozenset(
    {"torch.cat", "torch.concat", "torch.concatenate", "torch.hstack", "torch.vstack"}
)
_MARKS = frozenset({"mark_dynamic", "maybe_mark_dynamic", "mark_unbacked"})


class GrowingShape(Rule):
    """A compiled function is called in a loop with a tensor that `torch.cat` lengthens.

    ## What it does
    Flags `logits = model(ids)` … `ids = torch.cat([ids, new], 1)` in one loop, where the callee is
    compiled and nothing marks the growing dimension as dynamic.

    ## Why it matters
    The first graph is built for the first length; the second length compiles again, this time
    with a dynamic size. With `dynamic=False` every length compiles again, up to the recompile
    limit.

    ## Example
    Token-by-token generation.

    ## Fix
    `torch._dynamo.mark_dynamic(ids, 1)` before the call compiles once, for all lengths; so does
    `torch.compile(model, dynamic=True)`. A preallocated buffer avoids copying as well.

    ## When it is safe
    One extra compilation may not matter: this is advice, and a warning with `dynamic=False` only.
    """

    code = "CL605"
    name = "growing-shape"
    summary = "Compiled call with a tensor that the loop lengthens"
    nodes = (ast.Call,)
    breaks = ()
    severity = Severity.INFO
    scope = "file"
    triggers = ("compile",)
    examples = (
        Example(
            bad="""
import torch
from torch._dynamo.testing import CompileCounter

counter = CompileCounter()

@torch.compile(backend=counter)
def model(ids):
    return ids * 2

def generate(ids):
    for _ in range(6):
        out = model(ids)  # error: CL605
        ids = torch.cat([ids, out[:, -1:]], 1)
    return ids

def witness():
    generate(torch.zeros(1, 2, dtype=torch.long))
    return counter.frame_count > 1
""",
            good="""
import torch
from torch._dynamo.testing import CompileCounter

counter = CompileCounter()

@torch.compile(backend=counter)
def model(ids):
    return ids * 2

def generate(ids):
    for _ in range(6):
        torch._dynamo.mark_dynamic(ids, 1)
        out = model(ids)
        ids = torch.cat([ids, out[:, -1:]], 1)
    return ids

def witness():
    generate(torch.zeros(1, 2, dtype=torch.long))
    return counter.frame_count > 1
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for each argument that its loop lengthens by concatenation."""
        assert isinstance(node, ast.Call)
        loops = rounds(node, ctx)
        if not loops:
            return
        given = ctx.compiled(node)
        if given is None or given.dynamic:
            return
        for value in [*node.args, *(k.value for k in node.keywords)]:
            path = dotted(value)
            if not path:
                continue
            grown = [stmt for loop in loops for stmt in assigned_in(loop, path)]
            if any(_joined(stmt, path, ctx) for stmt in grown) and not _marked(path, ctx):
                every = given.dynamic is False
                again = "every length recompiles" if every else "the second length recompiles"
                what = f"`{shown(value)}` is longer in every round, and not marked dynamic: {again}"
                yield Sighting(value, what, severity=Severity.WARNING if every else None)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the call with the growing dimension marked."""
        from ..rewrites.compiled import marked_dynamic

        call = ctx.parent(sighting.node)
        call = ctx.parent(call) if isinstance(call, ast.keyword) else call
        path = dotted(sighting.node)
        assert isinstance(call, ast.Call)
        for loop in rounds(call, ctx):
            for stmt in assigned_in(loop, path):
                if _joined(stmt, path, ctx):
                    assert isinstance(stmt.value, ast.Call)
                    yield from marked_dynamic(call, path, stmt.value, ctx, code)
                    return


def _joined(stmt: ast.Assign, path: str, ctx: Context) -> bool:
    call = stmt.value
    if not isinstance(call, ast.Call) or ctx.callee(call).name not in _JOINS or not call.args:
        return False
    parts = call.args[0]
    return isinstance(parts, (ast.List, ast.Tuple)) and path in {dotted(p) for p in parts.elts}


def _marked(path: str, ctx: Context) -> bool:
    return any(
        isinstance(part, ast.Call)
        and dotted(part.func).rpartition(".")[2] in _MARKS
        and bool(part.args)
        and dotted(part.args[0]) == path
        for part in own(ctx.function)
    )
