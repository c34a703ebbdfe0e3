"""What the rules on Python containers share: the tensors that a container holds."""

from __future__ import annotations

from ..base import UNKNOWN, Array, Fact, Mapping, Sequence, Tensor, join_all, options

DEPTH = 4  # containers nested deeper than this aren't looked into


def element_of(fact: Fact) -> Fact:
    """Return what iterating a value yields, as one fact."""
    return join_all(_elements(option) for option in options(fact))


def _elements(fact: Fact) -> Fact:
    if isinstance(fact, Sequence):
        return fact.element()
    if isinstance(fact, Mapping):
        return UNKNOWN  # keys
    return fact if isinstance(fact, (Tensor, Array)) else UNKNOWN


def tensor_inside(fact: Fact, depth: int = DEPTH) -> Fact | None:
    """Return a tensor that the value is or holds, None when none is known."""
    for option in options(fact):
        if isinstance(option, Tensor) or (isinstance(option, Array) and not option.constant):
            return option
        inner: tuple[Fact, ...] = ()
        if isinstance(option, Sequence):
            inner = option.items if option.items is not None else (option.elem,)
        elif isinstance(option, Mapping):
            inner = (*(value for _, value in option.items), option.elem)
        for part in inner if depth else ():
            found = tensor_inside(part, depth - 1)
            if found is not None:
                return found
    return None
