"""Fewer loops: neighbours that every access walks as one are one."""

# sympy says Basic where an Expr comes.
# pyright: reportArgumentType=false

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import sympy
from sympy import Add, Expr, Integer, Symbol

from ..ir import index as ix
from ..ir.nodes import Nest
from ..ir.stores import rewritten, values_under
from ..ir.values import Values


def collapse(nest: Nest, values: Values) -> Nest:
    """The same nest with as few loop variables as its accesses allow."""
    nest = _collapse_side(nest, values, inner=False)
    return _collapse_side(nest, values, inner=True)


def _collapse_side(nest: Nest, values: Values, inner: bool) -> Nest:
    changed = True
    while changed:
        changed = False
        variables = nest.rvariables if inner else nest.variables
        for outer, fast in pairwise(variables):
            merged = _merge_pair(nest, values, outer, fast, inner)
            if merged is not None:
                nest, changed = merged, True
                break
    return nest


def _merge_pair(
    nest: Nest, values: Values, outer: Symbol, fast: Symbol, inner: bool
) -> Nest | None:
    length = nest.loops[fast]
    under = values_under(nest.stores, values)
    if any(v.op == "scan" and v.attrs[1] in (outer, fast) for v in under):
        return None
    for value in under:
        if value.op in ("index", "load"):
            if not _walks_as_one(value.attrs[-1], outer, fast, length):
                return None
    # outer·length + fast is the fast variable of a loop of their product.
    mapping: dict[Symbol, Expr] = {outer: Integer(0)}
    total = sympy.expand(nest.loops[outer] * length)
    names = nest.rvariables if inner else nest.variables
    sizes = tuple(
        total if v == fast else n
        for v, n in zip(names, nest.rsizes if inner else nest.sizes)
        if v != outer
    )
    kept = tuple(v for v in names if v != outer)
    smaller = (
        replace(nest, rvariables=kept, rsizes=sizes)
        if inner
        else replace(nest, variables=kept, sizes=sizes)
    )
    return replace(smaller, stores=rewritten(nest.stores, mapping, smaller.loops, values))


def _walks_as_one(e: Expr, outer: Symbol, fast: Symbol, length: Expr) -> bool:
    if not e.has(outer) and not e.has(fast):
        return True
    plain: list[Expr] = []
    for term in Add.make_args(e):
        if term.has(ix.Div, ix.Rem):
            for call in term.atoms(ix.Div, ix.Rem):
                if not _walks_as_one(call.args[0], outer, fast, length):
                    return False
            rest = term.subs({call: Integer(1) for call in term.atoms(ix.Div, ix.Rem)})
            if rest.has(outer) or rest.has(fast):
                return False
        else:
            plain.append(term)
    affine = ix.coefficients(Add(*plain), [outer, fast])
    if affine is None:
        return False
    (a, b), _ = affine
    return sympy.expand(a - b * length) == 0
