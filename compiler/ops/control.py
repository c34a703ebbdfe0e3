"""Control flow: which higher-order operators the host program runs on subgraphs of our own.

Each becomes a `Call` whose subgraphs are named constants; the pipeline compiles these like the
graph around them, and the host program calls them as functions.
"""

from __future__ import annotations

from typing import Any

import torch

HOSTED = frozenset("cond while_loop while_loop_stack_output scan map_impl associative_scan".split())


def hosted(target: Any) -> str | None:
    """The name of a higher-order operator that the host program runs itself, or None."""
    if not isinstance(target, torch._ops.HigherOrderOperator):
        return None
    name = target.__name__
    return name if name in HOSTED else None


def writes(gm: torch.fx.GraphModule) -> bool:
    """Whether a graph may write into its operands."""
    for node in gm.graph.nodes:
        if node.op == "get_attr":
            part = getattr(gm, str(node.target), None)
            if isinstance(part, torch.fx.GraphModule) and writes(part):
                return True
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:
            return True
    return False
