"""What must be computed before memory is overwritten that it reads."""

from __future__ import annotations

from typing import Any

import torch

from .lazy import Lazy


class Pending:
    """The tensors of a graph that aren't computed yet, when an operator writes in place."""

    def __init__(self, lower: Any, gm: torch.fx.GraphModule) -> None:
        self.lower = lower
        self._place = {node: k for k, node in enumerate(gm.graph.nodes)}
        self._last_use = {
            node: max((self._place[user] for user in node.users), default=-1)
            for node in gm.graph.nodes
        }
        self._reads: dict[int, tuple[Lazy, frozenset[str]]] = {}

    def settle(
        self, writer: torch.fx.Node, written: set[str], env: dict[torch.fx.Node, Any]
    ) -> None:
        """Compute into memory what reads a written buffer and is used after the writer.

        What is a window on that buffer stays one: it shows what is written, in torch too.
        """
        here = self._place[writer]
        for node, value in list(env.items()):
            if self._last_use[node] > here:
                env[node] = self._kept(value, written)

    def _kept(self, value: Any, written: set[str]) -> Any:
        if isinstance(value, tuple):
            return tuple(self._kept(part, written) for part in value)
        if isinstance(value, Lazy) and value.view is None and self._read_by(value) & written:
            return self.lower.lazy(self.lower.realize(value))
        return value

    def _read_by(self, x: Lazy) -> frozenset[str]:
        known = self._reads.get(id(x))
        if known is None:
            index, variables = self.lower.variables("d", x.size, range(len(x.size)))
            self.lower.loops = {v: x.size[d] for d, v in variables.items()}
            loads = [] if 0 in x.size else self.lower.values.ordered([x.at(index)])
            read = frozenset(v.attrs[0] for v in loads if v.op == "load")
            known = self._reads[id(x)] = (x, read)  # x is kept, so that its id stays its own
        return known[1]
