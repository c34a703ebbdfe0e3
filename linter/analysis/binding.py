"""Binding targets: names, attributes, items, unpacking."""

from __future__ import annotations

import ast
from dataclasses import replace

from ...rules.base.facts import (
    UNKNOWN,
    Array,
    Const,
    Fact,
    FromTensor,
    Function,
    Instance,
    Mapping,
    Origin,
    Sequence,
    Tensor,
    Unknown,
    join,
    join_all,
    options,
)
from . import calls, expressions
from .classes import find_setter
from .frame import Frame, path_of


def assign(frame: Frame, target: ast.expr, value: Fact) -> None:
    """Bind a target: name, attribute, item, or unpacking."""
    assert frame.env is not None
    if not frame.stored_only:
        frame.record(target, value)
    if type(target) is ast.Name:
        name = target.id
        if name in frame.holders:
            frame.assign(name, _named(target, value))
        else:
            frame.env[name] = _named(target, value)
    elif isinstance(target, ast.Attribute):
        holder = expressions.evaluate(frame, target.value)
        path = path_of(target)
        if type(holder) is Instance and _set(frame, target, holder, value):
            return
        if path is not None:
            frame.assign(path, value)
            frame.stores[path] = join(frame.stores[path], value) if path in frame.stores else value
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(frame, target.elts, value)
    elif isinstance(target, ast.Starred):
        assign(
            frame,
            target.value,
            Sequence("list", None, expressions.element_of(frame, value, target)),
        )
    elif isinstance(target, ast.Subscript):
        _assign_item(frame, target, value)


def _set(frame: Frame, target: ast.Attribute, this: Instance, value: Fact) -> bool:
    """`this.name = value` of a property runs its setter; False where it isn't one."""
    if isinstance(this.cls, str):
        return False
    setter = find_setter(frame.analyzer, this.cls, target.attr)
    if setter is None:
        return False
    calls.call_function(frame, target, Function(setter, this), [value], {})
    return True


def ranked(frame: Frame, target: ast.expr, value: ast.expr) -> None:
    """`b, n, c = x.shape`: as many names as there are dimensions."""
    if type(target) is not ast.Tuple:
        return
    if type(value) is ast.Call and not value.args and not value.keywords:  # x.size()
        value = value.func
    if type(value) is not ast.Attribute or value.attr not in ("shape", "size"):
        return
    path = path_of(value.value)
    known = None if path is None else frame.facts.get(value.value)
    if path is None or frame.env is None or type(known) is not Tensor or known.rank is not None:
        return
    if not any(type(part) is ast.Starred for part in target.elts):
        frame.put(path, replace(known, rank=len(target.elts)))


def _named(target: ast.Name, value: Fact) -> Fact:
    """Put the variable's name into the story of a value that was made on this line."""
    origin = value.origin
    if not isinstance(value, (Tensor, FromTensor, Array)) or origin is None:
        return value
    if origin.line != target.lineno or not origin.message.startswith("`"):
        return value
    if origin.message.startswith(f"`{target.id}` "):
        return value
    message = f"`{target.id}` comes from {origin.message.rpartition(' comes from ')[2]}"
    told = Origin(origin.path, origin.line, origin.column, message, origin.parent)
    if type(value) is Tensor:  # most of them: `replace` asks which fields there are
        rank, single, ragged = value.rank, value.single, value.ragged
        return Tensor(rank, value.dtype, single, ragged, value.role, origin=told, sure=value.sure)
    return replace(value, origin=told)


def _unpack(frame: Frame, targets: list[ast.expr], value: Fact) -> None:
    starred = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    if starred is None:
        value = _unpackable(value, len(targets))
    items = _known_items(value, len(targets) if starred is None else 0)
    if items is not None and starred is None and len(items) == len(targets):
        for target, item in zip(targets, items):
            assign(frame, target, item)
        return
    if items is not None and starred is not None and len(items) >= len(targets) - 1:
        after = len(targets) - starred - 1
        middle = items[starred : len(items) - after]
        for target, item in zip(targets[:starred], items):
            assign(frame, target, item)
        assign(frame, targets[starred], UNKNOWN)
        inner = targets[starred]
        assert isinstance(inner, ast.Starred)
        assign(frame, inner.value, Sequence("list", middle))
        for target, item in zip(targets[starred + 1 :], items[len(items) - after :]):
            assign(frame, target, item)
        return
    node = targets[0] if targets else ast.Tuple([], ast.Load())
    if starred is not None:
        each = expressions.element_of(frame, value, node)
        for target in targets:
            assign(frame, target, each)
        return
    columns: list[Fact] | None = None
    for option in options(value):
        if isinstance(option, Const) and option.value is None:
            continue
        row = _known_items(option, len(targets))
        if row is None:
            head = option.head[: len(targets)] if isinstance(option, Sequence) else ()
            each = expressions.element_of(frame, option, node)
            row = (*head, *(each,) * (len(targets) - len(head)))
        columns = list(row) if columns is None else list(map(join, columns, row))
    for target, fact in zip(targets, columns or [UNKNOWN] * len(targets)):
        assign(frame, target, fact)


def _unpackable(value: Fact, length: int) -> Fact:
    """Leave out what can't be unpacked into so many names: a wrong annotation, or another path."""
    kept = [
        option
        for option in options(value)
        if not isinstance(option, Sequence) or option.items is None or len(option.items) == length
    ]
    return join_all(kept) if len(kept) < len(options(value)) else value


def _known_items(value: Fact, length: int) -> tuple[Fact, ...] | None:
    """Return the items of a value that unpacks into `length` (0: any number) known facts."""
    found: tuple[Fact, ...] | None = None
    for option in options(value):
        if isinstance(option, Const) and option.value is None:
            continue  # unpacking None raises: the code knows that it isn't
        items = option.items if isinstance(option, Sequence) else None
        if items is None or (length and len(items) != length):
            return None
        if found is not None and len(found) != len(items):
            return None
        found = items if found is None else tuple(map(join, found, items))
    return found


def _assign_item(frame: Frame, target: ast.Subscript, value: Fact) -> None:
    """`x[i] = v`: tensors keep their fact, containers learn about their elements."""
    base = expressions.evaluate(frame, target.value)
    index = expressions.evaluate(frame, target.slice)
    path = path_of(target.value)
    if path is None or frame.env is None:
        return
    if isinstance(base, Mapping):
        if isinstance(index, Const):
            items = tuple(kv for kv in base.items if kv[0] != index.value)
            new: Fact = Mapping(
                base.kind, (*items, (index.value, value)), base.key, base.elem, base.exact
            )
        else:
            if isinstance(value, Unknown) and not base.exact:
                elem = base.elem  # what the dict is declared to hold
            else:
                elem = value if base.exact and not base.items else join(base.elem, value)
            new = Mapping(base.kind, base.items, join(base.key, index), elem, False)
        frame.put(path, new)
    elif isinstance(base, Unknown) and isinstance(index, Const) and isinstance(index.value, str):
        frame.put(path, Mapping("dict", ((index.value, value),)))  # `state["step"] = …`
    elif isinstance(base, Sequence):
        frame.put(path, Sequence(base.kind, None, join(base.element(), value)))
