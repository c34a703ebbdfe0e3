"""The table of lowerings: which function lowers which operator.

A lowering takes the lowerer, the FX node and the node's arguments (tensors as `Lazy`, sizes as
expressions, everything else as it stands) and returns a `Lazy` or a tuple of them. It raises
`LoweringError` for what it doesn't take, and the operator runs by ATen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch

Lowering = Callable[..., Any]
_BY_NAME: dict[str, Lowering] = {}


def lowering(*names: str) -> Callable[[Lowering], Lowering]:
    """Register for operators by name: "aten.sum" takes every overload, "aten.sum.default" one."""

    def register(function: Lowering) -> Lowering:
        for name in names:
            if name in _BY_NAME:
                raise ValueError(f"{name} has two lowerings")
            _BY_NAME[name] = function
        return function

    return register


def lowering_of(target: Any) -> Lowering | None:
    """The lowering of an operator, or None."""
    _load_all()
    if not isinstance(target, torch._ops.OpOverload):
        return None
    name = str(target)
    return _BY_NAME.get(name) or _BY_NAME.get(name.rpartition(".")[0])


def lowered_names() -> frozenset[str]:
    """Every name in the table."""
    _load_all()
    return frozenset(_BY_NAME)


@lru_cache(maxsize=1)
def _load_all() -> None:
    # A family is one module; importing it fills the table.
    from . import (  # noqa: F401
        convolutions,
        creation,
        indexing,
        joins,
        mutation,
        norms,
        pointwise,
        reductions,
        scans,
        scatter,
        special,
        views,
        windows,
    )
