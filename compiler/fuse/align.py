"""How the loops of one nest map onto those of another.

Two nests can become one kernel when the guest's loop variables can be written in the host's, one
to one, so that what the guest reads of the host's results was computed at the same point.
"""

# sympy says Basic where an Expr comes.
# pyright: reportArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import sympy
from sympy import Expr, Integer, Symbol

from ..ir import index as ix
from ..ir.nodes import Nest
from ..ir.stores import values_under
from ..ir.values import Values

Mapped = Mapping[Symbol, Expr]
Accesses = dict[str, list[Expr]]


def accesses(nest: Nest, values: Values) -> tuple[Accesses, Accesses]:
    """(positions read, positions written) by buffer."""
    read: Accesses = {}
    written: Accesses = {}
    for value in values_under(nest.stores, values):
        if value.op == "load":
            read.setdefault(value.attrs[0], []).append(value.attrs[1])
    for store in nest.stores:
        written.setdefault(store.buffer.name, []).append(store.position)
    return read, written


def alignments(guest: Nest, host: Nest, values: Values) -> Iterator[dict[Symbol, Expr]]:
    """Ways to write the guest's variables in the host's, the likeliest first.

    Each is one to one between the guest's points and the points of all of the host's loops, or of
    its outer loops only. The caller checks that dependences hold.
    """
    tried: list[dict[Symbol, Expr]] = []
    for mapping in _candidates(guest, host, values):
        if mapping is not None and mapping not in tried and _one_to_one(mapping, guest, host):
            tried.append(mapping)
            yield mapping


def _candidates(guest: Nest, host: Nest, values: Values) -> Iterator[dict[Symbol, Expr] | None]:
    yield _by_name(guest, host)
    guest_read, guest_written = accesses(guest, values)
    host_read, host_written = accesses(host, values)
    for theirs, ours in (
        (guest_read, host_written),
        (guest_written, host_read),
        (guest_read, host_read),
    ):
        for name in theirs.keys() & ours.keys():
            for g in theirs[name][:2]:
                for h in ours[name][:2]:
                    yield _by_access(guest, host, g, h)
    if not guest.rvariables and not host.rvariables:
        yield _in_order(guest.variables, guest.sizes, host.variables, host.sizes, host)


def _by_name(guest: Nest, host: Nest) -> dict[Symbol, Expr] | None:
    """Variables are named for the dimension they run over: d1 is d1, or r1."""
    by_dim = {v.name[1:]: v for v in (*host.variables, *host.rvariables)}
    mapping: dict[Symbol, Expr] = {}
    for variable, size in guest.loops.items():
        twin = by_dim.get(variable.name[1:])
        if twin is None or host.loops[twin] != size:
            return None
        mapping[variable] = twin
    return mapping


def _by_access(guest: Nest, host: Nest, g: Expr, h: Expr) -> dict[Symbol, Expr] | None:
    """The mapping under which the guest's position g is the host's position h."""
    solved = _solve(g, guest.loops, h, host.loops)
    if solved is None:
        return None
    used = set().union(*(e.free_symbols for e in solved.values())) if solved else set()
    left = [v for v in guest.loops if v not in solved]
    free = [v for v in host.loops if v not in used]
    if not left:
        return solved
    if guest.rvariables:  # reductions must run over the same inner loops
        left_inner = [v for v in left if v in guest.rvariables]
        free_inner = [v for v in free if v in host.rvariables]
        pairs = [
            (left_inner, free_inner),
            ([v for v in left if v not in left_inner], [v for v in free if v not in free_inner]),
        ]
    else:
        pairs = [(left, free)]
    for unsolved, unused in pairs:
        rest = _in_order(
            unsolved,
            [guest.loops[v] for v in unsolved],
            unused,
            [host.loops[v] for v in unused],
            host,
        )
        if rest is None:
            return None
        solved.update(rest)
    return solved


def _solve(
    g: Expr, guest: Mapping[Symbol, Expr], h: Expr, host: Mapping[Symbol, Expr]
) -> dict[Symbol, Expr] | None:
    """Guest variables in the host's, from g(guest) = h(host), where g is affine and dense."""
    affine = ix.coefficients(g, list(guest))
    if affine is None:
        return None
    steps, offset = affine
    position = sympy.expand(h - offset)
    chain = [(c, v) for c, v in zip(steps, guest) if c != 0]
    if all(c.is_Integer for c, _ in chain):
        if any(int(c) < 0 for c, _ in chain):
            return None
        chain.sort(key=lambda pair: -int(pair[0]))
    solved: dict[Symbol, Expr] = {}
    for k, (step, variable) in enumerate(chain):
        place = ix.Div(position, step)
        if k > 0:
            before = chain[k - 1][0]
            if sympy.expand(before - step * guest[variable]) != 0:
                return None
            place = ix.Rem(place, guest[variable])
        solved[variable] = ix.simplify(place, host)
    return solved


