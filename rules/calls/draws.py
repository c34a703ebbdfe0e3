"""Numbers that Python drew at random, where they are used."""

from __future__ import annotations

from ..base import Const, Fact, FromTensor, Sequence, ShapeInt, Static, options


def drawn_in(fact: Fact) -> Fact | None:
    """Return the alternative that is an int drawn at random by a call Dynamo wraps, else None."""
    for option in options(fact):
        if isinstance(option, FromTensor) and option.how == "random" and option.kind in ("int", ""):
            return option
    return None


def number_drawn(fact: Fact) -> FromTensor | None:
    """Return the alternative that is a number drawn at random by a call Dynamo wraps, else None."""
    for option in options(fact):
        if isinstance(option, FromTensor) and option.how == "random":
            return option
    return None


def drawn_with_numbers(left: Fact, right: Fact) -> FromTensor | None:
    """Return the drawn number of an operation whose other operand is a number of Python's."""
    for one, other in ((left, right), (right, left)):
        drawn = number_drawn(one)
        if drawn is not None and all(_number(option) for option in options(other)):
            return drawn
    return None


def _number(fact: Fact) -> bool:
    if isinstance(fact, (Const, Static)):
        return fact.kind in ("int", "float")
    return isinstance(fact, ShapeInt) or number_drawn(fact) is not None


def bound_in(fact: Fact) -> Fact | None:
    """Return the number drawn at random that bounds a slice, also inside an index tuple."""
    if not isinstance(fact, Sequence) or fact.kind not in ("slice", "tuple"):
        return None
    for item in fact.items or ():
        found = bound_in(item) if isinstance(item, Sequence) else drawn_in(item)
        if found is not None:
            return found
    return None


__all__ = ["bound_in", "drawn_in", "drawn_with_numbers", "number_drawn"]
