"""How much of a nest one program takes: block sizes and warps, by rules of thumb.

Blocks are powers of two. The first configuration is the guess; max-autotune measures them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sympy import Expr, Symbol

from ..ir import index as ix
from ..ir.nodes import Nest
from ..ir.values import Value, Values
from .kernel import Config

LARGEST_PERSISTENT = 16384  # reduced elements that one program keeps in registers
LARGEST_COLUMN = 256  # the same where they lie apart, and neighbours in memory come along
HINT = 8192  # stands for a size that isn't known
INTERPRETED_POINTS = 1 << 17  # in one program: each operation costs the interpreter the same
ENOUGH_PROGRAMS = 1024  # to keep a large GPU busy with warps that work alone
# Tens of instructions for each element: the rest is bound by memory before it is by registers.
_COSTLY = frozenset(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan atan2 asinh "
    "acosh atanh erf erfc erfcx erfinv lgamma pow i0 i1 j0 j1 y0 y1 ndtri".split()
)


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
    ordered = values.ordered([s.value for s in nest.stores])
    if not nest.rvariables:
        return Schedule(True, _pointwise(outer, _one_stream(nest, ordered), interpreted))
    length = ix.product(nest.rsizes)
    scans = any(v.op == "scan" for v in ordered)
    contiguous = _inner_contiguous(nest, values)
    longest = LARGEST_PERSISTENT if contiguous else LARGEST_COLUMN
    persistent = scans or (length.is_Integer and int(length) <= longest)
    if interpreted:
        rblock = power(hint(length)) if persistent else min(power(hint(length)), 4096)
        xblock = max(1, min(power(outer), INTERPRETED_POINTS // rblock))
        return Schedule(persistent, (Config((("XBLOCK", xblock), ("RBLOCK", rblock)), 4, 1),))
    if persistent:
        rblock = power(hint(length))
        if contiguous:
            return Schedule(True, _rows(outer, rblock, _is_costly(ordered, nest.rvariables)))
        return Schedule(True, _columns(outer, rblock))
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


def _pointwise(points: int, one_stream: bool, interpreted: bool) -> tuple[Config, ...]:
    if interpreted:
        return (Config((("XBLOCK", min(power(points), INTERPRETED_POINTS)),), 4, 1),)
    if points < 1 << 16:
        return tuple(
            Config((("XBLOCK", block),), warps, 1) for block, warps in ((128, 2), (256, 4))
        )
    shapes = ((1024, 4), (512, 4), (512, 8), (1024, 8), (2048, 8))
    if one_stream:
        shapes = ((512, 4), (1024, 4), (1024, 8), (512, 2), (2048, 8))
    return tuple(Config((("XBLOCK", block),), warps, 1) for block, warps in shapes)


def _one_stream(nest: Nest, ordered: Sequence[Value]) -> bool:
    """Whether cheap work is done on one large tensor: then one wide load a thread is best."""
    whole = set(nest.variables)
    loads = [v for v in ordered if v.op == "load" and v.symbols >= whole]
    wide = all(store.buffer.dtype.itemsize >= 4 for store in nest.stores)
    return wide and len(loads) <= 1 and not _is_costly(ordered, nest.variables)


def _is_costly(ordered: Sequence[Value], variables: Sequence[Symbol]) -> bool:
    inner = set(variables)
    return any(v.op in _COSTLY and v.symbols & inner for v in ordered)


def _rows(outer: int, rblock: int, costly: bool) -> tuple[Config, ...]:
    """Rows in registers, measured for softmax, normalization and their gradients on an H200.

    A warp that has rows for itself needs no barrier to reduce them. Where rows are few or long, as
    many warps take one as leave each thread eight elements, sixteen where an element costs much.
    """
    if rblock <= 1024 and outer < ENOUGH_PROGRAMS:
        xblock = max(1, 256 // rblock)
        warps = max(1, rblock // 256)
        shapes = [(xblock, warps), (xblock, warps * 2), (xblock * 2, warps), (xblock * 2, 8)]
    elif rblock <= 512:
        xblock = 1024 // rblock
        while xblock * rblock > 256 and outer // xblock < ENOUGH_PROGRAMS:
            xblock //= 2
        shapes = [(xblock, 1), (xblock, 2), (xblock * 2, 2), (xblock * 2, 4), (xblock * 4, 8)]
    elif rblock == 1024:
        shapes = [(1, 2), (1, 4), (2, 2), (2, 4), (1, 1)]
    else:
        warps = min(16, rblock // 256)
        if costly and rblock > 2048:
            warps = min(16, rblock // 512)
        shapes = [(1, warps), (1, min(16, warps * 2)), (1, warps // 2), (2, 16), (2, 4)]
    return tuple(
        Config((("XBLOCK", x), ("RBLOCK", rblock)), warps, 1)
        for x, warps in dict.fromkeys((min(x, power(outer)), warps) for x, warps in shapes)
    )


def _columns(outer: int, rblock: int) -> tuple[Config, ...]:
    """The same where a row's elements lie apart: neighbouring rows share what is read."""
    xblock = max(1, min(power(outer), 4096 // rblock))
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
