"""Baselines: only new findings fail."""

from __future__ import annotations

import json

import pytest

BAD = "if x: pass  # BREAK CL101\n"


def test_only_new_findings_fail_wherever_lines_move(run, write):
    write("a.py", BAD)
    assert run("--write-baseline", "known.json").err == "Wrote 1 findings to known.json\n"
    arguments = ["--baseline", "known.json"]
    result = run(*arguments)
    assert result.code == 0
    assert result.out == "No findings; 1 file checked; 1 in the baseline\n"
    write("a.py", "import torch\n\n\n    \nif   x: pass  # BREAK CL101\n")
    assert run(*arguments).code == 0
    write("a.py", BAD + "\n" + BAD)
    result = run(*arguments)
    assert result.code == 1
    assert result.lines()[0].startswith("a.py:3:1")
    write("a.py", BAD.replace("101", "102"))
    assert run(*arguments).code == 1
    write("a.py", "")
    write("b.py", BAD)
    assert run(*arguments).code == 1


def test_file_is_sorted_and_legible(run, write, project):
    write("b.py", BAD * 2)
    write("a.py", "x = '" + "a" * 500 + "'  # BREAK CL101\n")
    run("--write-baseline")
    document = json.loads((project / "compile-lint-baseline.json").read_text())
    rows = document["findings"]
    assert [(row["path"], row["count"]) for row in rows] == [("a.py", 1), ("b.py", 2)]
    assert rows[1]["statement"] == "if x: pass # BREAK CL101"
    assert len(rows[0]["statement"]) < 220


def test_swallowed_path_is_given_back(run, write, project):
    write("src/a.py", BAD)
    write("b.py", BAD)
    assert run("--write-baseline", "src").code == 0
    rows = json.loads((project / "compile-lint-baseline.json").read_text())["findings"]
    assert [row["path"] for row in rows] == ["src/a.py"]


def test_paths_are_relative_to_the_baseline(run, write, project, monkeypatch):
    write("src/a.py", BAD)
    run("--write-baseline", "known.json")
    monkeypatch.chdir(project / "src")
    assert run("a.py", "--baseline", "../known.json").code == 0


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2, "findings": []}', '{"version": 1, "findings": [1]}']
)
def test_bad_baseline(run, write, text):
    write("a.py", BAD)
    write("known.json", text)
    result = run("--baseline", "known.json")
    assert (result.code, result.out) == (2, "")
    assert "known.json: error: " in result.err
    assert len(result.err.splitlines()) == 1


def test_missing_baseline(run, write):
    write("a.py", BAD)
    result = run("--baseline", "none.json")
    assert result.code == 2
    assert "can't read the baseline: no such file or directory" in result.err
