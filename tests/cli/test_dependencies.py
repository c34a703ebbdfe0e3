"""The real engine and the cache: a result is redone when a file it rests on changes."""

from __future__ import annotations

import os
import subprocess
import sys

ENTRY = """import torch
from middle import g


@torch.compile
def f(x: torch.Tensor):
    return g(x)
"""
MIDDLE = """from inner import h


def g(x):
    y = h(x)
    if y:
        return x
    return y
"""


def test_indirect_dependencies_of_every_entry(tmp_path):
    # Both entries reach inner.py through the same function; what is known of it after the first
    # must not hide from the second that it rests on inner.py too.
    (tmp_path / "a.py").write_text(ENTRY)
    (tmp_path / "b.py").write_text(ENTRY)
    (tmp_path / "middle.py").write_text(MIDDLE)

    def lint(*paths: str) -> str:
        command = [sys.executable, "-m", "compile_lint.linter", "--jobs", "1", "--quiet"]
        command += ["--output-format", "concise", *paths]
        variables = {"COMPILE_LINT_CACHE_DIR": str(tmp_path / "cache")}
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        ).stdout

    (tmp_path / "inner.py").write_text("def h(x):\n    return 1\n")
    assert lint(".") == ""
    (tmp_path / "inner.py").write_text("def h(x):\n    return x.sum() > 0\n")
    for entry in ("b.py", "a.py"):
        assert lint(entry, "middle.py").startswith("middle.py:6:8: CL101")
    (tmp_path / "inner.py").unlink()
    for entry in ("b.py", "a.py"):
        assert lint(entry, "middle.py") == ""
