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


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this repository, as pre-commit clones it."""
    place = tmp_path_factory.mktemp("hooks") / "repository"
    place.mkdir()
    for name in ("linter", "rules", "compiler"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", ".pre-commit-hooks.yaml", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, place / name)
    commit_all(place)
    return place


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A project that uses the hooks."""
    place = tmp_path / "user"
    place.mkdir()
    (place / "clean.py").write_text("import torch\n")
    (place / "bad.py").write_text(BAD)
    (place / "notes.txt").write_text("if x.sum() > 0: pass\n")
    commit_all(place)
    return place


def hook(
    repository: Path, user: Path, name: str, *files: str, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a hook on files of the project."""
    pytest.importorskip("pre_commit")
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(repository), name]
    variables = {
        "PRE_COMMIT_HOME": str(user.parent / "home"),
        "COMPILE_LINT_CACHE_DIR": str(user.parent / "cache"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        **more,
    }
    return subprocess.run(
        [*command, "--verbose", "--files", *files],
        cwd=user,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_hook_passes_and_fails(repository: Path, user: Path) -> None:
    passed = hook(repository, user, "compile-lint", "clean.py", "notes.txt")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "1 file checked" in passed.stdout
    failed = hook(repository, user, "compile-lint", "clean.py", "bad.py")
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "bad.py:6:8: CL101" in failed.stdout


def test_hook_that_fixes_proves_with_the_user_s_torch(repository: Path, user: Path) -> None:
    """It runs the `compile-lint` that it finds on the path, in the environment that has torch."""
    pytest.importorskip("torch")
    scripts = user.parent / "bin"
    scripts.mkdir()
    script = scripts / "compile-lint"
    script.write_text(f"#!{sys.executable}\nfrom compile_lint.linter.cli import main\nmain()\n")
    script.chmod(0o755)
    path = os.pathsep.join([str(scripts), os.environ["PATH"]])
    made = hook(repository, user, "compile-lint-fix", "clean.py", "bad.py", PATH=path)
    assert made.returncode == 1, made.stdout + made.stderr  # pre-commit: files were modified
    assert "Fixed 1 finding in 1 file (1 proved)" in made.stdout, made.stdout + made.stderr
    assert "torch.where(x.sum() > 0, x, -x)" in (user / "bad.py").read_text()
    again = hook(repository, user, "compile-lint-fix", "clean.py", "bad.py", PATH=path)
    assert again.returncode == 0, again.stdout + again.stderr
