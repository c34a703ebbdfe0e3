"""Numbers that Python drew at random, where they are used."""

from __future__ import annotations

from ..base import Fact, FromTensor, Sequence, options


def drawn_in(fact: Fact) -> Fact | None:
    """Return the alternative that is an int drawn at random by a call Dynamo wraps, else None."""
    for option in options(fact):
        if isinstance(option, FromTensor) and option.how == "random" and option.kind in ("int", ""):
            return option
    return None


def bound_in(fact: Fact) -> Fact | None:
    """Return the number drawn at random that bounds a slice, also inside an index tuple."""
    if not isinstance(fact, Sequence) or fact.kind not in ("slice", "tuple"):
        return None
    for item in fact.items or ():
        found = bound_in(item) if isinstance(item, Sequence) else drawn_in(item)
        if found is not None:
            return found
    return None


__all__ = ["bound_in", "drawn_in"]
