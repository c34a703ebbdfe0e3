"""Classes: ancestry, decorators, and what their instances' attributes are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...rules.base.facts import Extern
from ..index import Ancestry, Assigned, ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from .analyzer import Analyzer


def ancestry(cls: ClassInfo) -> Ancestry:
    """Return the ancestry of a class, as `resolve_ancestry` found it before."""
    return cls.ancestry or Ancestry((cls,), (), False)


def resolve_ancestry(analyzer: Analyzer, cls: ClassInfo) -> Ancestry:
    """Return the ancestry of a class: a depth-first order without repeats, late ones kept."""
    if cls.ancestry is not None:
        return cls.ancestry
    cls.ancestry = Ancestry((cls,), (), False)  # a class that inherits from itself ends here
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
    cls.ancestry = Ancestry(tuple(order), tuple(external), complete)
    return cls.ancestry


def _closed(name: str) -> bool:
    return name in ("torch.nn.Module", "torch.nn.modules.module.Module", "typing.NamedTuple")


# LightningModule is nn.Module under a name of its own, in whichever package it is found.
_MODULES = ("torch.nn.Module", ".LightningModule")


def is_module_class(analyzer: Analyzer, cls: ClassInfo) -> bool:
    """Say whether instances are nn.Modules."""
    return any(
        name.endswith(_MODULES) or analyzer.torch.module(name) is not None
        for name in resolve_ancestry(analyzer, cls).external
    )


def find_method(analyzer: Analyzer, cls: ClassInfo, name: str) -> FunctionInfo | None:
    """Return the project's method that `cls().name` runs, None when there is none."""
    for owner in resolve_ancestry(analyzer, cls).classes:
        found = owner.methods.get(name)
        if found is not None:
            return found
        alias = owner.attributes.get(name)
        if alias is not None:
            return _method_named(owner, alias)
    return None


def find_setter(analyzer: Analyzer, cls: ClassInfo, name: str) -> FunctionInfo | None:
    """Return the project's method that `cls().name = value` runs, None when there is none."""
    for owner in resolve_ancestry(analyzer, cls).classes:
        found = owner.setters.get(name)
        if found is not None or name in owner.methods:
            return found
    return None


def _method_named(owner: ClassInfo, alias: Assigned) -> FunctionInfo | None:
    """Return the method that a class gives a second name: `mv = matvec` in its body."""
    value = alias.values[0] if len(alias.values) == 1 and not alias.partial else None
    return owner.methods.get(value.id) if isinstance(value, ast.Name) else None


def after(analyzer: Analyzer, cls: ClassInfo, owner: ClassInfo, name: str) -> FunctionInfo | None:
    """Return the method that `super().name` in `owner` reaches on an instance of `cls`."""
    order = resolve_ancestry(analyzer, cls).classes
    start = order.index(owner) + 1 if owner in order else 0
    for base in order[start:]:
        if name in base.methods:
            return base.methods[name]
    return None


_PROPERTIES = frozenset({"property", "cached_property", "lazy_property", "lazyproperty"})


def is_property(function: FunctionInfo) -> bool:
    """Say whether reading the attribute runs the function."""
    return not _PROPERTIES.isdisjoint(function.decorator_names)


__all__ = [
    "after",
    "ancestry",
    "find_method",
    "find_setter",
    "is_module_class",
    "is_property",
    "resolve_ancestry",
]
