"""The hook, run by the real pre-commit from a copy of this repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BAD = """import torch


@torch.compile
def f(x: torch.Tensor):
    if x.sum() > 0:
        return x
    return -x
"""


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit_all(folder: Path) -> None:
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--no-verify", "--message", "all")


def test_hook_passes_and_fails(tmp_path):
    pytest.importorskip("pre_commit")
    repository = tmp_path / "repository"
    repository.mkdir()
    for name in ("linter", "rules", "compiler"):
        shutil.copytree(
            ROOT / name, repository / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("pyproject.toml", ".pre-commit-hooks.yaml", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, repository / name)
    commit_all(repository)
    user = tmp_path / "user"
    user.mkdir()
    (user / "clean.py").write_text("import torch\n")
    (user / "bad.py").write_text(BAD)
    (user / "notes.txt").write_text("if x.sum() > 0: pass\n")
    commit_all(user)

    def hook(*files: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pre_commit", "try-repo", str(repository)]
        variables = {
            "PRE_COMMIT_HOME": str(tmp_path / "home"),
            "COMPILE_LINT_CACHE_DIR": str(tmp_path / "cache"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        return subprocess.run(
            [*command, "compile-lint", "--verbose", "--files", *files],
            cwd=user,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    passed = hook("clean.py", "notes.txt")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "1 file checked" in passed.stdout
    failed = hook("clean.py", "bad.py")
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "bad.py:6:8: CL101" in failed.stdout
