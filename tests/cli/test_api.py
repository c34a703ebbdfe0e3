"""Linting from Python."""

from __future__ import annotations

import json

import pytest
from compile_lint.linter.api import ConfigError, LintError, UnknownRule, lint_paths, lint_text

BAD = "if x: pass  # BREAK CL101\nprint(x)  # BREAK CL301\n"


def test_paths(write, project):
    write("src/a.py", BAD)
    found = lint_paths(["src"])
    assert [(f.path, f.span.line, f.code) for f in found] == [
        ("src/a.py", 1, "CL101"),
        ("src/a.py", 2, "CL301"),
    ]
    assert [f.code for f in lint_paths([project / "src"], select=["CL3"])] == ["CL301"]
    assert [f.code for f in lint_paths(["src"], ignore=["CL3"])] == ["CL101"]


def test_configuration(write):
    write("compile-lint.toml", 'select = ["CL3"]\n')
    write("other.toml", 'select = ["CL1"]\n')
    write("a.py", BAD)
    assert [f.code for f in lint_paths(["a.py"])] == ["CL301"]
    assert len(lint_paths(["a.py"], config=False)) == 2
    assert [f.code for f in lint_paths(["a.py"], config="other.toml")] == ["CL101"]
    write("compile-lint.toml", "nonsense = 1\n")
    with pytest.raises(ConfigError):
        lint_paths(["a.py"])


def test_text(project):
    found = lint_text(BAD)
    assert [(f.path, f.code) for f in found] == [("<string>", "CL101"), ("<string>", "CL301")]
    assert lint_text("\ufeff# coding: latin-1\r\nx = 'é'\r\n" + BAD)[0].span.line == 3
    assert lint_text("x = 1  # BREAK CL101 # compile-lint: ignore[CL101]\n", "a.py") == []
    cell = {"cell_type": "code", "source": BAD}
    assert lint_text(json.dumps({"cells": [cell]}), "a.ipynb")[0].cell == 1


def test_text_sees_files_beside_it(write, fake_engine):
    write("pkg/b.py", "")
    assert lint_text("import b\n" + BAD, "pkg/a.py", entry="all")[0].path == "pkg/a.py"


def test_errors_hold_the_findings_of_the_rest(write):
    write("a.py", BAD)
    write("b.py", "def f(:\n")
    with pytest.raises(LintError, match=r"b\.py: syntax error") as caught:
        lint_paths(["."])
    assert len(caught.value.findings) == 2
    assert caught.value.diagnostics[0].line == 1
    with pytest.raises(LintError):
        lint_text("def f(:")
    with pytest.raises(LintError, match="no such file"):
        lint_paths(["nowhere"])


def test_bad_arguments(write):
    write("a.py", BAD)
    with pytest.raises(UnknownRule):
        lint_paths(["a.py"], select=["CL999"])
    with pytest.raises(ValueError, match="torch version"):
        lint_paths(["a.py"], target_torch="new")
    with pytest.raises(ValueError, match="form"):
        lint_paths(["a.py"], entry_points=["a.b"])


def test_cache(write, fake_engine):
    write("a.py", BAD)
    first = lint_paths(["a.py"], cache=True)
    fake_engine.analysed.clear()
    assert lint_paths(["a.py"], cache=True) == first
    assert fake_engine.analysed == []
    lint_paths(["a.py"])
    assert fake_engine.analysed == ["a.py"]


def test_warnings_of_the_caller_are_left_alone(recwarn):
    import warnings

    lint_text("x = '\\d'\n")
    warnings.warn("mine", stacklevel=1)
    assert [str(w.message) for w in recwarn] == ["mine"]
