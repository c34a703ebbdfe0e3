"""Classes: ancestry, decorators, and what their instances' attributes are."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    UNKNOWN,
    Array,
    Const,
    Extern,
    Fact,
    FromTensor,
    Function,
    Instance,
    Mapping,
    ModuleRef,
    Sequence,
    Static,
    Tensor,
    Unknown,
    join,
    join_all,
    options,
)
from ..index import Assigned, ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from .analyzer import Analyzer


@dataclass(frozen=True, slots=True)
class Ancestry:
    """A class's project classes in method resolution order, itself first, and external bases.

    `complete` is False when some base could not be resolved.
    """

    classes: tuple[ClassInfo, ...]
    external: tuple[str, ...]
    complete: bool


_ANCESTRY: dict[ClassInfo, Ancestry] = {}


def ancestry(cls: ClassInfo) -> Ancestry:
    """Return the ancestry of a class, as `resolve_ancestry` found it before."""
    return _ANCESTRY.get(cls, Ancestry((cls,), (), False))


def resolve_ancestry(analyzer: Analyzer, cls: ClassInfo) -> Ancestry:
    """Return the ancestry of a class: a depth-first order without repeats, late ones kept."""
    known = _ANCESTRY.get(cls)
    if known is not None:
        return known
    _ANCESTRY[cls] = Ancestry((cls,), (), False)  # a class that inherits from itself ends here
    order: list[ClassInfo] = [cls]
    external: list[str] = []
    complete = True
    for base in cls.node.bases:
        value = analyzer.static_value(
            cls.module, base.value if isinstance(base, ast.Subscript) else base
        )
        inner = getattr(value, "cls", None)
        if isinstance(inner, ClassInfo):
            above = resolve_ancestry(analyzer, inner)
            order = [c for c in order if c not in above.classes] + list(above.classes)
            external += [e for e in above.external if e not in external]
            complete = complete and above.complete
        elif isinstance(value, Extern):
            if value.name not in ("typing.Generic", "builtins.object", "abc.ABC"):
                external.append(value.name)
                complete = complete and _closed(value.name)
        else:
            complete = False
    result = Ancestry(tuple(order), tuple(external), complete)
    _ANCESTRY[cls] = result
    return result


def _closed(name: str) -> bool:
    return name in ("torch.nn.Module", "torch.nn.modules.module.Module", "typing.NamedTuple")


def is_module_class(analyzer: Analyzer, cls: ClassInfo) -> bool:
    """Say whether instances are nn.Modules."""
    return any(
        name == "torch.nn.Module" or analyzer.torch.module(name) is not None
        for name in resolve_ancestry(analyzer, cls).external
    )


def find_method(analyzer: Analyzer, cls: ClassInfo, name: str) -> FunctionInfo | None:
    """Return the project's method that `cls().name` runs, None when there is none."""
    for owner in resolve_ancestry(analyzer, cls).classes:
        found = owner.methods.get(name)
        if found is not None:
            return found
    return None


def after(analyzer: Analyzer, cls: ClassInfo, owner: ClassInfo, name: str) -> FunctionInfo | None:
    """Return the method that `super().name` in `owner` reaches on an instance of `cls`."""
    order = resolve_ancestry(analyzer, cls).classes
    start = order.index(owner) + 1 if owner in order else 0
    for base in order[start:]:
        if name in base.methods:
            return base.methods[name]
    return None


_TRANSPARENT = frozenset({"staticmethod", "classmethod", "property", "cached_property"})


@lru_cache(maxsize=65536)
def decorator_names(function: FunctionInfo) -> frozenset[str]:
    """Return the last name of each decorator, called or not."""
    names = set()
    for deco in function.decorators:
        node = deco.func if isinstance(deco, ast.Call) else deco
        if isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Name):
            names.add(node.id)
    return frozenset(names)


def is_property(function: FunctionInfo) -> bool:
    """Say whether reading the attribute runs the function."""
    names = decorator_names(function)
    return bool(names & {"property", "cached_property", "lazy_property", "lazyproperty"})


def decorated(function: Function, analyzer: Analyzer) -> Fact:
    """Return what a `def` statement binds: unknown decorators are taken to keep the function."""
    return function


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
    table: dict[str, Fact] = {}
    for owner in reversed(resolve_ancestry(analyzer, cls).classes):
        own: dict[str, Fact] = {}
        for name, assigned in owner.attributes.items():
            own[name] = _class_attribute(analyzer, owner, assigned)
        stored = analyzer.constructor_stores(cls, owner)
        for name, fact in stored.items():
            own[name] = join(own[name], fact) if name in own else fact
        table.update(own)
        for name, fact in analyzer.other_stores(cls, owner, table).items():
            table[name] = join(table[name], fact) if name in table else fact
        analyzer.attribute_tables[cls] = dict(table)
    result = {name: _loosen(fact) for name, fact in table.items()}
    analyzer.attribute_tables[cls] = result
    return result


def _class_attribute(analyzer: Analyzer, owner: ClassInfo, assigned: Assigned) -> Fact:
    facts = [analyzer.static_value(owner.module, value) for value in assigned.values]
    if assigned.annotation is not None:
        declared = analyzer.annotation(owner.module, assigned.annotation)
        if not isinstance(declared, Unknown):
            return declared
    return join_all(facts)


def at_rest(fact: Fact) -> Fact:
    """Return what a stored value is to a region that starts later.

    Numbers read out of tensors are plain numbers by then, and sizes are what they are.
    """
    if isinstance(fact, FromTensor):
        return Static(fact.kind, origin=fact.origin)
    if isinstance(fact, Tensor):
        return replace(fact, ragged=False) if fact.ragged else fact
    if isinstance(fact, Array) and fact.rank == 0:  # a NumPy scalar, often as good as a number
        return replace(fact, constant=True)
    if isinstance(fact, Sequence):
        items = None if fact.items is None else tuple(at_rest(item) for item in fact.items)
        return replace(fact, items=items, elem=at_rest(fact.elem))
    if isinstance(fact, Mapping):
        pairs = tuple((key, at_rest(item)) for key, item in fact.items)
        return replace(fact, items=pairs, key=at_rest(fact.key), elem=at_rest(fact.elem))
    parts = options(fact)
    return join_all(at_rest(part) for part in parts) if len(parts) > 1 else fact


def _loosen(fact: Fact) -> Fact:
    """Configuration values may be set from outside; None may later be something else."""
    fact = at_rest(fact)
    if isinstance(fact, Const):
        if fact.value is None:
            return join(fact, UNKNOWN)
        return Static(fact.kind, origin=fact.origin)
    kept = [_loosen(o) if isinstance(o, Const) and o.value is not None else o for o in options(fact)]
    return join_all(kept)


def module_instance(fact: Fact) -> bool:
    """Say whether a fact is an nn.Module object."""
    return isinstance(fact, Instance) and fact.module


__all__ = [
    "Ancestry",
    "ModuleRef",
    "after",
    "ancestry",
    "at_rest",
    "attributes",
    "decorated",
    "decorator_names",
    "find_method",
    "is_module_class",
    "is_property",
    "resolve_ancestry",
]
