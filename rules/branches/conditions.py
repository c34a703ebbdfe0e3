"""What the branch rules share: finding the tensor that a condition reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import BOTH, Context, Fact, FromTensor, Mode, Sighting


def modes_of(fact: Fact) -> tuple[Mode, ...]:
    """Return the modes in which testing the value breaks.

    A Python value that was read out of a tensor (`.item()`, a data-dependent size) broke the
    graph where it was read by default, and only fullgraph carries it on, as a symbol, to the test.
    """
    if isinstance(fact, FromTensor) and fact.how in ("item", "size"):
        return (Mode.FULLGRAPH,)
    return BOTH


def tested(test: ast.expr, ctx: Context, what: str) -> Iterator[Sighting]:
    """Yield a sighting when `bool(test)` reads tensor data.

    `and`, `or`, `not` and comparison chains inside the test are rules of their own, which report
    the operand they test; here only the value that is left at the end counts.
    """
    fact = ctx.truth(test)
    if fact is None:
        return
    text = ast.unparse(test)
    if len(text) > 60:
        text = text[:59] + "…"
    source = {
        "size": "whose size depends on tensor data",
        "random": "which is drawn at random",
    }.get(getattr(fact, "how", ""), "which depends on tensor data")
    yield Sighting(test, f"{what} tests `{text}`, {source}", fact, breaks=modes_of(fact))
