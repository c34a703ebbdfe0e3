"""What an earlier break of a function takes away from later ones.

Where the graph breaks, a new one starts, and the tensors made before are inputs of it. Of an
integer that comes in as a tensor Dynamo makes a symbol, so reading it as a size is captured.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..rules.base.context import Context
from ..rules.base.finding import Certainty, Finding, Mode
from ..rules.base.valueclass import valueclass

_BLOCKS = ("body", "orelse", "finalbody")


@valueclass
class Seen:
    """A finding of a function, where it was seen, and whether only of tensors the graph makes.

    `made` is the line in the function where the tensor was made, 0 where it came in.
    """

    finding: Finding
    node: ast.AST
    local: bool
    made: int


def settle(found: list[Seen], ctx: Context) -> list[Finding]:
    """Return the findings that are left, those after an earlier break less certain."""
    if not any(seen.local for seen in found):
        return [seen.finding for seen in found]
    breaks = [seen for seen in found if Mode.DEFAULT in seen.finding.breaks]
    settled = (_settled(seen, breaks, ctx) if seen.local else seen.finding for seen in found)
    return [finding for finding in settled if finding is not None]


def _settled(seen: Seen, breaks: list[Seen], ctx: Context) -> Finding | None:
    finding = seen.finding
    here = ctx.statement(seen.node)
    before = [
        other
        for other in breaks
        if (place := ctx.statement(other.node)) is not here
        and seen.made <= place.lineno < here.lineno
    ]
    if not before:  # of what came in, another function may have been told, and broke
        return finding if seen.made else replace(finding, certainty=Certainty.LIKELY)
    for other in before:
        sure = other.finding.certainty is Certainty.CERTAIN
        if sure and _always_before(ctx.statement(other.node), here, ctx):
            modes = tuple(mode for mode in finding.breaks if mode is not Mode.DEFAULT)
            return replace(finding, breaks=modes) if modes else None
    return replace(finding, certainty=Certainty.LIKELY)


def _always_before(first: ast.stmt, then: ast.stmt, ctx: Context) -> bool:
    """Say whether a statement's own expressions have run wherever a later statement runs."""
    holder = ctx.parent(first)
    child: ast.AST = then
    while True:
        parent = ctx.parent(child)
        if child is first:
            return True
        if parent is holder or parent is None:
            break
        child = parent
    blocks = [getattr(holder or ctx.function, name, None) for name in _BLOCKS]
    return any(isinstance(b, list) and first in b and child in b for b in blocks)


__all__ = ["Seen", "settle"]
