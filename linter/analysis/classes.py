"""Classes: ancestry, decorators, and what their instances' attributes are."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    Extern,
    ModuleRef,
)
from ..index import ClassInfo, FunctionInfo

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


__all__ = [
    "Ancestry",
    "ModuleRef",
    "after",
    "ancestry",
    "decorator_names",
    "find_method",
    "is_module_class",
    "is_property",
    "resolve_ancestry",
]
