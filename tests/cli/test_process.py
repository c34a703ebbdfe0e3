"""The program as a process: user code is never run, pipes may close, no colour when piped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CANARY = """
import pathlib
pathlib.Path({path!r}).write_text(__file__)
raise SystemExit("user code was run")
"""
NAMES = [
    "model.py",
    "conftest.py",
    "setup.py",
    "sitecustomize.py",
    "usercustomize.py",
    "click.py",
    "rich.py",
    "torch.py",
    "libcst.py",
    "ast.py",
    "json.py",
    "tokenize.py",
    "compile_lint/__init__.py",
    "linter/__init__.py",
    "rules/__init__.py",
    "pkg/__init__.py",
    "pkg/helper.py",
]
SCRIPT = Path(sys.executable).with_name("compile-lint")
COMMANDS = [[sys.executable, "-m", "compile_lint.linter"], [str(SCRIPT)]]


def start(command, folder, *arguments, **variables):
    environment = {**os.environ, "COMPILE_LINT_CACHE_DIR": str(folder / ".cache"), **variables}
    return subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS, ids=["module", "script"])
def test_user_code_is_never_run(tmp_path, command):
    if not Path(command[0]).exists():
        pytest.skip("the console script isn't installed beside this Python")
    canary = str(tmp_path / "canary")
    folder = tmp_path / "work"
    # With -m Python itself looks for compile_lint in the working directory, before we run.
    names = [name for name in NAMES if command is COMMANDS[1] or "compile_lint" not in name]
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CANARY.format(path=canary))
    (folder / "entry.py").write_text(
        "import torch, pkg.helper\nfrom model import f\n\n\n@torch.compile\ndef g(x):\n"
        "    return pkg.helper.h(f(x))\n"
    )
    (folder / "pyproject.toml").write_text("[tool.compile-lint]\nfollow = ['pkg']\n")
    for arguments in (["."], ["--jobs", "2", "--no-cache", "."], ["rule", "CL001"], ["--version"]):
        done = start(command, folder, *arguments)
        assert "Traceback" not in done.stderr
        assert "user code" not in done.stderr + done.stdout
        assert done.returncode in (0, 1), done.stderr
        assert not Path(canary).exists(), Path(canary).read_text()


def test_closed_pipe_is_quiet(tmp_path):
    for number in range(50):
        (tmp_path / f"m{number}.py").write_text("def f(:\n")
    command = [sys.executable, "-m", "compile_lint.linter", ".", "--show-files", "--no-cache"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        errors = process.stderr.read()
    assert errors == ""


def test_no_colour_when_piped_and_latin_output(tmp_path):
    (tmp_path / "é.py").write_text("x = 1  # compile-lint: ignore[CL001X]\n", encoding="utf-8")
    done = start(COMMANDS[0], tmp_path, ".", PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert done.stdout.startswith("\\xe9.py:1:8: CL002 invalid-ignore [warning]\n")
    forced = start(COMMANDS[0], tmp_path, ".", FORCE_COLOR="1")
    assert "\x1b[" in forced.stdout
    assert "\x1b[" not in start(COMMANDS[0], tmp_path, ".", "--no-color", FORCE_COLOR="1").stdout
    plain = start(COMMANDS[0], tmp_path, ".", FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b[" not in plain


def test_completion(tmp_path):
    done = start(COMMANDS[0], tmp_path, _COMPILE_LINT_COMPLETE="bash_source")
    assert "complete" in done.stdout
    words = {"_COMPILE_LINT_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    done = start(COMMANDS[0], tmp_path, COMP_WORDS="compile-lint --sel", **words)
    assert "plain,--select" in done.stdout
    done = start(COMMANDS[0], tmp_path, COMP_WORDS="compile-lint ru", **words)
    assert {"plain,rule", "plain,rules"} <= set(done.stdout.splitlines())


def test_linting_imports_only_what_it_needs(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("import torch\n\n\n@torch.compile\ndef f(x):\n    return x.relu()\n")
    code = (
        "import sys\n"
        "from compile_lint.linter.cli import run\n"
        f"status = run(['--no-cache', {str(path)!r}])\n"
        "heavy = {'torch', 'libcst', 'rich', 'numpy', 'asyncio', 'multiprocessing.pool'}\n"
        "print(status, sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


def test_only_fixes_load_the_rewrites(tmp_path):
    code = (
        "import sys; from compile_lint.linter.api import lint_text\n"
        "text = 'import torch\\n@torch.compile\\ndef f(x):\\n    return x.item()\\n'\n"
        "assert [found.code for found in lint_text(text)] == ['CL401']\n"
        "print([name for name in sys.modules if name.endswith(('.rewriting', '.liveness'))])\n"
        "print(any('.rewrites' in name for name in sys.modules))\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["['compile_lint.rules.base.rewriting']", "False"], done
