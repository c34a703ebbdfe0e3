"""The tables of torch facts, held against the installed torch: regenerated, and by real calls."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compile_lint.rules import torch_facts
from compile_lint.rules.torch_facts import TorchFacts, installed_torch, known_versions, load

SCRIPTS = Path(__file__).resolve().parent.parent / ".ci"
DATA = Path(torch_facts.__file__).parent / "data"
INSTALLED = ".".join((installed_torch() or "0.0").split(".")[:2])

needs_known_torch = pytest.mark.skipif(
    INSTALLED not in known_versions(),
    reason=f"NOT CHECKED: torch {INSTALLED} is installed, tables exist for {known_versions()}",
)


@needs_known_torch
def test_tables_are_what_the_script_writes(tmp_path: Path) -> None:
    script = SCRIPTS / "generate_torch_facts.py"
    done = subprocess.run(
        [sys.executable, str(script), "--output", str(tmp_path)],
        capture_output=True, text=True, timeout=900, check=False,
        cwd=tmp_path,  # methods of arrays that write files are called, too
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    made = json.loads((tmp_path / f"{INSTALLED}.json").read_text(encoding="utf-8"))
    kept = json.loads((DATA / f"{INSTALLED}.json").read_text(encoding="utf-8"))
    if made["versions"] != kept["versions"]:
        pytest.skip(f"NOT CHECKED: {made['versions']} here, tables are of {kept['versions']}")
    for section in kept:
        assert made[section] == kept[section], section


def described(value: Any) -> str:
    """The kind of a value in hand, to hold against the kind on record."""
    import torch

    if isinstance(value, torch.Tensor):
        return "tensor"
    if isinstance(value, torch.Size):
        return "size"
    if isinstance(value, (tuple, list)):
        if value and all(isinstance(item, torch.Tensor) for item in value):
            return f"tensors:{len(value)}"
        return "size" if all(isinstance(item, int) for item in value) else "list"
    names = {bool: "bool", int: "int", float: "float", str: "str", type(None): "none"}
    names[complex] = "number"
    return names.get(type(value)) or {"dtype": "dtype", "device": "device"}.get(
        type(value).__name__, "any"
    )


def agrees(kind: str, value: Any) -> bool:
    seen = described(value)
    allowed = set(kind.split("|"))
    if "number" in allowed:
        allowed |= {"int", "float", "bool"}
    if "tensors" in allowed and (seen.startswith("tensors") or value == [] or value == ()):
        return True
    return "any" in allowed or seen in allowed


def real_calls(facts: TorchFacts) -> Iterator[tuple[str, str, Any]]:
    sys.path.insert(0, str(SCRIPTS))
    try:
        import generate_torch_facts as script
        import torch_facts_calls as calls
        import torch_facts_kinds as kinds
    finally:
        sys.path.remove(str(SCRIPTS))
    table = json.loads((DATA / f"{facts.version}.json").read_text(encoding="utf-8"))
    for name in table["functions"]:
        fn = script.resolve(name)
        op = None if fn is None else kinds.aten_name(name, fn)
        kind = facts.function(name)
        for _, _, result in calls.working_calls(fn, kinds.overloads(op)) if op else ():
            yield name, kind or "", result
    for name in table["methods"]:
        kind = facts.method(name)
        found = kinds.method_overloads(kinds.aten_name_of_method(name)) if kind else []
        for _, _, result in calls.working_calls(calls.method_function(name), found):
            yield "torch.Tensor." + name, kind or "", result


@needs_known_torch
@pytest.mark.filterwarnings("ignore")
def test_real_calls_return_the_kind_on_record() -> None:
    pytest.importorskip("torch")
    wrong = []
    called = set()
    for name, kind, result in real_calls(load(INSTALLED)):
        called.add(name)
        if not agrees(kind, result):
            wrong.append((name, kind, described(result)))
    assert not wrong
    assert len(called) > 1000
