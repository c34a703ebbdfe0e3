"""The main command: paths, selection, exit status, output."""

from __future__ import annotations

import json

import pytest

BAD = "def f(x):\n    if x:  # BREAK CL101\n        print(x)  # BREAK CL301\n"


def test_clean_exits_zero(run, write):
    write("a.py", "x = 1\n")
    result = run()
    assert (result.code, result.err) == (0, "")
    assert result.out == "No findings; 1 file checked\n"


def test_findings_exit_one_in_order(run, write):
    write("b.py", BAD)
    write("a.py", BAD)
    result = run(".")
    assert result.code == 1
    assert result.lines() == [
        "a.py:2:5: CL101 [error] CL101 breaks here",
        "a.py:3:9: CL301 [warning] CL301 breaks here",
        "b.py:2:5: CL101 [error] CL101 breaks here",
        "b.py:3:9: CL301 [warning] CL301 breaks here",
        "Found 4 findings (2 errors, 2 warnings) in 2 files; 2 files checked",
    ]


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (["--select", "CL1"], ["CL101"]),
        (["--select", "CL3,CL101"], ["CL101", "CL301"]),
        (["--select", "print-call"], ["CL301"]),
        (["--ignore", "CL101"], ["CL301"]),
        (["--select", "CL1", "--extend-select", "CL301"], ["CL101", "CL301"]),
        (["--select", "CL101", "--ignore", "CL1"], ["CL101"]),
        (["--select", "ALL", "--ignore", "CL"], []),
        (["--severity", "error"], ["CL101"]),
        (["--per-file-ignores", "*.py:CL101"], ["CL301"]),
        (["--per-file-ignores", "src/*.py:CL101,CL3"], []),
        (["--per-file-ignores", "src:CL1"], ["CL301"]),
        (["--per-file-ignores", "other/**:CL1"], ["CL101", "CL301"]),
    ],
)
def test_selection(run, write, arguments, codes):
    write("src/a.py", BAD)
    result = run("src", "--output-format", "json", *arguments)
    assert [row["code"] for row in json.loads(result.out)] == codes
    assert result.code == (1 if codes else 0)


