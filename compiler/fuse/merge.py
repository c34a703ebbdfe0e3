"""Two nests as one, where that keeps their meaning."""

from __future__ import annotations

from dataclasses import replace

import sympy
from sympy import Expr, Symbol

from ..ir import index as ix
from ..ir.nodes import Nest, Store
from ..ir.stores import rewritten, values_under
from ..ir.values import Value, Values
from ..triton.schedule import LARGEST_COLUMN
from .align import alignments

MOST_VALUES = 2000  # in one kernel; more makes Triton slow to compile and spills registers
MOST_BUFFERS = 48
SERIAL_INNER = 4096  # elements a program may walk alone
FEW_PROGRAMS = 64
HEAVY_VALUES = 64  # of one element: a window's maximum, say, but not an activation
FEW_ROWS = 1024


def merge(first: Nest, second: Nest, values: Values) -> Nest | None:
    """`second` may read what `first` writes, never the other way round; None if it can't be."""
    if first.rvariables and second.rvariables and first.rsizes != second.rsizes:
        if sympy.expand(ix.product(first.rsizes) - ix.product(second.rsizes)) != 0:
            return None
    if _clash(first, second):
        return None
    swapped = bool(second.rvariables) and not first.rvariables
    host, guest = (second, first) if swapped else (first, second)
    for mapping in alignments(guest, host, values):
        merged = _merged(first, second, guest, host, mapping, values)
        if merged is not None:
            return merged
    return None


def _clash(first: Nest, second: Nest) -> bool:
    """Whether some point of one nest would have to wait for another point of the other.

    A buffer that both write, as where a scatter follows the copy it writes to; additions, which
    count the loops' points, beside inner loops that they don't depend on.
    """
    if {s.buffer.name for s in first.stores} & {s.buffer.name for s in second.stores}:
        return True
    added = any(s.mode == "add" for s in (*first.stores, *second.stores))
    return added and bool(first.rvariables or second.rvariables)


def _merged(
    first: Nest,
    second: Nest,
    guest: Nest,
    host: Nest,
    mapping: dict[Symbol, Expr],
    values: Values,
) -> Nest | None:
    if host.rvariables and not guest.rvariables:
        if _serializes(mapping, host, guest, first) or _burdens(host, guest, first, values):
            return None
    moved = _moved(guest, mapping, host, values)
    before, after = (moved, host.stores) if guest is first else (host.stores, moved)
    joined = _joined(before, after, first, second, host, values)
    if joined is None:
        return None
    stores = (*before, *joined)
    if len(values.ordered([s.value for s in stores])) > MOST_VALUES:
        return None
    if _inner_disagrees(stores, host, values):
        return None
    if host.rvariables and _rewrites_inside(stores, first.inplace | second.inplace, host, values):
        return None
    return replace(
        host,
        stores=stores,
        inplace=first.inplace | second.inplace,
        origins=tuple(dict.fromkeys((*first.origins, *second.origins))),
        names=(*first.names, *second.names),
    )


def _moved(
    guest: Nest, mapping: dict[Symbol, Expr], host: Nest, values: Values
) -> tuple[Store, ...]:
    """The guest's stores in the host's variables."""
    if all(a == b for a, b in mapping.items()):
        return guest.stores
    return rewritten(guest.stores, mapping, host.loops, values)


def _joined(
    before: tuple[Store, ...],
    after: tuple[Store, ...],
    first: Nest,
    second: Nest,
    host: Nest,
    values: Values,
) -> tuple[Store, ...] | None:
    """The second nest's stores, reading the first's results from registers; None if they can't."""
    made = {store.buffer.name: store for store in before}
    rewritten_inputs = {store.buffer.name for store in after if store.buffer.name in second.inplace}
    read_before = {
        (v.attrs[0], v.attrs[1])
        for v in values_under(before, values)
        if v.op == "load" and v.attrs[0] in rewritten_inputs
    }
    places = {store.buffer.name: store.position for store in after}
    if any(
        _computed(position, values) or places[name] != position for name, position in read_before
    ):
        return None  # another point may have been overwritten already
    failed = False

    def on_load(load: Value) -> Value | None:
        nonlocal failed
        store = made.get(load.attrs[0])
        if store is None:
            return None
        unknown = store.mode != "set" or _computed(store.position, values)
        if unknown or store.position != load.attrs[1]:
            failed = True
            return None
        value = store.value
        if store.buffer.dtype != value.dtype and store.buffer.dtype.itemsize < value.dtype.itemsize:
            value = values.round_to(value, store.buffer.dtype)
        if load.args:
            return values.where(load.args[0], value, values.cast(load.args[1], value.dtype))
        return value

    changed = rewritten(after, {}, host.loops, values, on_load)
    return None if failed else changed


def _computed(position: Expr, values: Values) -> bool:
    """Whether a place is data, so that several points may share it."""
    return any(values.behind(symbol) is not None for symbol in position.free_symbols)  # type: ignore[arg-type]


def _serializes(mapping: dict[Symbol, Expr], host: Nest, guest: Nest, first: Nest) -> bool:
    """Whether a wide pointwise nest would be walked by few programs, after a reduction."""
    if guest is first:
        return False
    inner = set(host.rvariables)
    if not any(e.free_symbols & inner for e in mapping.values()):
        return False
    outer, length = ix.product(host.sizes), ix.product(host.rsizes)
    if not length.is_Integer or not outer.is_Integer:
        return False
    return int(length) > SERIAL_INNER and int(outer) < FEW_PROGRAMS


def _burdens(host: Nest, guest: Nest, first: Nest, values: Values) -> bool:
    """Whether a reduction by few programs would compute a heavy producer, maybe in every pass.

    On its own the producer runs on the whole GPU, and keeps its registers to itself.
    """
    if guest is not first:
        return False
    outer, length = ix.product(host.sizes), ix.product(host.rsizes)
    if not length.is_Integer or not outer.is_Integer:
        return False
    if int(length) <= SERIAL_INNER or int(outer) >= FEW_ROWS:
        return False
    return len(values.ordered([s.value for s in guest.stores])) > HEAVY_VALUES


def _inner_disagrees(stores: tuple[Store, ...], host: Nest, values: Values) -> bool:
    """Whether some reduction doesn't run over exactly the host's inner loops."""
    inner = set(host.rvariables)
    for value in values_under(stores, values):
        if value.op == "reduce" and set(value.attrs[1]) != inner:
            return True
        if value.op == "scan" and {value.attrs[1]} != inner:
            return True
    return False


def _rewrites_inside(
    stores: tuple[Store, ...], inplace: frozenset[str], host: Nest, values: Values
) -> bool:
    """Whether inner points of an input are overwritten that a later pass may read again."""
    length = ix.product(host.rsizes)
    if length.is_Integer and int(length) <= LARGEST_COLUMN:
        return False  # one pass: everything is read before anything is written
    inner = set(host.rvariables)
    read = {v.attrs[0] for v in values.ordered([s.value for s in stores]) if v.op == "load"}
    return any(
        store.buffer.name in inplace & read and store.position.free_symbols & inner
        for store in stores
    )
