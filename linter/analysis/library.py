"""Calls into the standard library and other packages: what they give."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    NONE,
    UNKNOWN,
    Fact,
    FromTensor,
    Function,
    Instance,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    join,
    join_all,
)
from . import calls, expressions, stdlib
from .builtin_calls import data_of, first, make_dict, make_sequence, read_into
from .frame import Frame
from .ranks import of_pattern

if TYPE_CHECKING:
    from .calls import Arguments


def library(frame: Frame, node: ast.Call, name: str, given: Arguments) -> Fact:
    """Return the result of a call into the standard library or another package."""
    top, _, last = name.rpartition(".")
    if top == "math":
        found = next((f for f in map(data_of, given.args) if f is not None), None)
        if found is not None:
            read = read_into(frame, node, found, "float")
            # math.sqrt(t) breaks in every mode; math.sqrt(t.item()) is carried on as a symbol
            return read if isinstance(found, FromTensor) else replace(read, how="call")
        whole = last in ("ceil", "floor", "prod", "gcd", "comb", "isqrt", "trunc")
        kind = "int" if whole else "bool" if last.startswith("is") else "float"
        if any(isinstance(a, ShapeInt) for a in given.args):
            return ShapeInt(kind)
        return Static(kind)
    if name in ("copy.deepcopy", "copy.copy", "typing.cast"):
        if name == "typing.cast":
            return given.args[1] if len(given.args) > 1 else UNKNOWN
        return first(given)
    if name == "functools.partial":
        return _partial(given)
    if name in ("functools.reduce",) and len(given.args) >= 2:
        elem = expressions.element_of(frame, given.args[1], node)
        if isinstance(given.args[0], Function):
            return calls.call_function(frame, node, given.args[0], [elem, elem], {})
        return elem
    if name.startswith("itertools."):
        return _itertools(frame, node, last, given)
    if name in ("collections.OrderedDict", "collections.defaultdict"):
        extra = calls.Arguments(given.args[1:] if last == "defaultdict" else given.args)
        made = make_dict(frame, node, extra)
        return made
    if name == "collections.namedtuple":
        return stdlib.named_tuple(given.args)
    if name == "collections.deque":
        return make_sequence("deque")(frame, node, given)
    if name.startswith("einops.") or name in _TENSOR_LIBRARY:
        source = next((f for f in map(data_of, given.args) if f is not None), None)
        origin = frame.origin(
            node, f"`{frame.module.segment(node)}`", source.origin if source else None
        )
        known = last in ("rearrange", "repeat", "reduce") and len(given.args) > 1
        rank = of_pattern(given.args[1]) if known else None
        return Tensor(rank, origin=origin, sure=source.sure if source else False)
    found = stdlib.made(frame, node, name)
    if found is not None:
        return found
    if top == "random" and last[:1].islower():
        return stdlib.random_draw(frame, node, last, given, False)
    if last[:1].isupper() and top:
        return Instance(name)
    return UNKNOWN


_TENSOR_LIBRARY = frozenset({"opt_einsum.contract", "torch_scatter.scatter"})


def _partial(given: Arguments) -> Fact:
    target = first(given)
    rest = tuple(given.args[1:])
    if isinstance(target, Function):
        return Function(
            target.function,
            target.bound,
            target.closure,
            target.partial + rest,
            origin=target.origin,
        )
    return target if not rest else UNKNOWN


def _itertools(frame: Frame, node: ast.Call, last: str, given: Arguments) -> Fact:
    elems = [expressions.element_of(frame, fact, node) for fact in given.args]
    if last in ("chain", "cycle", "islice", "takewhile", "dropwhile"):
        return Sequence("generator", None, join_all(elems[:1] if last == "islice" else elems))
    if last == "count":
        return Sequence("generator", None, Static("int"))
    if last == "product":
        return Sequence("generator", None, Sequence("tuple", tuple(elems)))
    if last in ("combinations", "permutations", "pairwise", "combinations_with_replacement"):
        return Sequence("generator", None, Sequence("tuple", None, join_all(elems[:1])))
    if last == "repeat":
        return Sequence("generator", None, first(given))
    if last == "accumulate":
        return Sequence("generator", None, join_all(elems[:1]))
    if last == "zip_longest":
        filled = tuple(join(e, NONE) for e in elems)
        return Sequence("generator", None, Sequence("tuple", filled))
    return Sequence("generator", None, UNKNOWN)
