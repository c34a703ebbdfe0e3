"""Reductions cut in two: many programs reduce a piece each, a second nest reduces the pieces.

A program walks its inner loop alone, so a long reduction with few outer points would leave most of
a GPU idle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sympy import Expr

from ..ir import index as ix
from ..ir.values import Value

KINDS = frozenset({"sum", "prod", "max", "min", "any", "all"})
ENOUGH_PROGRAMS = 512
ENOUGH_ROWS = 64  # programs that read whole lines keep the memory busy in smaller numbers
SHORTEST = 8192  # inner elements; below, one program is quick enough
SHORTEST_COLUMN = 512  # the same where they lie apart
FASTEST_OUTER = 32  # outer points that one program takes where they lie side by side


def pieces(
    kind: str, size: Sequence[Expr], dims: Sequence[int], loads: Callable[[], Sequence[Value]]
) -> int:
    """Into how many pieces to cut the reduced index space; 1 to leave it whole.

    Args:
        loads: The loads of one element's value, asked for only when the sizes make it worth while.
    """
    if kind not in KINDS or not ix.is_static(size):
        return 1
    inner = outer = 1
    for d, n in enumerate(size):
        if d in dims:
            inner *= int(n)
        else:
            outer *= int(n)
    if inner < SHORTEST_COLUMN or outer >= ENOUGH_PROGRAMS * FASTEST_OUTER:
        return 1
    if _inner_contiguous(loads(), size, dims):
        programs, enough, shortest = outer, ENOUGH_ROWS, SHORTEST
    else:
        programs, enough, shortest = -(-outer // FASTEST_OUTER), ENOUGH_PROGRAMS, SHORTEST_COLUMN
    if programs >= enough or inner < shortest:
        return 1
    wanted = min(-(-ENOUGH_PROGRAMS // programs), 8 * inner // shortest)
    return _divisor(inner, wanted)


def _inner_contiguous(loads: Sequence[Value], size: Sequence[Expr], dims: Sequence[int]) -> bool:
    """Whether neighbours in memory lie along the reduced dimensions, for most loads."""
    fast = max((d for d in dims if size[d] != 1), default=0)
    outer = [ix.Loop(f"d{d}") for d in range(len(size)) if d not in dims]
    return ix.along([load.attrs[1] for load in loads], ix.Loop(f"r{fast}"), outer)


def _divisor(n: int, wanted: int) -> int:
    """The divisor of n nearest above `wanted` (up to four times it), or just below, or 1.

    Only even cuts: a ragged last piece would need a mask on every load.
    """
    for candidate in range(max(wanted, 2), 4 * wanted + 1):
        if n % candidate == 0:
            return candidate
    for candidate in range(wanted, max(wanted // 4, 1), -1):
        if n % candidate == 0:
            return candidate
    return 1
