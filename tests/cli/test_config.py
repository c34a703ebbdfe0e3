"""Configuration files: nearest wins, mistakes are told in one line, options override."""

from __future__ import annotations

import json

import pytest
from compile_lint.linter.discover import start_of

BAD = "if x:  # BREAK CL101\n    print(x)  # BREAK CL301\n"


def codes(result) -> list[tuple[str, str]]:
    return [(row["path"], row["code"]) for row in json.loads(result.out)]


def test_nearest_configuration_wins(run, write):
    write("a.py", BAD)
    write("one/a.py", BAD)
    write("one/inner/a.py", BAD)
    write("two/a.py", BAD)
    write("pyproject.toml", '[tool.compile-lint]\nselect = ["CL1"]\n')
    write("one/compile-lint.toml", 'ignore = ["CL1"]\n')
    write("two/pyproject.toml", "[tool.other]\nx = 1\n")
    assert codes(run("--output-format", "json")) == [
        ("a.py", "CL101"),
        ("one/a.py", "CL301"),
        ("one/inner/a.py", "CL301"),
        ("two/a.py", "CL101"),
    ]


def test_every_key(run, write):
    write("a.py", BAD)
    write(
        "pyproject.toml",
        """
[tool.compile-lint]
select = ["CL1", "CL3"]
ignore = ["CL102"]
extend-select = ["CL102"]
severity = "warning"
target-torch = "2.13.0+cpu"
entry = "all"
training = true
entry-points = ["pkg.mod:Model.forward"]
src = ["lib"]
follow = ["timm"]
exclude = ["old"]
extend-exclude = ["gen_*.py"]
force-exclude = true
respect-gitignore = false
cache-dir = ".cache"
output-format = "concise"
jobs = 2

[tool.compile-lint.per-file-ignores]
"a.py" = ["CL301"]

[tool.compile-lint.inputs]
"app.model:Net" = "[(torch.ones(2),)]"
""",
    )
    result = run("--show-settings")
    lines = result.lines()
    assert 'target-torch = "2.13"' in lines
    assert 'per-file-ignores = { "a.py" = ["CL301"] }' in lines
    assert 'inputs = { "app.model:Net" = "[(torch.ones(2),)]" }' in lines
    assert 'src = ["lib"]' in lines
    assert codes(run("--output-format", "json")) == [("a.py", "CL101")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slect = []", ":2: error: unknown key 'slect'; did you mean 'select'?"),
        ("select = 'CL1'", ":2: error: select: must be a list of strings"),
        ("entry = 'autto'", ":2: error: entry: unknown value 'autto'; did you mean 'auto'?"),
        ("jobs = true", ":2: error: jobs: must be a whole number, 0 for all processors"),
        (
            "\nseverity = 1",
            ":3: error: severity: unknown value 1; choose from error, warning, info",
        ),
        ("target-torch = 2.13", ":2: error: target-torch: must be a string"),
        ("target-torch = 'new'", ":2: error: target-torch: 'new' isn't a torch version"),
        ("entry-points = ['a.b']", ":2: error: entry-points: 'a.b' isn't of the form"),
        ("per-file-ignores = []", ":2: error: per-file-ignores: must be a table"),
        ("[tool.compile-lint.inputs]\nkep = '1'", ":2: error: inputs: 'kep' isn't of the form"),
        ("[tool.compile-lint.inputs]\n'a:b' = '1 +'", ":2: error: inputs: a:b: not a Python"),
        ("x = = 1", ":2: error: not valid TOML: Invalid value"),
        ("select = ['CL9']", "error: unknown rule 'CL9'"),
    ],
)
def test_mistakes(run, write, project, text, message):
    write("a.py", BAD)
    write("pyproject.toml", f"[tool.compile-lint]\n{text}\n")
    result = run()
    assert result.code == 2
    assert result.out == ""
    prefix = "" if message.startswith("error") else f"{project}/pyproject.toml"
    assert result.err.startswith(prefix + message)
    assert len(result.err.splitlines()) == 1


def test_not_utf8(run, write):
    write("a.py", BAD)
    write("compile-lint.toml", b"select = ['\xff']\n")
    assert "error: not valid UTF-8" in run().err


def test_command_line_overrides(run, write):
    write("a.py", BAD)
    write("pyproject.toml", '[tool.compile-lint]\nselect = ["CL1"]\nignore = ["CL301"]\n')
    assert codes(run("--output-format", "json", "--select", "CL3")) == [("a.py", "CL301")]
    assert codes(run("--output-format", "json", "--extend-select", "CL3")) == [("a.py", "CL101")]
    assert codes(run("--output-format", "json", "--ignore", "CL101")) == []
    assert len(codes(run("--output-format", "json", "--isolated"))) == 2


def test_named_configuration(run, write):
    write("a.py", BAD)
    write("pyproject.toml", '[tool.compile-lint]\nselect = ["CL1"]\n')
    write("other/mine.toml", 'select = ["CL3"]\n')
    arguments = ["--output-format", "json", "--config", "other/mine.toml"]
    assert codes(run(*arguments)) == [("a.py", "CL301")]
    result = run("--config", "nowhere.toml")
    assert result.code == 2
    assert "nowhere.toml: error: can't read: no such file or directory" in result.err


def test_output_format_and_baseline_from_configuration(run, write):
    from compile_lint.linter import cli

    write("a.py", BAD)
    write(
        "pyproject.toml", '[tool.compile-lint]\noutput-format = "json"\nbaseline = "known.json"\n'
    )
    assert run("--write-baseline").code == 0
    assert cli.run([]) == 0


def test_project_without_configuration_has_its_marker_as_root(run, write, project):
    write("lib/setup.py", "")
    write("lib/pkg/a.py", "")
    assert f"# root: {project}/lib" in run("lib", "--show-settings").lines()


def test_files_of_a_package_elsewhere_are_one_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = tmp_path.parent / "elsewhere"
    for name in ("pkg/__init__.py", "pkg/a.py", "pkg/sub/__init__.py", "pkg/sub/b.py", "c.py"):
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_text("")
    starts = {start_of(str(other / name)) for name in ("pkg/a.py", "pkg/sub/b.py", "c.py")}
    assert starts == {str(other)}
    assert start_of(str(other / "pkg")) == str(other / "pkg")
    assert start_of(str(tmp_path / "pkg/a.py")) == str(tmp_path)
