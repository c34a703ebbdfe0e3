"""The GPU benchmark, tiny and interpreted: that it runs, and that what it calls right is right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("sections", ["pointwise,norms,small,control,mlp", "llama,bert,resnet"])
def test_each_work_is_right(sections: str, tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    command = [sys.executable, "benchmarks/gpu.py", "--sections", sections, "--ways", "eager,ours"]
    command += ["--tiny", "--device", "cpu", "--interpret", "--json", str(table)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    rows = json.loads(table.read_text())
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]
    assert all(row["right"] for row in rows)
    assert {row["way"] for row in rows} == {"eager", "ours"}
    assert all(row["generated"] for row in rows if row["way"] == "ours")
