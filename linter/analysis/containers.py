"""Methods of lists, dicts, strings and other builtin containers."""

from __future__ import annotations

import ast

from ...rules.base.facts import (
    NONE,
    UNKNOWN,
    Const,
    Fact,
    FromTensor,
    Mapping,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    const,
    join,
    join_all,
    options,
)
from . import builtin_calls
from .frame import Frame, path_of

# Methods that change the container.
CHANGING = frozenset(
    "append add appendleft insert extend update pop popleft clear reverse sort remove "
    "setdefault".split()
)


def method(
    frame: Frame,
    node: ast.Call,
    receiver: Sequence | Mapping,
    name: str,
    args: list[Fact],
    kwargs: dict[str, Fact],
) -> Fact:
    """Return the result of a container's method, and what it did to the container."""
    if isinstance(receiver, Mapping):
        return _mapping(frame, node, receiver, name, args, kwargs)
    if name == "sort" and "key" in kwargs:
        builtin_calls.apply(frame, node, kwargs["key"], [receiver.element()])
    return _sequence(frame, node, receiver, name, args)


def _store(frame: Frame, node: ast.Call, fact: Fact) -> None:
    """The container that a method was called on is now `fact`."""
    path = path_of(node.func.value) if isinstance(node.func, ast.Attribute) else None
    if path is not None and frame.env is not None:
        frame.put(path, fact)
        if "." in path:
            old = frame.stores.get(path)
            frame.stores[path] = fact if old is None else join(old, fact)


def _sequence(frame: Frame, node: ast.Call, seq: Sequence, name: str, args: list[Fact]) -> Fact:
    value = args[-1] if args else UNKNOWN
    if name in ("append", "add", "appendleft"):
        if seq.items is not None and name == "append" and len(seq.items) < 64:
            _store(frame, node, Sequence(seq.kind, (*seq.items, value), origin=seq.origin))
        else:
            _store(frame, node, _grown(seq, value))
        return NONE
    if name == "insert":
        _store(frame, node, _grown(seq, value))
        return NONE
    if name in ("extend", "update"):
        if isinstance(value, Sequence) and value.items is not None and seq.items is not None:
            _store(frame, node, Sequence(seq.kind, seq.items + value.items, origin=seq.origin))
        elif isinstance(value, Sequence):
            _store(frame, node, _grown(seq, value.element()))
        else:
            _store(frame, node, Sequence(seq.kind, None, join(seq.element(), UNKNOWN)))
        return NONE
    if name in ("pop", "popleft"):
        popped = seq.element()
        if seq.items and name == "pop" and not args:
            popped = seq.items[-1]
            _store(frame, node, Sequence(seq.kind, seq.items[:-1], origin=seq.origin))
        elif seq.items is not None:
            _store(frame, node, Sequence(seq.kind, None, seq.element(), origin=seq.origin))
        return popped
    if name in ("clear", "reverse", "sort", "remove"):
        _store(frame, node, Sequence(seq.kind, None, seq.element(), origin=seq.origin))
        return NONE
    if name in ("copy", "union", "intersection", "difference", "__iter__"):
        return seq
    if name in ("index", "count"):
        return _searched(seq, name, args)
    if name == "numel":
        return _product(seq)
    return UNKNOWN


def _product(seq: Sequence) -> Fact:
    for option in options(seq.element()):
        if isinstance(option, FromTensor):
            return FromTensor("int", option.how, origin=option.origin, sure=option.sure)
    return ShapeInt()


def _searched(seq: Sequence, name: str, args: list[Fact]) -> Fact:
    how = "call" if name == "index" else "item"  # `index` tests each element, `count` adds up
    for fact in (seq.element(), *args):
        for option in options(fact):
            if isinstance(option, (Tensor, FromTensor)):
                return FromTensor("int", how, origin=option.origin, sure=option.sure)
    return Static("int")


def _grown(seq: Sequence, value: Fact) -> Sequence:
    elem = value if seq.items == () else join(seq.element(), value)
    return Sequence(seq.kind, None, elem, origin=seq.origin)


