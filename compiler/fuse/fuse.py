"""Which nests become one kernel: the pairs that save the most memory traffic, first."""

from __future__ import annotations

import logging
from dataclasses import replace

from sympy import Expr

from ..ir import index as ix
from ..ir.nodes import Buffer, Call, Graph, Nest, View
from ..ir.values import Values
from .align import accesses
from .merge import MOST_BUFFERS, merge

log = logging.getLogger("compile_lint.fusion")
SMALL = 1 << 20  # bytes written by a nest that is launched for little
UNKNOWN_SIZE = 8192  # stands for a symbolic size when bytes are compared


def fuse(graph: Graph, values: Values) -> Graph:
    """Merge nests greedily, drop what nobody reads, keep the order of dependences."""
    nodes = _Dependences(graph, values)
    for node in list(nodes.order):
        nodes.absorb_producers(node)
    nodes.join_small_first()
    fused = [nodes.nests[k] for k in nodes.sorted()]
    kept = Graph(graph.inputs, _without_dead_stores(fused, graph, values), graph.outputs)
    kept.constants = graph.constants
    return kept


class _Dependences:
    """The nodes of a graph by number, what each reads and writes, and who comes before whom."""

    def __init__(self, graph: Graph, values: Values) -> None:
        self.values = values
        self.nests: dict[int, Nest | Call] = dict(enumerate(graph.nodes))
        self.order = list(self.nests)
        self.reads: dict[int, set[str]] = {}
        self.writes: dict[int, set[str]] = {}
        self.before: dict[int, set[int]] = {k: set() for k in self.nests}
        self.sizes: dict[str, int] = {}
        self.nests_at: dict[str, set[int]] = {}  # by the buffers that they read or write
        for k, node in self.nests.items():
            self._note(k, node)
        writers: dict[str, int] = {}
        readers: dict[str, set[int]] = {}
        for k in self.order:
            for name in self.reads[k]:
                if name in writers:
                    self.before[k].add(writers[name])
                readers.setdefault(name, set()).add(k)
            for name in self.writes[k]:
                if name in writers:
                    self.before[k].add(writers[name])
                self.before[k] |= readers.get(name, set()) - {k}
                writers[name] = k

    def _note(self, k: int, node: Nest | Call) -> None:
        if isinstance(node, Call):
            self.reads[k] = set(node.reads)
            self.writes[k] = {b.name for _, b in node.outputs} | set(node.inplace)
            return
        read, written = accesses(node, self.values)
        self.reads[k], self.writes[k] = set(read), set(written)
        for name in self.reads[k] | self.writes[k]:
            self.nests_at.setdefault(name, set()).add(k)
        for store in node.stores:
            self.sizes[store.buffer.name] = _bytes(store.buffer.size, store.buffer.dtype.itemsize)

    def ancestors(self, k: int) -> set[int]:
        seen: set[int] = set()
        stack = list(self.before[k])
        while stack:
            other = stack.pop()
            if other not in seen:
                seen.add(other)
                stack.extend(self.before[other])
        return seen

    def absorb_producers(self, k: int) -> None:
        """Merge into node k, again and again, the earlier nest that shares most bytes with it."""
        refused: set[int] = set()
        while k in self.nests and isinstance(self.nests[k], Nest):
            touched = self.reads[k] | self.writes[k]
            others = set().union(*(self.nests_at[name] for name in touched)) - refused - {k}
            candidates = [(n, j) for j in others if (n := self._shared(j, k)) > 0]
            if not candidates:
                return
            _, j = max(candidates)
            first, second = self._first_of(j, k)
            if not self._try(first, second):
                refused.add(j)
            else:
                k = second

    def join_small_first(self) -> None:
        """Merge small nests over the same loops that wait for nothing: they may all run first.

        A network's counters, say, or its weights laid out anew: kernels of a microsecond each.
        """
        groups: dict[tuple, list[int]] = {}
        for k, nest in self.nests.items():
            if isinstance(nest, Nest) and not self.before[k] and not nest.rvariables:
                if sum(self.sizes.get(name, 0) for name in self.writes[k]) <= SMALL:
                    groups.setdefault((_device(nest), nest.sizes), []).append(k)
        for first, *others in groups.values():
            for k in others:
                self._try(first, k)  # merged or not: the next one tries to join this one
                first = k

    def _shared(self, j: int, k: int) -> int:
        """Bytes that need not move if the two are one."""
        passed = (self.writes[j] & self.reads[k]) | (self.writes[k] & self.reads[j])
        both = self.reads[j] & self.reads[k]
        return sum(2 * self.sizes.get(n, 1) for n in passed) + sum(
            self.sizes.get(n, 1) for n in both
        )

    def _first_of(self, j: int, k: int) -> tuple[int, int]:
        """The two in the order in which they must run; merging has left numbers out of order."""
        if k in self.ancestors(j):
            return k, j
        if j in self.ancestors(k):
            return j, k
        return min(j, k), max(j, k)

    def _try(self, first: int, second: int) -> bool:
        if self._path_between(first, second):
            return False
        if len(self.reads[first] | self.writes[first] | self.reads[second]) > MOST_BUFFERS:
            return False
        a, b = self.nests[first], self.nests[second]
        if not isinstance(a, Nest) or not isinstance(b, Nest):
            return False
        if _device(a) != _device(b):
            return False
        merged = merge(a, b, self.values)
        if merged is None:
            log.debug("kept apart: %s | %s", "+".join(a.names), "+".join(b.names))
            return False
        log.info("fused: %s + %s", "+".join(a.names), "+".join(b.names))
        del self.nests[first]
        for name in self.reads[first] | self.writes[first]:
            self.nests_at[name].discard(first)
        for name in self.reads[second] | self.writes[second]:
            self.nests_at[name].discard(second)
        self.nests[second] = merged
        self.before[second] = (self.before[second] | self.before.pop(first)) - {first, second}
        for others in self.before.values():
            if first in others:
                others.discard(first)
                others.add(second)
        self.before[second].discard(second)
        self._note(second, merged)
        return True

    def _path_between(self, first: int, second: int) -> bool:
        """Whether some third node must run after the first and before the second."""
        seen: set[int] = set()
        stack = [k for k in self.before[second] if k != first]
        while stack:
            k = stack.pop()
            if k == first:
                return True
            if k not in seen:
                seen.add(k)
                stack.extend(self.before[k])
        return False

    def sorted(self) -> list[int]:
        """A topological order that stays as near as can be to the original one."""
        done: set[int] = set()
        order: list[int] = []

        def visit(k: int) -> None:
            stack = [(k, iter(sorted(self.before[k])))]
            while stack:
                node, rest = stack[-1]
                following = next((b for b in rest if b not in done), None)
                if following is None:
                    stack.pop()
                    if node not in done:
                        done.add(node)
                        order.append(node)
                else:
                    stack.append((following, iter(sorted(self.before[following]))))

        for k in sorted(self.nests):
            if k not in done:
                visit(k)
        return order


def _device(nest: Nest) -> object:
    return nest.stores[0].buffer.device


def _bytes(size: tuple[Expr, ...], itemsize: int) -> int:
    total = ix.product(size)
    if not total.is_Integer:
        total = total.subs(dict.fromkeys(total.free_symbols, UNKNOWN_SIZE))
    return int(total) * itemsize if total.is_Integer else UNKNOWN_SIZE * itemsize


def _without_dead_stores(
    nodes: list[Nest | Call], graph: Graph, values: Values
) -> list[Nest | Call]:
    """Drop stores that no other node, call or output reads, from the end backwards."""
    wanted = {v.buffer.name for v in graph.outputs if isinstance(v, View)}
    wanted |= {b.name for b in graph.inputs if isinstance(b, Buffer)}
    kept: list[Nest | Call] = []
    for node in reversed(nodes):
        if isinstance(node, Call):
            kept.append(node)
            wanted |= node.reads
            continue
        stores = tuple(s for s in node.stores if s.buffer.name in wanted)
        if not stores:
            continue
        node = replace(node, stores=stores)
        kept.append(node)
        wanted |= set(accesses(node, values)[0])
    return kept[::-1]
