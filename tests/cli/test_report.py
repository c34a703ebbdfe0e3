"""Reports: what others parse, and what people read."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema
import pytest
from compile_lint.linter.model import Diagnostic
from compile_lint.linter.outcome import Outcome
from compile_lint.linter.report import render
from compile_lint.rules.base import (
    Certainty,
    Edit,
    Finding,
    Fix,
    Mode,
    Note,
    Safety,
    Severity,
    Span,
)

SCHEMA = Path(__file__).parents[2] / "fixtures" / "sarif-schema-2.1.0.json"
NASTY = "100%: <b>&\"', \n::error::\x07\x1b[31m"
SPAN = Span(2, 5, 2, 10)
FINDING = Finding(
    "CL101",
    "tensor-if",
    "src/a b,ü.py",
    SPAN,
    SPAN,
    f"the if tests a tensor {NASTY}",
    Severity.ERROR,
    (Mode.DEFAULT, Mode.FULLGRAPH),
    ("GB0170",),
    Certainty.LIKELY,
    (Note("src/b.py", 7, "made here"),),
    "Model.forward",
    (Fix("Use torch.where", (Edit(SPAN, "y"),), Safety.SAFE),),
)
INFO = Finding(
    "CL102", "tensor-while", "nb.ipynb", SPAN, SPAN, "text", Severity.INFO, (), (),
    Certainty.CERTAIN, cell=3,
)  # fmt: skip
OUTCOME = Outcome(
    (INFO, FINDING, FINDING),
    (Diagnostic("bad.py", 3, "syntax error"), Diagnostic("gone.py", None, "no such file")),
    12,
    excerpts=(("  if x.any():",), ("    if x:", ""), ()),
)
FORMATS = ["full", "concise", "json", "sarif", "github", "gitlab", "junit"]


def test_json_contract():
    rows = json.loads(render(OUTCOME, "json"))
    assert rows[1] == {
        "code": "CL101",
        "name": "tensor-if",
        "path": "src/a b,ü.py",
        "line": 2,
        "column": 5,
        "end_line": 2,
        "end_column": 10,
        "message": FINDING.message,
        "severity": "error",
        "breaks": ["default", "fullgraph"],
        "graph_breaks": ["GB0170"],
        "certainty": "likely",
        "trail": [{"path": "src/b.py", "line": 7, "message": "made here"}],
        "region": "Model.forward",
        "fix": {
            "title": "Use torch.where",
            "safety": "safe",
            "edits": [{"line": 2, "column": 5, "end_line": 2, "end_column": 10, "text": "y"}],
        },
    }
    assert (rows[0]["cell"], rows[0]["fix"], rows[0]["trail"]) == (3, None, [])


@pytest.mark.parametrize("outcome", [Outcome(checked=1), OUTCOME])
def test_sarif_is_valid(outcome):
    log = json.loads(render(outcome, "sarif"))
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(log)
    run = log["runs"][0]
    assert len(run["results"]) == len(outcome.findings)
    assert run["invocations"][0]["executionSuccessful"] is not outcome.diagnostics


def test_sarif_content():
    run = json.loads(render(OUTCOME, "sarif"))["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["CL101", "CL102"]
    assert rules[0]["fullDescription"]["text"] == "Speaks of `if`."
    result = run["results"][1]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "CL101"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/a%20b,%C3%BC.py"
    marks = [row["partialFingerprints"]["compileLint/v1"] for row in run["results"]]
    assert len(set(marks)) == 3
    assert result["relatedLocations"][0]["message"]["text"] == "made here"


def test_github_escapes():
    lines = render(OUTCOME, "github").split("\n")
    assert lines[0] == "::error title=compile-lint,file=bad.py,line=3::syntax error"
    assert lines[1] == "::error title=compile-lint,file=gone.py::no such file"
    assert lines[2].startswith(
        "::notice title=compile-lint (CL102),file=nb.ipynb::nb.ipynb:cell 3:"
    )
    place = "file=src/a b%2Cü.py,line=2,col=5,endLine=2,endColumn=10"
    assert lines[3].startswith(f"::error title=compile-lint (CL101),{place}::")
    assert "100%25: <b>" in lines[3]
    assert "%0A::error::" in lines[3]
    assert len(lines) == 6


def test_gitlab():
    rows = json.loads(render(OUTCOME, "gitlab"))
    assert {row["severity"] for row in rows} == {"major", "info"}
    assert len({row["fingerprint"] for row in rows}) == 3
    assert rows[1]["location"]["positions"]["begin"] == {"line": 2, "column": 5}
    assert "\n" not in rows[1]["description"]


def test_junit_is_xml():
    root = ElementTree.fromstring(render(OUTCOME, "junit").encode())
    assert root.attrib == {"name": "compile-lint", "tests": "5", "failures": "3", "errors": "2"}
    assert len(root.findall("testsuite")) == 4
    failure = root.findall(".//failure")[1]
    assert "<b>&\"'" in (failure.text or "")
    clean = ElementTree.fromstring(render(Outcome(checked=2), "junit"))
    assert len(clean.findall(".//testcase")) == 1


def test_full():
    text = render(OUTCOME, "full")
    assert "src/a b,ü.py:2:5: CL101 tensor-if [error, breaks the graph, likely]\n" in text
    assert "  2 |     if x:\n    |     ^^^^^\n" in text
    assert "  note: src/b.py:7: made here\n" in text
    assert "  region: Model.forward\n" in text
    assert "  help: Use torch.where.\n" in text
    assert text.endswith("Found 3 findings (2 errors, 1 info) in 2 files; 12 files checked\n")
    assert "\x1b" not in text


def test_colour_changes_no_text():
    import re

    coloured = render(OUTCOME, "full", color=True)
    assert "\x1b[31" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == render(OUTCOME, "full")


def test_long_lines_are_cut_around_the_place():
    span = Span(1, 5001, 1, 5005)
    finding = Finding(
        "CL101", "tensor-if", "a.py", span, span, "m", Severity.ERROR, (), (), Certainty.CERTAIN
    )
    line = "a" * 5000 + "here" + "b" * 1_000_000
    text = render(Outcome((finding,), excerpts=((line,),)), "full")
    source, marks = text.split("\n")[2:4]
    assert len(source) < 200
    assert source[marks.index("^") : marks.rindex("^") + 1] == "here"


@pytest.mark.parametrize("output_format", FORMATS)
def test_same_outcome_same_text(output_format):
    assert render(OUTCOME, output_format) == render(OUTCOME, output_format)
    assert render(Outcome(checked=1), output_format).endswith("\n") or output_format == "github"


@pytest.mark.parametrize("output_format", FORMATS)
def test_lone_surrogates_and_controls(output_format):
    finding = Finding(
        "CL101", "tensor-if", "caf\udce9.py", SPAN, SPAN, "m", Severity.ERROR, (), (),
        Certainty.CERTAIN,
    )  # fmt: skip
    render(Outcome((finding,), excerpts=(("\udce9\0\t",),)), output_format)


def test_unknown_format():
    with pytest.raises(ValueError, match="unknown output format"):
        render(OUTCOME, "html")
