"""`compile-lint rule` and `compile-lint rules`."""

from __future__ import annotations

import json

import pytest


def test_rule_by_code_and_name(run):
    result = run("rule", "CL101")
    assert result.code == 0
    assert result.out.startswith("# CL101: tensor-if\n")
    assert "## Fix\nUse torch.where." in result.out
    assert "breaks the graph by default; fails under fullgraph=True" in result.out
    assert "- GB0170: Data-dependent branching" in result.out
    assert run("rule", "tensor-if").out == result.out == run("rule", "cl101").out


def test_rule_as_json(run):
    row = json.loads(run("rule", "CL101", "--output-format", "json").out)
    assert row["code"] == "CL101"
    assert row["breaks"] == ["default", "fullgraph"]
    assert row["graph_break_meanings"][0]["type"] == "Data-dependent branching"
    assert "## Fix" in row["docs"]


def test_graph_break(run):
    result = run("rule", "GB0170")
    assert result.out.startswith("GB0170: Data-dependent branching (torch ")
    assert "  CL101  tensor-if: An if on a tensor" in result.lines()
    row = json.loads(run("rule", "gb0170", "--output-format", "json").out)
    assert [rule["code"] for rule in row["rules"]] == ["CL101", "CL102"]


def test_graph_break_that_no_rule_predicts(run):
    result = run("rule", "GB0001")
    assert result.code == 0
    assert "No rule predicts it." in result.lines()


@pytest.mark.parametrize("what", ["CL999", "GB9999", "nonsense", "tensor-iff"])
def test_unknown(run, what):
    result = run("rule", what)
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1


def test_rules(run):
    codes = [line.split()[0] for line in run("rules").lines()]
    assert codes == ["CL001", "CL002", "CL101", "CL102", "CL301"]
    rows = json.loads(run("rules", "--output-format", "json").out)
    assert [row["code"] for row in rows] == codes


def test_own_rules_have_all_headings(run):
    from compile_lint.linter.catalog import META
    from compile_lint.linter.docs import sections
    from compile_lint.rules.base import HEADINGS

    for info in META:
        assert tuple(sections(info.docs)) == HEADINGS
