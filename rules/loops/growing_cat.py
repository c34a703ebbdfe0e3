"""CL207: a tensor grown by torch.cat in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Severity, Sighting
from ..base.reading import shown, tensor_of
from ..torch_facts import TorchFacts
from .iteration import JOINING


class GrowingCat(Rule):
    """A tensor that grows by `torch.cat` in a loop.

    ## What it does
    Points out `acc = torch.cat([acc, new])` inside a loop.

    ## Why it matters
    Every turn copies all that was gathered so far, so the work grows with the square of the
    number of turns, compiled or not. The shape differs from turn to turn, which keeps the loop
    from becoming a `while_loop` or `scan`, and a compiled step that is called in the loop
    recompiles for the growing size.

    ## Example
    See the bad and good modules below.

    ## Fix
    Append to a list and call `torch.cat` once behind the loop, or write into a buffer of the
    final size.

    ## When it is safe
    For two or three turns.
    """

    code = "CL207"
    name = "growing-cat"
    summary = "tensor grown by torch.cat in a loop"
    nodes = (ast.Assign,)
    breaks = ()
    severity = Severity.INFO
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    acc = x
    for i in range(8):
        acc = torch.cat([acc, x * i])  # error: CL207
    return acc

def witness():
    copied = []
    def count(graph, inputs):
        joins = [n for n in graph.graph.nodes if n.target is torch.cat]
        copied.append(sum(n.meta["example_value"].numel() for n in joins))
        return graph.forward
    torch.compile(f, backend=count)(torch.ones(10))
    return sum(copied) > 2 * f(torch.ones(10)).numel()
""",
            good="""
import torch

def f(x: torch.Tensor):
    parts = [x]
    for i in range(8):
        parts.append(x * i)
    return torch.cat(parts)

def witness():
    copied = []
    def count(graph, inputs):
        joins = [n for n in graph.graph.nodes if n.target is torch.cat]
        copied.append(sum(n.meta["example_value"].numel() for n in joins))
        return graph.forward
    torch.compile(f, backend=count)(torch.ones(10))
    return sum(copied) > 2 * f(torch.ones(10)).numel()
""",
            truth="witness",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether one target is given what a call makes of parts that are written out."""
        assert isinstance(node, ast.Assign)
        if type(node.value) is not ast.Call or len(node.targets) > 1 or not node.value.args:
            return False
        return isinstance(node.value.args[0], (ast.List, ast.Tuple))

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a name in a loop becomes itself and more."""
        assert isinstance(node, ast.Assign)
        assert isinstance(node.value, ast.Call)
        joins = ctx.callee(node.value).name in JOINING
        return self._joined(node, node.value, ctx) if joins else iter(())

    def _joined(self, node: ast.Assign, call: ast.Call, ctx: Context) -> Iterator[Sighting]:
        loop = ctx.loop(node)
        if loop is None:
            return
        parts = call.args[0]
        target = ast.unparse(node.targets[0])
        if sum(target in _stored(other) for other in ctx.inside(loop)) > 1:
            return  # made anew in each turn, as where a decoder joins skip connections
        if isinstance(parts, (ast.List, ast.Tuple)) and any(
            ast.unparse(part) == target and tensor_of(ctx.fact(part)) for part in parts.elts
        ):
            text = f"`{target}` is copied at every turn by `{shown(call.func)}`: gather a list"
            yield Sighting(node, text, ctx.fact(call))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the parts gathered in a list."""
        from ..rewrites.joined import joined_once

        stmt = sighting.node
        assert isinstance(stmt, ast.Assign)
        assert isinstance(stmt.value, ast.Call)
        yield from joined_once(stmt, stmt.value, ctx, code)


def _stored(node: ast.AST) -> list[str]:
    """Return the targets of an assignment, as written."""
    if not isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = [p for t in targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return [ast.unparse(part) for part in parts]