def test_unknown_rule_is_a_usage_error(run, write):
    write("a.py", BAD)
    result = run("--select", "CL999")
    assert result.code == 2
    assert result.err.startswith("error: unknown rule 'CL999'")
    assert "did you mean" in run("--select", "tensor-iff").err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--entry", "none"],
        ["--nonsense"],
        ["--jobs", "-1"],
        ["--target-torch", "new"],
        ["--per-file-ignores", "CL101"],
        ["-", "a.py"],
    ],
)
def test_bad_usage_is_one_line(run, write, arguments):
    write("a.py", BAD)
    result = run(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert len(result.err.splitlines()) == 1
    assert result.err.startswith("error: ")


def test_exit_zero(run, write):
    write("a.py", BAD)
    assert run("--exit-zero").code == 0


def test_missing_path(run, write):
    write("a.py", BAD)
    result = run("a.py", "nowhere.py")
    assert result.code == 2
    assert result.err == "nowhere.py: error: no such file or directory\n"
    assert len(result.lines()) == 3


def test_paths_as_given(run, write, project):
    write("src/a.py", BAD)
    for given, shown in [
        ("src", "src/a.py"),
        ("./src/", "./src/a.py"),
        ("src/a.py", "src/a.py"),
        (str(project / "src"), f"{project}/src/a.py"),
    ]:
        assert run(given).lines()[0].startswith(f"{shown}:2:5: ")


def test_path_named_like_a_command(run, write):
    write("rule/a.py", BAD)
    assert run("./rule").code == 1
    assert run("rule", "CL101").code == 0


def test_same_file_twice_is_linted_once(run, write):
    write("a.py", BAD)
    assert run("a.py", ".", "./a.py").lines()[-1].endswith("in 1 file; 1 file checked")


def test_findings_in_called_files(run, write):
    write("model.py", "import helper\nhelper.g()  # BREAK CL101 in helper.py:2\n")
    write("helper.py", "def g(x):\n    if x: pass\n")
    assert run("model.py").lines() == ["No findings; 1 file checked"]
    assert run("model.py", "helper.py").lines()[0].startswith("helper.py:2:1: CL101")


def test_certain_wins_over_likely(run, write):
    write("a.py", "x = 1  # BREAK CL101 likely in c.py:1\n")
    write("b.py", "x = 1  # BREAK CL101 in c.py:1\n")
    write("c.py", "pass\n")
    rows = json.loads(run("--output-format", "json").out)
    assert [(row["path"], row["certainty"]) for row in rows] == [("c.py", "certain")]


def test_link_to_an_asked_for_file(run, write, project):
    write("real/c.py", "pass\n")
    (project / "c.py").symlink_to("real/c.py")
    write("a.py", "x = 1  # BREAK CL101 in c.py:1\n")
    assert run("a.py", "real").lines()[0].startswith("real/c.py:1:1")


def test_stdin(run, monkeypatch, project, write):
    import io
    import sys

    write("pyproject.toml", '[tool.compile-lint]\nignore = ["CL301"]\n')
    for arguments, shown in [
        (["-"], "<stdin>"),
        (["--stdin-filename", "src/a.py", "-"], "src/a.py"),
    ]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
        result = run(*arguments)
        assert result.lines() == [
            f"{shown}:2:5: CL101 [error] CL101 breaks here",
            "Found 1 finding (1 error) in 1 file; 1 file checked",
        ]


def test_output_file(run, write, project):
    write("a.py", BAD)
    result = run("--output-file", "report.txt")
    assert (result.code, result.out) == (1, "")
    assert (project / "report.txt").read_text().count("\n") == 3
    result = run("--output-file", "no/such/folder/report.txt")
    assert result.code == 2
    assert "can't write: no such file or directory" in result.err


def test_statistics(run, write):
    write("a.py", BAD + "if f: pass  # BREAK CL101\n")
    assert run("--statistics").lines()[:2] == ["2  CL101  tensor-if", "1  CL301  print-call"]


def test_show_files_and_settings_and_regions(run, write):
    write("src/a.py", BAD)
    write("b.ipynb", '{"cells": []}')
    write("c.txt", "")
    assert run("--show-files").lines() == ["b.ipynb", "src/a.py"]
    assert 'entry = "all"' in run("--show-settings", "--entry", "all").lines()
    lines = run("src", "--show-regions").lines()
    assert lines == [
        "src/a.py:1: f: torch.compile",
        "    src/a.py:1: f",
        "1 regions in 1 files",
    ]


def test_quiet_prints_findings_only(run, write):
    write("a.py", BAD)
    assert len(run("--quiet").lines()) == 2
    write("a.py", "")
    assert run("--quiet").out == ""


def test_version_and_help(run):
    assert run("--version").out.startswith("compile-lint ")
    result = run("-h")
    assert result.code == 0
    assert "--write-baseline" in result.out


def test_internal_error_costs_one_file(run, write):
    write("a.py", "# CRASH\n")
    write("b.py", BAD)
    result = run()
    assert result.code == 2
    assert result.err == (
        "a.py: error: internal error: RuntimeError: deliberate (please report it)\n"
    )
    assert len(result.lines()) == 3


def test_deep_nesting_is_one_line(run, write):
    write("a.py", "# RECURSE\n")
    result = run()
    assert (result.code, result.err) == (2, "a.py: error: nested too deeply to be analysed\n")


def test_keyboard_interrupt(run, write, monkeypatch, fake_engine):
    write("a.py", BAD)

    def interrupt(self, file):
        raise KeyboardInterrupt

    monkeypatch.setattr(fake_engine, "lint", interrupt)
    result = run()
    assert (result.code, result.out, result.err.strip()) == (130, "", "")


def test_fix_leaves_what_has_no_rewrite(run, write):
    path = write("a.py", BAD)
    result = run("--fix")
    assert result.code == 1
    assert "Fixed 0 findings" in result.err
    assert path.read_text() == BAD