def _mapping(
    frame: Frame,
    node: ast.Call,
    mapping: Mapping,
    name: str,
    args: list[Fact],
    kwargs: dict[str, Fact],
) -> Fact:
    key = args[0] if args else UNKNOWN
    if name in ("get", "pop", "setdefault"):
        default = args[1] if len(args) > 1 else NONE
        found = mapping.get(key.value) if isinstance(key, Const) else None
        if name == "setdefault" and isinstance(key, Const) and found is None:
            items = (*mapping.items, (key.value, join(default, mapping.elem)))
            _store(frame, node, Mapping(mapping.kind, items, mapping.key, mapping.elem))
        if found is not None:
            return found
        if isinstance(key, Const):  # a key that isn't among the known ones
            return default if mapping.exact else join(mapping.other(), default)
        return join(mapping.element(), default)
    if name == "items":
        pair = Sequence("tuple", (_keys(mapping), mapping.element()))
        return Sequence("view", None, pair)
    if name == "keys":
        return Sequence("view", None, _keys(mapping))
    if name == "values":
        if mapping.exact:
            return Sequence("view", tuple(fact for _, fact in mapping.items))
        return Sequence("view", None, mapping.element())
    if name == "update":
        items = list(mapping.items)
        other = args[0] if args else None
        added = list(other.items) if isinstance(other, Mapping) else []
        added += list(kwargs.items())
        for new_key, fact in added:
            items = [kv for kv in items if kv[0] != new_key]
            items.append((new_key, fact))
        exact = mapping.exact and (other is None or (isinstance(other, Mapping) and other.exact))
        elem = mapping.elem if exact else join(mapping.elem, UNKNOWN)
        _store(frame, node, Mapping(mapping.kind, tuple(items), mapping.key, elem, exact))
        return NONE
    if name == "copy":
        return mapping
    if name == "to_tuple":
        return Sequence("tuple", None, mapping.element())
    return UNKNOWN


def mapping_item(mapping: Mapping, key: Fact) -> Fact:
    """Return what `mapping[key]` is."""
    if isinstance(key, Const):
        found = mapping.get(key.value)
        if found is not None:
            return found
        if mapping.kind != "dict" and isinstance(key.value, int) and mapping.items:
            values = [fact for _, fact in mapping.items]
            return values[key.value] if -len(values) <= key.value < len(values) else UNKNOWN
        if mapping.items and not mapping.exact:
            return mapping.other()  # none of the keys that are known
    return mapping.element()


def one_of(fact: Fact) -> Fact:
    """Return what any of several values is: nothing is known of a tensor beside other things."""
    kinds = {type(o) for o in options(fact) if not (isinstance(o, Const) and o.value is None)}
    return UNKNOWN if Tensor in kinds and len(kinds) > 1 else fact


def _keys(mapping: Mapping) -> Fact:
    if mapping.items:
        return join_all(const(key) for key, _ in mapping.items)
    return mapping.key


def string_method(name: str) -> Fact:
    """Return the result of a str method."""
    if name in ("split", "rsplit", "splitlines"):
        return Sequence("list", None, Static("str"))
    if name in ("partition", "rpartition"):
        return Sequence("tuple", (Static("str"),) * 3)
    if name in ("find", "index", "count", "rfind"):
        return Static("int")
    if name.startswith(("is", "starts", "ends")):
        return Static("bool")
    return Static("str")


def sequence_item(base: Sequence, key: Fact) -> Fact:
    """Return what a list or tuple holds at an index, or in a slice."""
    if isinstance(key, Sequence) and key.kind == "slice":
        return _slice(base, key)
    if isinstance(key, Const) and isinstance(key.value, int):
        if base.items is not None:
            inside = -len(base.items) <= key.value < len(base.items)
            return base.items[key.value] if inside else UNKNOWN
        if 0 <= key.value < len(base.head):
            return base.head[key.value]
        if base.kind == "size" and key.value != 0:
            kept = [o for o in options(base.elem) if not isinstance(o, FromTensor)]
            return join_all(kept) if kept else base.elem
    return base.element() if base.items != () else UNKNOWN


def _slice(base: Sequence, key: Sequence) -> Fact:
    bounds = key.items or ()
    if base.items is not None and all(
        isinstance(b, Const) and (b.value is None or isinstance(b.value, int)) for b in bounds
    ):
        values = [b.value for b in bounds]  # type: ignore[attr-defined]
        if len(values) == 3 and values[2] == 0:
            return UNKNOWN
        return Sequence(base.kind, base.items[slice(*values)], origin=base.origin)
    return Sequence(base.kind, None, base.element(), origin=base.origin)
