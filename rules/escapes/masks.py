"""What the mask rules share: boolean masks inside a subscript."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..base import (
    UNKNOWN,
    Array,
    Certainty,
    Const,
    Context,
    Fact,
    Sequence,
    Static,
    Tensor,
    options,
)
from .data import held

_NAMED = re.compile(r"(^|_)masks?(_bool)?$", re.IGNORECASE)


def parts(index: ast.expr) -> list[ast.expr]:
    """Return the expressions between the commas of a subscript."""
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def mask_in(node: ast.Subscript, ctx: Context) -> tuple[Fact, Certainty | None] | None:
    """Return the fact of a boolean mask that indexes a tensor, None when there is none.

    Certainty is LIKELY where only the name says that the tensor is a mask, or only the mask that
    something is a tensor: nothing else is indexed with one.
    """
    whole = ctx.fact(node.value)
    base = held(whole)
    for part in parts(node.slice):
        for fact in _pieces(ctx.fact(part)):
            if isinstance(fact, (Tensor, Array)):
                if base is None:
                    if whole is UNKNOWN and _certain_mask(fact):
                        return fact, Certainty.LIKELY
                    continue
                if fact.dtype == "bool" and fact.rank != 0:
                    return fact, None
                if fact.dtype == "" and fact.rank != 0 and _NAMED.search(_last_name(part)):
                    return fact, Certainty.LIKELY
            elif isinstance(fact, Sequence) and fact.kind == "list" and _bools(fact):
                # nothing but tensors and arrays takes a list as an index
                return fact, None if base is not None else Certainty.LIKELY
    return None


def _certain_mask(fact: Tensor | Array) -> bool:
    """Say whether it is a boolean tensor of at least one dimension, and none that comes in."""
    made = isinstance(fact, Tensor) and fact.role == "" and fact.sure
    return made and fact.dtype == "bool" and fact.rank is not None and fact.rank > 0


def _pieces(fact: Fact) -> Iterator[Fact]:
    """The alternatives of a fact; for a tuple that was built elsewhere, those of its elements."""
    for option in options(fact):
        if isinstance(option, Sequence) and option.kind == "tuple" and option.items:
            for item in option.items:
                yield from options(item)
        else:
            yield option


def _bools(fact: Sequence) -> bool:
    items = (fact.elem,) if fact.items is None else fact.items
    return bool(items) and all(
        isinstance(item, (Const, Static)) and item.kind == "bool" for item in items
    )


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