def _in_order(
    guest: Sequence[Symbol],
    guest_sizes: Sequence[Expr],
    host: Sequence[Symbol],
    host_sizes: Sequence[Expr],
    nest: Nest,
) -> dict[Symbol, Expr] | None:
    """Both walked in the order of their loops."""
    if sympy.expand(ix.product(guest_sizes) - ix.product(host_sizes)) != 0:
        return None
    position = ix.flat(host, ix.contiguous_stride(host_sizes))
    parts = ix.unflatten(position, guest_sizes)
    return {v: ix.simplify(e, nest.loops) for v, e in zip(guest, parts)}


def _one_to_one(mapping: Mapped, guest: Nest, host: Nest) -> bool:
    used = set().union(*(e.free_symbols for e in mapping.values())) if mapping else set()
    outer, inner = set(host.variables), set(host.rvariables)
    if guest.rvariables:
        reached = [mapping[v].free_symbols for v in guest.rvariables]
        if set().union(*reached) != inner or not used >= outer:
            return False
        if any(mapping[v].free_symbols & inner for v in guest.variables):
            return False
    covered = used & (outer | inner)
    if covered != outer and covered != outer | inner:
        return False
    points = ix.product([host.loops[v] for v in host.loops if v in covered])
    if sympy.expand(points - ix.product(guest.loops.values())) != 0:
        return False
    for variable, e in mapping.items():
        top = ix.upper(e, host.loops)
        if top is None or not ix.known_less(top, guest.loops[variable]):
            return False
    return _injective(list(mapping.values()), [v for v in host.loops if v in covered], host)


def _injective(images: Sequence[Expr], variables: Sequence[Symbol], host: Nest) -> bool:
    """Whether distinct points have distinct images: each variable can be read off them."""
    known: set[Symbol] = set()
    remaining = list(images)
    progress = True
    while progress and len(known) < len(variables):
        progress = False
        for e in list(remaining):
            unknown = [v for v in variables if v not in known and e.has(v)]
            if not unknown:
                remaining.remove(e)
                continue
            if not e.has(ix.Div, ix.Rem) and _reads_off(e, unknown, host):
                known.update(unknown)
                remaining.remove(e)
                progress = True
    if len(known) == len(variables):
        return True
    return _digits(images, variables, host)


def _reads_off(e: Expr, unknown: Sequence[Symbol], host: Nest) -> bool:
    affine = ix.coefficients(e, unknown)
    if affine is None:
        return False
    steps = sorted(zip(affine[0], unknown), key=lambda p: (not p[0].is_Integer, str(p[0])))
    if all(c.is_Integer for c, _ in steps):
        steps.sort(key=lambda p: int(p[0]))
        reach = 0
        for c, v in steps:
            size = host.loops[v]
            if int(c) <= reach or not size.is_Integer:
                return len(steps) == 1 and int(c) > 0
            reach += int(c) * (int(size) - 1)
        return True
    step: Expr = Integer(1)
    for v in reversed(unknown):
        c = affine[0][list(unknown).index(v)]
        if sympy.expand(c - step) != 0:
            return False
        step = c * host.loops[v]
    return True


def _digits(images: Sequence[Expr], variables: Sequence[Symbol], host: Nest) -> bool:
    """One variable cut into quotient and remainder: (d // n, d % n) is one to one."""
    if len(variables) != 1:
        return False
    variable = variables[0]
    return (
        all(e.has(variable) for e in images)
        and all(
            e == variable or (isinstance(e, ix.Div | ix.Rem) and not _offset_of(e, variable))
            for e in images
        )
        and _product_of_ranges(images, host) == host.loops[variable]
    )


def _offset_of(e: Expr, variable: Symbol) -> bool:
    inner = e.args[0]
    while isinstance(inner, ix.Div | ix.Rem):
        inner = inner.args[0]
    return inner != variable


def _product_of_ranges(images: Sequence[Expr], host: Nest) -> Expr | None:
    total: Expr = Integer(1)
    for e in images:
        top = ix.upper(e, host.loops)
        if top is None:
            return None
        total = total * (top + 1)
    return sympy.expand(total)
