"""Inputs that were recorded from a run: read, and made again.

A record holds what a call was given, never the data itself: shapes, dtypes and the range of values.
The file is JSON:

    {"version": 1, "calls": {"module:qualified.name": [CALL, …]}}

CALL is {"args": [SPEC, …], "kwargs": {name: SPEC}}. SPEC is one of

    {"tensor": shape, "dtype": "float32", "low": …, "high": …, "grad": bool,
     "special": ["nan", "inf", "-inf"], "stride": … when it isn't contiguous,
     "true": share of True values, for bool}
    {"value": None, bool, int, float or str}       {"float": "nan" | "inf" | "-inf"}
    {"list" | "tuple": [SPEC, …]}                  {"dict": [[key, SPEC], …]}
    {"object": "module:qualified.name", "fields": {name: SPEC}}     (made without __init__)
    {"unknown": type name}                         (a call that holds one is left out)
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
        """Return the calls of a function; those of a class are its `forward`'s."""
        rows = self.calls.get(f"{module}:{name}") or self.calls.get(f"{module}:{name}.forward", [])
        return [row for row in rows if not _holds_unknown(row)]


def calls_of(rows: list[Any], module: types.ModuleType) -> list[Any]:
    """Return (args, kwargs) for recorded calls; draws from torch's generator."""
    return [
        (
            tuple(_value(spec, module) for spec in row["args"]),
            {name: _value(spec, module) for name, spec in row.get("kwargs", {}).items()},
        )
        for row in rows
    ]


def _holds_unknown(spec: Any) -> bool:
    if isinstance(spec, dict):
        return "unknown" in spec or any(_holds_unknown(part) for part in spec.values())
    return isinstance(spec, list) and any(_holds_unknown(part) for part in spec)


def _value(spec: Any, module: types.ModuleType) -> Any:
    if "tensor" in spec:
        return _tensor(spec)
    if "value" in spec:
        return spec["value"]
    if "float" in spec:
        return float(spec["float"])
    if "list" in spec:
        return [_value(part, module) for part in spec["list"]]
    if "tuple" in spec:
        return tuple(_value(part, module) for part in spec["tuple"])
    if "dict" in spec:
        return {key: _value(part, module) for key, part in spec["dict"]}
    where, _, name = spec["object"].partition(":")
    found: Any = module if where == module.__name__ else importlib.import_module(where)
    for part in name.split("."):
        found = getattr(found, part)
    made = found.__new__(found)
    for key, part in spec["fields"].items():
        object.__setattr__(made, key, _value(part, module))
    return made


def _tensor(spec: Any) -> Any:
    import torch

    shape, dtype = spec["tensor"], getattr(torch, spec["dtype"])
    low, high = spec.get("low"), spec.get("high")
    low = 0 if low is None else low
    high = 1 if high is None else high
    if dtype == torch.bool:
        made = torch.rand(shape) < spec.get("true", 0.5)
    elif dtype.is_floating_point or dtype.is_complex:
        made = (torch.rand(shape) * (high - low) + low).to(dtype)
        for place, word in enumerate(spec.get("special", ())):
            if made.numel():
                made.view(-1)[place % made.numel()] = float(word)
    else:
        made = torch.randint(int(low), int(high) + 1, shape).to(dtype)
    if "stride" in spec:
        strided = torch.empty_strided(shape, spec["stride"], dtype=dtype)
        made = strided.copy_(made)
    return made.requires_grad_() if spec.get("grad") else made
