"""Inputs that `compile-lint record` wrote down: read, and made again.

A record holds what a call was given, never the data itself: shapes, dtypes and the range of values
(see `linter.record.recorder.spec` for the format). What is made of it has the same form and range.
"""

from __future__ import annotations

import importlib
import json
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VERSION = 1


class Unmakeable(Exception):
    """A recorded value can't be made again. Says which."""


@dataclass(frozen=True, slots=True)
class RecordedInputs:
    """Recorded calls by "module:qualified.name"."""

    calls: Mapping[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, place: str) -> RecordedInputs:
        """Read a file, or every .json file of a folder.

        Raises:
            OSError: It can't be read.
            ValueError: It isn't such a file, or of another version.
        """
        path = Path(place)
        calls: dict[str, list[Any]] = {}
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            raw = json.loads(file.read_text(encoding="utf-8"))
            if not isinstance(raw, dict) or raw.get("version") != VERSION:
                raise ValueError(f"{file.name} holds no recorded inputs of version {VERSION}")
            for name, rows in raw["calls"].items():
                calls.setdefault(name, []).extend(rows)
        return cls(calls)

    def of(self, module: str, name: str) -> list[Any]:
        """Return the calls of a function that can be made again; a class's are its `forward`'s."""
        rows = self.calls.get(f"{module}:{name}") or self.calls.get(f"{module}:{name}.forward", [])
        return [row for row in rows if not _opaque([row["args"], row["kwargs"]])]


def calls_of(rows: list[Any], module: types.ModuleType) -> list[Any]:
    """Return (args, kwargs) for recorded calls; draws from torch's generator.

    Raises:
        Unmakeable: A value can't be made.
    """
    return [
        (
            tuple(value_of(spec, module) for spec in row["args"]),
            {name: value_of(spec, module) for name, spec in row["kwargs"].items()},
        )
        for row in rows
    ]


def by_owner(rows: list[Any]) -> list[list[Any]]:
    """Return the calls of each object apart: what fits one may not fit the next."""
    grouped: dict[str, list[Any]] = {}
    for row in rows:
        grouped.setdefault(json.dumps(row.get("self"), sort_keys=True), []).append(row)
    return list(grouped.values())


def owner_of(rows: list[Any], module: types.ModuleType) -> Any:
    """Return an object like the one whose method was called, None if that isn't known."""
    for row in rows:
        spec = row.get("self")
        if spec and "object" in spec and not _opaque(spec):
            owner = value_of(spec, module)
            modes = {row.get("training") for row in rows} - {None}
            if modes:
                owner.train(any(modes))  # eval mode is looked at in any case
            return owner
    return None


def _opaque(spec: Any) -> bool:
    if isinstance(spec, dict):
        return "opaque" in spec or any(_opaque(part) for part in spec.values())
    return isinstance(spec, list) and any(_opaque(part) for part in spec)


def value_of(spec: Mapping[str, Any], module: types.ModuleType) -> Any:
    """Return a value like the one recorded. Raises Unmakeable."""
    kind = "object" if "object" in spec else next(iter(spec))
    held = spec[kind]
    if kind == "value":
        return held
    if kind == "float":
        return float(held)
    if kind == "tensor":
        return _tensor(held)
    if kind == "torch":
        return _of_torch(held)
    if kind in ("list", "tuple", "set"):
        made = [value_of(part, module) for part in held]
        return {"list": list, "tuple": tuple, "set": set}[kind](made)
    if kind == "dict":
        return {value_of(key, module): value_of(part, module) for key, part in held}
    if kind == "named":
        return _named(held, module)
    if kind == "object" and "fields" in spec:
        made = object.__new__(_named(held, module))
        vars(made).update((name, value_of(part, module)) for name, part in spec["fields"])
        return made
    if kind == "object":
        args, kwargs = spec["made"]["args"], spec["made"]["kwargs"]
        return _named(held, module)(
            *(value_of(part, module) for part in args),
            **{name: value_of(part, module) for name, part in kwargs.items()},
        )
    raise Unmakeable(f"a recorded {held} can't be made again")


def _named(name: str, module: types.ModuleType) -> Any:
    where, _, qualname = name.partition(":")
    found: Any = module if where == module.__name__ else importlib.import_module(where)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def _of_torch(text: str) -> Any:
    import torch

    if text.startswith("torch."):
        return getattr(torch, text.removeprefix("torch."))
    return torch.device(text)


def _tensor(held: Mapping[str, Any]) -> Any:
    import torch

    shape, dtype = held["shape"], getattr(torch, held["dtype"])
    low, high = held.get("low"), held.get("high")
    low = 0 if low is None else low
    high = max(1, low) if high is None else high
    if dtype == torch.bool:
        made = torch.rand(shape) > 0.5 if low != high else torch.full(shape, bool(low))
    elif dtype.is_floating_point or dtype.is_complex:
        made = (torch.rand(shape) * (high - low) + low).to(dtype)
        for place, word in enumerate(w for w in ("nan", "inf") if held.get(w)):
            if made.numel():
                made.view(-1)[place % made.numel()] = float(word)
    else:
        made = torch.randint(int(low), int(high) + 1, shape).to(dtype)
    stride = held.get("stride")
    if stride is not None and list(made.stride()) != list(stride) and 0 not in stride:
        made = torch.empty_strided(shape, stride, dtype=dtype).copy_(made)
    return made.requires_grad_() if held.get("requires_grad") else made
