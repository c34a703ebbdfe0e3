"""The package as it is installed: what pyproject.toml lists, who imports whom, hooks."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PARTS = ("compiler", "linter", "rules")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def sources() -> list[Path]:
    return [path for part in PARTS for path in sorted((ROOT / part).rglob("*.py"))]


def test_packages_are_those_of_the_tree():
    found = {"compile_lint." + ".".join(path.parent.relative_to(ROOT).parts) for path in sources()}
    assert sorted(found) == PROJECT["tool"]["setuptools"]["packages"]
    for name in found:
        folder = ROOT.joinpath(*name.split(".")[1:])
        assert (folder / "__init__.py").is_file(), f"{folder} has no __init__.py"


def test_data_files_are_packaged():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]
    packaged = {
        path
        for name, globs in patterns.items()
        for glob in globs
        for path in ROOT.joinpath(*name.split(".")[1:]).glob(glob)
    }
    there = {
        path
        for part in PARTS
        for path in (ROOT / part).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert there == packaged


def test_no_absolute_imports_of_the_folders():
    # `import rules` from the root of the repository would give a second copy of every class.
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                assert name.partition(".")[0] not in PARTS, f"{path}:{node.lineno}"


def test_hook_files_are_equal():
    twin = (ROOT / "pre-commit-hooks.yaml").read_bytes()
    assert (ROOT / ".pre-commit-hooks.yaml").read_bytes() == twin
    assert twin.count(b"- id: ") == 2


@pytest.mark.parametrize("arguments", [["--version"], ["rules"], ["a.py"], ["a.py", "-q"]])
def test_start_imports_neither_torch_nor_libcst(tmp_path, arguments):
    (tmp_path / "a.py").write_text("x = 1\n")
    code = (
        "import sys\n"
        "from compile_lint.linter.cli import run\n"
        f"code = run({arguments!r})\n"
        "heavy = {'torch', 'libcst', 'rich', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
