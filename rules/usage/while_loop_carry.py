"""CL709: a while_loop body whose results don't fit what the loop carries."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Fact, Rule, Sequence, Sighting, Tensor
from ..base.hops import HOPS
from .arms import Arm, arm_of, operator, parts
from .carries import carried
from .results import difference, grown
from .writes import writes


class WhileLoopCarry(Rule):
    """A `while_loop` body returns a carry unchanged, of another kind, or too few of them.

    ## What it does
    Flags `while_loop` calls whose body returns another number of values than the loop carries, a
    carry as it came (or a view of one), a carry of another dtype or rank, or one that grows by
    `torch.cat`; also Python floats, bools and `None` among the carried values.

    ## Why it matters
    The body is compiled once and runs any number of times, so what comes out must have the
    dtype, shape and strides of what went in, in memory of its own. Anything else raises while
    tracing, in every mode and without torch.compile too.

    ## Example
    `while_loop(more, lambda i, x, w: (i + 1, x @ w, w), (i, x, w))` carries `w` only to read it.

    ## Fix
    Don't carry what doesn't change: the body may close over it. Copy with `.clone()` where a
    carry must be handed on as it is. For results that grow, carry a buffer of full size and an
    index, and write with `torch.where` or `scatter`.

    ## When it is safe
    Never, except under a predicate that is false at once.
    """

    code = "CL709"
    name = "while-loop-carry"
    summary = "while_loop body whose results don't fit the carried values"
    nodes = (ast.Call,)
    callees = HOPS
    graph_breaks = ("GB0040",)
    examples = (
        Example(
            bad="""
import torch
from torch._higher_order_ops.while_loop import while_loop

def f(x, w):
    def more(i, x, w):
        return i < 3

    def body(i, x, w):
        return i + 1, x @ w, w

    return while_loop(more, body, (torch.tensor(0), x, w))[1]  # error: CL709
""",
            good="""
import torch
from torch._higher_order_ops.while_loop import while_loop

def f(x, w):
    def more(i, x):
        return i < 3

    def body(i, x):
        return i + 1, x @ w

    return while_loop(more, body, (torch.tensor(0), x))[1]
""",
            inputs="[(torch.randn(3, 3), torch.randn(3, 3))]",
        ),
        Example(
            bad="""
import torch

def f(x, n):
    def body(i, out):
        return i + 1, torch.cat([out, out[-1:] * 2])

    return torch.while_loop(lambda i, out: i < n, body, (torch.tensor(0), x))  # error: CL709
""",
            good="""
import torch

def f(x, n):
    size = 8
    out = torch.nn.functional.pad(x, (0, size - x.shape[0]))

    def body(i, out):
        at = torch.arange(size) == i + 1
        return i + 1, torch.where(at, out.roll(1) * 2, out)

    return torch.while_loop(lambda i, out: i < n, body, (torch.tensor(0), out))
""",
            inputs="[(torch.ones(1), torch.tensor(3))]",
            note="A result that grows needs a buffer of its final size.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the first result that doesn't fit."""
        assert isinstance(node, ast.Call)
        given = ctx.argument(node, 1, "body_fn")
        if operator(node, ctx) != "while_loop" or given is None:
            return
        before = carried(node, ctx)
        arm = arm_of(given, ctx)
        if before is None:
            return
        for fact in before:
            if getattr(fact, "kind", "int") in ("float", "bool", "NoneType", "str"):
                yield Sighting(node, f"`while_loop` carries a Python value ({fact.kind})")  # type: ignore[attr-defined]
                return
        after = ctx.apply(node, ctx.fact(given), before)
        if arm is None or any(w.inplace for w in writes(arm, ctx)):
            return
        what = _misfit(arm, before, after, ctx)
        if what is not None:
            yield Sighting(node, f"body `{arm.text}` of `while_loop` returns {what}")


def _misfit(arm: Arm, before: list[Fact], after: Fact, ctx: Context) -> str | None:
    if isinstance(after, Sequence) and after.items is not None:
        if len(after.items) != len(before):
            return f"{len(after.items)} values for {len(before)} carries"
        for name, old, new in zip(arm.params, before, after.items):
            if isinstance(new, Tensor) and isinstance(old, Tensor):
                what = difference(old, new)
                if what is not None:
                    return f"another kind of `{name}`: {what}"
    for value in arm.returned():
        names = set()
        for name, part in zip(arm.params, parts(value)):
            larger = grown(part, name)
            if larger is not None:
                return f"`{larger}`: `{name}` must keep its shape"
            alias = arm.alias(part, ctx)
            position = arm.params.index(alias.root) if alias and alias.root in arm.params else -1
            known = before[position] if 0 <= position < len(before) else None
            if alias is not None and alias.sure and (known is None or isinstance(known, Tensor)):
                return f"`{ast.unparse(part)}`, which shares memory with a carry"
            if isinstance(part, ast.Name) and part.id in names:
                return f"`{part.id}` twice"
            names.add(part.id if isinstance(part, ast.Name) else "")
    return None
