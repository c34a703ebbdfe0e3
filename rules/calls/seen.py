"""What the call rules share: the text of a call, and sightings of calls."""

from __future__ import annotations

import ast

from ..base import Callee, Certainty, Fact, Mode, Sighting


def shown(node: ast.expr, limit: int = 48) -> str:
    """Return an expression as it is shown in a message, without the arguments of a call."""
    text = ast.unparse(node.func if isinstance(node, ast.Call) else node)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def call_seen(
    node: ast.Call,
    callee: Callee,
    message: str,
    id: str = "",
    *,
    fact: Fact | None = None,
    breaks: tuple[Mode, ...] | None = None,
) -> Sighting:
    """Return a sighting of a call; `fact` tells its story, else the receiver does."""
    return Sighting(
        node,
        message,
        fact if fact is not None else callee.receiver,
        certainty=None if callee.sure else Certainty.LIKELY,
        breaks=breaks,
        graph_breaks=(id,) if id else None,
    )


def top(name: str) -> str:
    """Return the first part of a dotted name."""
    return name.partition(".")[0]


__all__ = ["call_seen", "shown", "top"]
