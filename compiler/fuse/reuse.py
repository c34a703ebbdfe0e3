"""Which buffers take over the memory of one that their own kernel reads for the last time.

A chain of pointwise kernels between matrix products then holds one tensor less at its peak.
"""

from __future__ import annotations

from sympy import Expr

from ..ir.nodes import Buffer, Call, Graph, Nest, Product, Store, View
from ..ir.values import Values
from ..triton.schedule import schedule
from .align import Accesses, accesses

# Their results surely are new memory. A schema doesn't tell: native_dropout's promises that too,
# and gives its operand back where it drops nothing.
_FRESH = frozenset(
    f"aten::{name}"
    for name in ("mm", "bmm", "addmm", "baddbmm", "convolution", "convolution_backward")
)


def takeovers(graph: Graph, values: Values, interpreted: bool = False) -> dict[str, Buffer]:
    """By the name of each buffer that needs no memory of its own: the one whose memory it takes."""
    owned = _owned(graph)
    reads = [_read(node, values) for node in graph.nodes]
    last = {name: k for k, read in enumerate(reads) for name in read}
    found: dict[str, Buffer] = {}
    for k, node in enumerate(graph.nodes):
        dying = {name for name in reads[k] if last[name] == k and name in owned}
        if not isinstance(node, Nest) or not dying:
            continue
        if not schedule(node, values, interpreted).persistent:
            continue  # what is walked in passes is read again after it was written
        for store in node.stores:
            name = _taken(store, node, dying, reads[k], owned)
            if name is not None:
                found[store.buffer.name] = owned[name]
                dying.remove(name)
    return found


def _owned(graph: Graph) -> dict[str, Buffer]:
    """Buffers whose memory nothing but this graph's program knows, and under no other name."""
    owned: dict[str, Buffer] = {}
    for node in graph.nodes:
        if isinstance(node, Nest):
            owned.update((s.buffer.name, s.buffer) for s in node.stores)
        elif _is_fresh(node):
            owned.update((b.name, b) for _, b in node.outputs)
    for node in graph.nodes:
        for name in node.inplace:
            owned.pop(name, None)
        if isinstance(node, Call) and not _is_fresh(node):
            for name in node.reads:  # its result may be a window on them
                owned.pop(name, None)
    for value in graph.outputs:
        if isinstance(value, View):
            owned.pop(value.buffer.name, None)
    return owned


def _is_fresh(call: Call) -> bool:
    if isinstance(call, Product):
        return True
    schema = getattr(call.target, "_schema", None)
    return schema is not None and schema.name in _FRESH


def _read(node: Nest | Call, values: Values) -> Accesses:
    """Positions by the buffer that is read; of a call they aren't known."""
    if isinstance(node, Call):
        return {name: [] for name in node.reads}
    return accesses(node, values)[0]


def _taken(
    store: Store, nest: Nest, dying: set[str], read: Accesses, owned: dict[str, Buffer]
) -> str | None:
    """A buffer that is read at each point where `store` writes, and nowhere else."""
    made = store.buffer
    if store.mode != "set" or made.name in nest.inplace or not _everywhere(store.position, nest):
        return None
    for name in sorted(dying):
        old = owned[name]
        alike = (old.dtype, old.device, old.extent) == (made.dtype, made.device, made.extent)
        if alike and read[name] == [store.position]:
            return name
    return None


def _everywhere(position: Expr, nest: Nest) -> bool:
    """Whether no two points of the loops share a place: else one may write what another reads."""
    return all(position.has(v) for v, n in nest.loops.items() if n != 1)
