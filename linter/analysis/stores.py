"""What methods store on their object: the raw material of attribute tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    NONE,
    UNKNOWN,
    Array,
    Const,
    Fact,
    FromTensor,
    Mapping,
    Sequence,
    Static,
    Tensor,
    Unknown,
    join,
    join_all,
    options,
)
from ...rules.base.walking import own_statements
from ..index import Assigned, ClassInfo, FunctionInfo
from . import classes, expressions, parameters, statements
from .containers import CHANGING
from .frame import Frame

if TYPE_CHECKING:
    from .analyzer import Analyzer

# How far calls are followed while an attribute table is built.
FOLLOWED = 2
_ASSIGNMENTS = frozenset({ast.Assign, ast.AnnAssign, ast.AugAssign})
_REGISTERING = frozenset({"register_buffer", "register_parameter", "add_module", "register_module"})
_BUILDERS = ("__init__", "__post_init__", "build", "setup")


def constructor_stores(analyzer: Analyzer, cls: ClassInfo, owner: ClassInfo) -> dict[str, Fact]:
    """Return what `owner`'s constructor stores on `analyzer`, for attribute tables."""
    table: dict[str, Fact] = {}
    for name in _BUILDERS:
        method = owner.methods.get(name)
        if method is None:
            continue
        params = parameters.constructor_guess(analyzer, method, cls)
        depth = analyzer.max_depth - FOLLOWED
        frame = Frame(analyzer, owner.module, method, params, depth=depth, stored_only=True)
        statements.run_body(frame, method.node)
        this = parameters.first_name(method)
        table |= _stored_on(this, frame.stores)
        for key, fact in _registered(frame, method, this):
            table[key] = fact
    return table


def other_stores(
    analyzer: Analyzer, cls: ClassInfo, owner: ClassInfo, table: dict[str, Fact]
) -> dict[str, Fact]:
    """Return what other methods assign to attributes, as far as one expression tells."""
    found: dict[str, Fact] = {}
    for name, method in owner.methods.items():
        if name in _BUILDERS:
            continue
        frame: Frame | None = None
        for attr, value, added in _assignments(method):
            if added and isinstance(table.get(attr), Tensor):
                continue  # `self.steps += 1` leaves a tensor what it is
            if frame is None:
                env = parameters.constructor_guess(analyzer, method, cls)
                frame = Frame(analyzer, owner.module, method, env, depth=analyzer.max_depth - 1)
            fact = UNKNOWN if value is None else expressions.evaluate(frame, value)
            found[attr] = join(found[attr], fact) if attr in found else fact
    return found


def constructor_calls(owner: ClassInfo) -> dict[str, ast.Call]:
    """Return `self.name = Something(...)` of a constructor, where Something is a global name."""
    method = owner.methods.get("__init__")
    table: dict[str, ast.Call] = {}
    if method is None:
        return table
    for attr, value, _ in _assignments(method):
        if not isinstance(value, ast.Call):
            continue
        target = value.func
        while isinstance(target, ast.Attribute):
            target = target.value
        if isinstance(target, ast.Name) and target.id in owner.module.bindings:
            table[attr] = value
    return table


def state(cls: ClassInfo) -> frozenset[str]:
    """Return the names of the attributes that methods assign, `__init__` left out."""
    if cls.state is None:
        methods = [method for method in cls.methods.values() if method.name != "__init__"]
        cls.state = frozenset(attr for method in methods for attr, _, _ in _assignments(method))
    return cls.state


def may_store(
    analyzer: Analyzer, cls: ClassInfo, name: str, asked: frozenset[str] = frozenset()
) -> bool:
    """Say whether `self.name(...)` may change what is known of an object of the class.

    A method may that assigns attributes or changes containers that they hold, or calls one that
    does. Of nn.Module's methods those count that register something.
    """
    method = classes.find_method(analyzer, cls, name)
    if method is None or name in asked:
        return name in _REGISTERING
    if _assignments(method):
        return True
    this = parameters.first_name(method)
    for node in method.nodes:
        if type(node) is not ast.Call or type(node.func) is not ast.Attribute:
            continue
        holder, called = node.func.value, node.func.attr
        if type(holder) is ast.Name:
            if holder.id == this and may_store(analyzer, cls, called, asked | {name}):
                return True
        elif called in CHANGING or (called == name and type(holder) is ast.Call):  # super().name()
            return True
    return False


def _assignments(method: FunctionInfo) -> list[tuple[str, ast.expr | None, bool]]:
    """Return (attribute, value, whether it is added to); every class that inherits it asks."""
    if method.stored is None:
        this = parameters.first_name(method)
        nodes = [node for node in own_statements(method.node) if type(node) in _ASSIGNMENTS]
        method.stored = [
            (attr, value, isinstance(node, ast.AugAssign))
            for node in nodes
            for attr, value in _attribute_assignments(node, this)
        ]
    return method.stored


