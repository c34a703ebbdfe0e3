"""The stores of a nest taken together: the values under them, and the same in other variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sympy import Expr, Integer, Symbol

from . import index as ix
from .nodes import Store
from .values import Value, Values


def values_under(stores: Sequence[Store], values: Values) -> list[Value]:
    """Every value that the stores need, those inside their positions too, operands first."""
    places = [values.index(store.position) for store in stores]
    return values.ordered([*(store.value for store in stores), *places])


def rewritten(
    stores: Sequence[Store],
    mapping: Mapping[Symbol, Expr],
    sizes: ix.Sizes,
    values: Values,
    on_load: Callable[[Value], Value | None] | None = None,
) -> tuple[Store, ...]:
    """The stores in other loop variables; see `Values.substitute`."""
    places = [values.index(store.position) for store in stores]
    changed = values.substitute(
        [*(store.value for store in stores), *places], mapping, sizes, on_load
    )
    n = len(places)
    return tuple(
        replace(store, value=value, position=_expression(place))
        for store, value, place in zip(stores, changed[:n], changed[n:])
    )


def _expression(value: Value) -> Expr:
    return value.attrs[0] if value.op == "index" else Integer(value.attrs[0])
