"""What must hold of a lowered graph, whichever pass made it."""

from __future__ import annotations

from ..errors import VerifyError
from . import index as ix
from .nodes import Buffer, Call, Graph, Nest, View
from .stores import values_under
from .values import Values


def verify(graph: Graph, values: Values, after: str) -> None:
    """Check that buffers are written before they're read and that loops bind their variables.

    Raises:
        VerifyError: Naming the pass (`after`), the node and what's wrong.
    """
    known = {b.name for b in graph.inputs if isinstance(b, Buffer)} | set(graph.constants)
    for node in graph.nodes:
        if isinstance(node, Call):
            _need(node.reads <= known, after, node, f"reads {node.reads - known} too early")
            known |= {b.name for _, b in node.outputs}
        else:
            _nest(node, values, known, after)
            known |= {s.buffer.name for s in node.stores}
    for value in graph.outputs:
        if isinstance(value, View):
            name = value.buffer.name
            _need(name in known, after, graph.nodes[-1] if graph.nodes else None, f"returns {name}")


def _nest(nest: Nest, values: Values, known: set[str], after: str) -> None:
    loops = set(nest.loops)
    inner = set(nest.rvariables)
    made = {s.buffer.name for s in nest.stores} - nest.inplace
    _need(bool(nest.stores), after, nest, "stores nothing")
    _need(len(loops) == len(nest.variables) + len(nest.rvariables), after, nest, "repeats a loop")
    for store in nest.stores:
        bound = store.value.symbols | {
            s for s in store.position.free_symbols if isinstance(s, ix.Loop)
        }
        _need(bound <= loops, after, nest, f"uses {bound - loops} outside its loops")
        _need(store.mode in ("set", "add"), after, nest, f"stores by {store.mode!r}")
    for value in values_under(nest.stores, values):
        if value.op == "load":
            name = value.attrs[0]
            _need(name in known and name not in made, after, nest, f"reads {name} too early")
        elif value.op == "reduce":
            _need(set(value.attrs[1]) == inner, after, nest, "reduces over other loops")
        elif value.op == "scan":
            _need({value.attrs[1]} == inner, after, nest, "scans over other loops")


def _need(holds: bool, after: str, node: Nest | Call | None, wrong: str) -> None:
    if not holds:
        raise VerifyError(f"after {after}: {wrong}, in\n{node}")
