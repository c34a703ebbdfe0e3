"""What makes a finding less than certain, or one that only some configurations see."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..rules.base import Array, Sighting
from ..rules.base.reading import shown
from .analysis.frame import Frame
from .analysis.operators import boolean
from .context import FrameContext


def guarded(node: ast.AST, ctx: FrameContext) -> bool:
    """Say whether Python may skip the expression by what comes before it in its own statement.

    `self.training and x.any()`: which of the two decides depends on configuration, and in
    `x is not None and x.any()` on the caller. Tests of tensor data don't count, which break by
    themselves.
    """
    return any(_configured(test, ctx) for test, _ in _guards(node, ctx))


def _guards(node: ast.AST, ctx: FrameContext) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the tests in the node's own statement that it is behind, and what they must give."""
    child: ast.AST = node
    for parent in ctx.ancestors(node):
        if isinstance(parent, ast.stmt):
            return
        if isinstance(parent, ast.IfExp) and child is not parent.test:
            yield parent.test, child is parent.body
        elif isinstance(parent, ast.BoolOp):
            for value in parent.values:
                if value is child:
                    break
                yield value, isinstance(parent.op, ast.And)
        child = parent


def _on_one_line(node: ast.AST, ctx: FrameContext) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the test of `if verbose: warn("…")`, and whether it must hold."""
    statement = ctx.statement(node)
    parent = ctx.parent(statement)
    if isinstance(parent, ast.If) and parent.lineno == getattr(statement, "lineno", 0):
        yield parent.test, statement in parent.body


def rarely(sighting: Sighting, ctx: FrameContext, frame: Frame) -> str:
    """Say when the statement breaks, where that isn't so in the usual configuration."""
    if sighting.fact is not None and sighting.fact.rare:
        return (
            "in evaluation only" if frame.analyzer.project.options.training else "in training only"
        )
    for test, needed in (*_guards(sighting.node, ctx), *_on_one_line(sighting.node, ctx)):
        if ctx.usual(test) is (not needed):
            return f"only where `{shown(test)}` {'holds' if needed else 'fails'}"
    return ""


def from_elsewhere(sighting: Sighting, ctx: FrameContext) -> bool:
    """Say whether a NumPy value or a random number came in from another function.

    Had the graph broken before the call, it would be an ordinary number here.
    """
    fact = sighting.fact
    if not isinstance(fact, Array) and getattr(fact, "how", "") != "random":
        return False
    assert fact is not None
    story = [] if fact.origin is None else fact.origin.chain(8)
    first, last = getattr(ctx.function, "lineno", 1), getattr(ctx.function, "end_lineno", 1)
    inside = [step.path == ctx.path and first < step.line <= last for step in story]
    return not inside or not all(inside)


def in_rare_block(node: ast.AST, ctx: FrameContext) -> bool:
    """Say whether the node's statement runs in another configuration than the usual one."""
    child: ast.AST = node
    for parent in ctx.ancestors(node):
        if isinstance(parent, ast.If) and child is not parent.test:
            if ctx.usual(parent.test) is (child not in parent.body):
                return True
        child = parent
    return False


def of_several_kinds(node: ast.AST, ctx: FrameContext) -> bool:
    """Say whether the block is shared by several kinds of what the node reads.

    `if isinstance(index, int) or isinstance(index, Tensor) and index.dim() == 0:` is also entered
    with a plain number.
    """
    read: set[str] | None = None
    child: ast.AST = node
    for parent in ctx.ancestors(node):
        test = parent.test if isinstance(parent, ast.If) and child in parent.body else None
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) and _configured(test, ctx):
            if read is None:
                read = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            if any(_kind_asked(value) in read for value in test.values):
                return True
        child = parent
    return False


def _kind_asked(test: ast.expr) -> str:
    """Return the name whose class a test asks for by itself, "" for another test."""
    if not isinstance(test, ast.Call) or getattr(test.func, "id", "") != "isinstance":
        return ""
    return getattr(test.args[0], "id", "") if test.args else ""


def _configured(test: ast.expr, ctx: FrameContext) -> bool:
    """Say whether configuration decides a test: neither a known value nor tensor data does."""
    return ctx.truth(test) is None and boolean(ctx.fact(test)) is None
