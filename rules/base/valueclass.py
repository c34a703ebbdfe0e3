"""Values: frozen to a type checker, quick to make, and classes of them quick to define.

A frozen dataclass sets each field through `object.__setattr__`, which costs several times what a
plain attribute does; making facts took a tenth of a run. These are slotted, compared and hashed by
their fields as frozen ones are, and just as little meant to be changed: type checkers refuse it.

Until Python 3.13 `dataclass` compiles every method of a class by itself, and of the time before the
first file is read a quarter went there. Here `dataclass` only collects the fields, and one piece of
source defines all methods, so that `fields`, `replace` and the like take these as their own.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    T = TypeVar("T")

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def valueclass(cls: type[T]) -> type[T]:
        """Make a slotted, hashable dataclass whose fields aren't reassigned."""
        ...
else:

    def valueclass(cls: type) -> type:
        """Make a slotted, hashable dataclass whose fields aren't reassigned."""
        made = dataclass(cls, init=False, repr=False, eq=False, slots=True)
        names: dict[str, Any] = {"MISSING": MISSING}
        exec(_methods(made, names), names)
        for method in (names["__init__"], names["__eq__"], names["__hash__"], _shown):
            own = method.__name__ if method is not _shown else "__repr__"
            if own not in vars(cls):
                setattr(made, own, method)
        return made


def _methods(cls: type, names: dict[str, Any]) -> str:
    """Return the source of a class's methods; `names` takes the defaults that it speaks of."""
    plain, named, body = ["self"], ["*"], []
    for each in fields(cls):
        name, given = each.name, each.name
        if each.default is not MISSING:
            names[f"default_{name}"] = each.default
            given = f"{name}=default_{name}"
        elif each.default_factory is not MISSING:
            names[f"default_{name}"] = each.default_factory
            given = f"{name}=MISSING"
            body.append(f"  if {name} is MISSING: {name} = default_{name}()\n")
        body.append(f"  self.{name} = {name}\n")
        (named if each.kw_only else plain).append(given)
    given = ", ".join(plain + (named if len(named) > 1 else []))
    compared = [each for each in fields(cls) if each.compare]
    hashed = [each for each in compared if each.hash is not False]
    return (
        f"def __init__({given}):\n{''.join(body) or '  pass'}\n"
        f"def __eq__(self, other):\n"
        f"  if other.__class__ is not self.__class__: return NotImplemented\n"
        f"  return {_tuple('self', compared)} == {_tuple('other', compared)}\n"
        f"def __hash__(self):\n  return hash({_tuple('self', hashed)})\n"
    )


def _tuple(of: str, parts: list[Field[Any]]) -> str:
    return "(" + "".join(f"{of}.{each.name}, " for each in parts) + ")"


def _shown(self: Any) -> str:
    parts = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(parts)})"


__all__ = ["valueclass"]