def _attribute_assignments(node: ast.AST, this: str) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield (attribute, value) of `self.attr = value`; None for values of many shapes."""
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    elif (isinstance(node, ast.AnnAssign) and node.value is not None) or isinstance(
        node, ast.AugAssign
    ):
        pairs = [(node.target, node.value)]
    else:
        return
    for target, value in pairs:
        if isinstance(target, (ast.Tuple, ast.List)):
            inner = value.elts if isinstance(value, ast.Tuple) else [None] * len(target.elts)
            for part, part_value in zip(target.elts, inner):
                if _is_own(part, this):
                    yield part.attr, part_value  # type: ignore[attr-defined]
        elif _is_own(target, this):
            yield target.attr, value  # type: ignore[attr-defined]


def _is_own(target: ast.AST, this: str) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == this
    )


def _stored_on(this: str, stores: dict[str, Fact]) -> dict[str, Fact]:
    table = {}
    for path, fact in stores.items():
        first, _, rest = path.partition(".")
        if first == this and rest and "." not in rest:
            table[rest] = fact
    return table


def _registered(frame: Frame, method: FunctionInfo, this: str) -> Iterator[tuple[str, Fact]]:
    """Yield attributes made by register_buffer, register_parameter and add_module calls."""
    for node in method.nodes:
        if not (type(node) is ast.Call and _is_own(node.func, this) and node.args):
            continue
        name = node.args[0]
        kind = node.func.attr  # type: ignore[attr-defined]
        value = frame.facts.get(node.args[1]) if len(node.args) > 1 else None
        for keyword in node.keywords:
            if keyword.arg in ("tensor", "param", "module"):
                value = frame.facts.get(keyword.value)
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            continue
        if kind in ("register_buffer", "register_parameter"):
            yield name.value, _as_role(value, "buffer" if kind == "register_buffer" else "param")
        elif kind in ("add_module", "register_module") and value is not None:
            yield name.value, value


def _as_role(fact: Fact | None, role: str) -> Fact:
    if isinstance(fact, Tensor):
        return Tensor(fact.rank, fact.dtype, fact.single, role=role, origin=fact.origin)
    if isinstance(fact, Const) and fact.value is None:
        return join(fact, Tensor(role=role))
    return Tensor(role=role)


def attributes(analyzer: Analyzer, cls: ClassInfo) -> dict[str, Fact]:
    """Return facts of the attributes that a class and its bases give their instances.

    Constructors are analysed with what their parameters' annotations and defaults say; what other
    methods assign joins. A literal True/False/number in `__init__` is configuration, which others
    may set: its value is not relied on.
    """
    cached = analyzer.attribute_tables.get(cls)
    if cached is not None:
        return cached
    analyzer.attribute_tables[cls] = {}  # a constructor that builds its own class ends here
    result = analyzer.attribute_tables[cls] = analyzer.apart(partial(_table, analyzer, cls))
    return result


def _table(analyzer: Analyzer, cls: ClassInfo) -> dict[str, Fact]:
    table: dict[str, Fact] = {}
    for owner in reversed(classes.resolve_ancestry(analyzer, cls).classes):
        own: dict[str, Fact] = {}
        for name, assigned in owner.attributes.items():
            own[name] = _class_attribute(analyzer, owner, assigned)
        stored = constructor_stores(analyzer, cls, owner)
        for name, fact in stored.items():
            own[name] = join(own[name], fact) if name in own else fact
        table.update(own)
        for name, fact in other_stores(analyzer, cls, owner, table).items():
            table[name] = _joined(table[name], fact) if name in table else fact
        analyzer.attribute_tables[cls] = dict(table)
    return {name: _loosen(fact) for name, fact in table.items()}


def _joined(held: Fact, stored: Fact) -> Fact:
    """Join what an attribute holds with what a method stores there.

    A registered buffer or parameter takes tensors and None only: nn.Module refuses all else.
    """
    if isinstance(held, Tensor) and held.role in ("buffer", "param"):
        able = [o for o in options(stored) if isinstance(o, Tensor) or o == NONE]
        return join_all([held, *able])
    return join(held, stored)


def _class_attribute(analyzer: Analyzer, owner: ClassInfo, assigned: Assigned) -> Fact:
    facts = [analyzer.static_value(owner.module, value) for value in assigned.values]
    if assigned.annotation is not None:
        declared = analyzer.annotation(owner.module, assigned.annotation)
        if not isinstance(declared, Unknown):
            return declared
    return join_all(facts)


def _loosen(fact: Fact) -> Fact:
    """Configuration values may be set from outside; None may later be something else."""
    fact = at_rest(fact)
    if isinstance(fact, Const):
        if fact.value is None:
            return join(fact, UNKNOWN)
        return Static(fact.kind, origin=fact.origin)
    kept = [
        _loosen(o) if isinstance(o, Const) and o.value is not None else o for o in options(fact)
    ]
    return join_all(kept)


def at_rest(fact: Fact) -> Fact:
    """Return what a stored value is to a region that starts later.

    Numbers read out of tensors are plain numbers by then, and sizes are what they are. A tensor
    made of a number is a tensor like any other: Dynamo knows its value only if it saw the number.
    """
    if isinstance(fact, FromTensor):
        return Static(fact.kind, origin=fact.origin)
    if isinstance(fact, Tensor):
        if fact.role == "constant":
            return replace(fact, role="buffer")
        return replace(fact, ragged=False) if fact.ragged else fact
    if isinstance(fact, Array) and fact.rank == 0:  # a NumPy scalar, often as good as a number
        return replace(fact, constant=True, stored=True, sure=False)
    if isinstance(fact, Sequence):
        items = None if fact.items is None else tuple(at_rest(item) for item in fact.items)
        head = tuple(at_rest(item) for item in fact.head)
        return replace(fact, items=items, elem=at_rest(fact.elem), head=head)
    if isinstance(fact, Mapping):
        pairs = tuple((key, at_rest(item)) for key, item in fact.items)
        return replace(fact, items=pairs, key=at_rest(fact.key), elem=at_rest(fact.elem))
    parts = options(fact)
    return join_all(at_rest(part) for part in parts) if len(parts) > 1 else fact
