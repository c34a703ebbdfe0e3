"""Sizes and numbers that depend on data: the symbols that a node's result makes known."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import ConvertIntKey
from torch.utils import _pytree as pytree


def makes_symbols(node: torch.fx.Node) -> bool:
    """Whether sizes or numbers that depend on data become known with this node's result."""
    reads_out = getattr(node.target, "name", lambda: "")() == "aten::_local_scalar_dense"
    return reads_out or bool(node.meta.get("unbacked_bindings"))


def bindings_of(node: torch.fx.Node) -> dict[Any, tuple]:
    """Symbols of sizes that depend on data, by where the node's result tells them."""
    value = node.meta.get("val")
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        number = value.node.expr  # the result is the number itself
        if number.is_Symbol:
            return {number: ()}
        if isinstance(value, torch.SymBool):  # Eq(u0, 1): the symbol is the result as 0 or 1
            return {symbol: (ConvertIntKey(),) for symbol in number.free_symbols}
        return {}
    bindings = node.meta.get("unbacked_bindings") or {}
    for leaf in pytree.tree_leaves(node.meta.get("val")):
        numbers = [leaf] if isinstance(leaf, torch.SymInt) else getattr(leaf, "shape", ())
        for number in numbers:
            if isinstance(number, torch.SymInt):
                # Tracing the graph anew has named them anew; shapes keep the first names.
                renamed = getattr(number.node.shape_env, "unbacked_renamings", {})
                return {renamed.get(symbol, symbol): path for symbol, path in bindings.items()}
    return bindings
