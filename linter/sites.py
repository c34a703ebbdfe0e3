"""Where a fix stands and what is known of the values that reach it: what a proof starts from."""

from __future__ import annotations

from typing import Any

from ..rules.base import facts as f
from ..rules.base.finding import Site
from .analysis.frame import Frame

_DEPTH = 4


def site_of(frame: Frame) -> Site | None:
    """Return the site of a frame, None at module level."""
    if frame.function is None:
        return None
    parameters = tuple((name, spec_of(fact)) for name, fact in frame.parameters.items())
    return Site(frame.function.qualname, frame.function.node.lineno, parameters)


def spec_of(fact: f.Fact, depth: int = 0) -> list[Any]:
    """Return a fact as JSON values.

    ["tensor", rank, dtype, role, single] (rank None and dtype "" when unknown) · ["const", value]
    · ["static", kind] · ["size"] · ["number", kind] (read from a tensor) · ["array", rank, dtype]
    · ["sequence", kind, items or None, element] · ["mapping", kind, [[key, spec], …]]
    · ["object", module, qualified name] · ["extern", name] · ["either", specs] · ["unknown"]
    """
    if depth > _DEPTH:
        return ["unknown"]
    if isinstance(fact, f.Union):
        return ["either", [spec_of(option, depth + 1) for option in fact.options]]
    if isinstance(fact, f.Tensor):
        return ["tensor", fact.rank, fact.dtype, fact.role, fact.single]
    if isinstance(fact, f.Const) and isinstance(fact.value, (type(None), bool, int, float, str)):
        return ["const", fact.value]
    if isinstance(fact, f.Static):
        return ["static", fact.kind]
    if isinstance(fact, f.ShapeInt):
        return ["size"]
    if isinstance(fact, f.FromTensor):
        return ["number", fact.kind]
    if isinstance(fact, f.Array):
        return ["array", fact.rank, fact.dtype]
    if isinstance(fact, f.Sequence):
        items = None if fact.items is None else [spec_of(i, depth + 1) for i in fact.items]
        return ["sequence", fact.kind, items, spec_of(fact.elem, depth + 1)]
    if isinstance(fact, f.Mapping):
        pairs = [[key, spec_of(value, depth + 1)] for key, value in fact.items]
        return ["mapping", fact.kind, pairs]
    if isinstance(fact, f.Instance):
        if isinstance(fact.cls, str):
            return ["object", *fact.cls.rpartition(".")[::2]]
        return ["object", fact.cls.module.name, fact.cls.qualname]
    if isinstance(fact, f.Extern):
        return ["extern", fact.name]
    return ["unknown"]
