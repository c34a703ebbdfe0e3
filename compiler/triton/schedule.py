"""How much of a nest one program takes: block sizes and warps, by rules of thumb.

Blocks are powers of two. The first configuration is the guess; max-autotune measures them all.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..ir import index as ix
from ..ir.nodes import Nest
from ..ir.values import Values
from .kernel import Config

LARGEST_PERSISTENT = 16384  # reduced elements that one program keeps in registers
LARGEST_COLUMN = 256  # the same where they lie apart, and neighbours in memory come along
HINT = 8192  # stands for a size that isn't known
INTERPRETED_POINTS = 1 << 17  # in one program: each operation costs the interpreter the same


@dataclass(frozen=True, slots=True)
class Schedule:
    """Attributes:
    persistent: The inner loops are one block, held in registers.
    configs: The ways to launch.
    """

    persistent: bool
    configs: tuple[Config, ...]


def schedule(nest: Nest, values: Values, interpreted: bool = False) -> Schedule:
    """The schedule of a nest."""
    outer = hint(ix.product(nest.sizes))
    if not nest.rvariables:
        return Schedule(True, _pointwise(outer, interpreted))
    length = ix.product(nest.rsizes)
    scans = any(v.op == "scan" for v in values.ordered([s.value for s in nest.stores]))
    contiguous = _inner_contiguous(nest, values)
    longest = LARGEST_PERSISTENT if contiguous else LARGEST_COLUMN
    persistent = scans or (length.is_Integer and int(length) <= longest)
    if interpreted:
        rblock = power(hint(length)) if persistent else min(power(hint(length)), 4096)
        xblock = max(1, min(power(outer), INTERPRETED_POINTS // rblock))
        return Schedule(persistent, (Config((("XBLOCK", xblock), ("RBLOCK", rblock)), 4, 1),))
    if persistent:
        return Schedule(True, _persistent(outer, power(hint(length)), contiguous))
    return Schedule(False, _looped(outer, hint(length), contiguous))


def hint(size: Expr) -> int:
    """A size, or a guess of it."""
    if size.is_Integer:
        return int(size)
    guess = size.subs(dict.fromkeys(size.free_symbols, HINT))
    return int(guess) if guess.is_Integer else HINT


def power(n: int) -> int:
    """The next power of two."""
    return 1 << max(n - 1, 0).bit_length()


def _pointwise(points: int, interpreted: bool) -> tuple[Config, ...]:
    if interpreted:
        return (Config((("XBLOCK", min(power(points), INTERPRETED_POINTS)),), 4, 1),)
    if points < 1 << 16:
        return tuple(
            Config((("XBLOCK", block),), warps, 1) for block, warps in ((128, 2), (256, 4))
        )
    return tuple(
        Config((("XBLOCK", block),), warps, 1)
        for block, warps in ((1024, 4), (512, 4), (512, 8), (1024, 8), (2048, 8))
    )


def _persistent(outer: int, rblock: int, contiguous: bool) -> tuple[Config, ...]:
    points = 2048 if contiguous else 4096
    xblock = max(1, min(power(outer), points // rblock))
    if not contiguous:
        xblock = max(xblock, min(power(outer), 16))
    shapes = {xblock, max(1, xblock // 2), min(power(outer), xblock * 2)}
    configs = [
        Config((("XBLOCK", x), ("RBLOCK", rblock)), _warps(x * rblock), 1)
        for x in (xblock, *sorted(shapes - {xblock}))
    ]
    wider = [
        Config(c.blocks, warps, 1)
        for c in configs[:1]
        for warps in (c.num_warps * 2, c.num_warps // 2)
        if 1 <= warps <= 16
    ]
    return (*configs, *wider)


def _looped(outer: int, length: int, contiguous: bool) -> tuple[Config, ...]:
    if contiguous:
        shapes = ((1, 2048, 8), (1, 4096, 16), (4, 1024, 8), (1, 1024, 4))
    else:
        shapes = ((32, 64, 16), (16, 128, 8), (64, 32, 8), (64, 64, 16))
    return tuple(
        Config((("XBLOCK", min(x, power(outer))), ("RBLOCK", min(r, power(length)))), warps, 1)
        for x, r, warps in shapes
    )


def _warps(points: int) -> int:
    """Eight elements a thread; sixteen where that takes more than eight warps, by measurement."""
    return min(16, max(1, power(points // (256 if points <= 2048 else 512))))


def _inner_contiguous(nest: Nest, values: Values) -> bool:
    """Whether neighbours in memory lie along the inner loops, for most loads."""
    loads = [v for v in values.ordered([s.value for s in nest.stores]) if v.op == "load"]
    return ix.along([v.attrs[1] for v in loads], nest.rvariables[-1], nest.variables)
