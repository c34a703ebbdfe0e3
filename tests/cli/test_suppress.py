"""Suppression comments."""

from __future__ import annotations

import pytest
from compile_lint.linter.suppress import find_suppressions


def report(run, write, text: str, *arguments: str) -> list[str]:
    write("a.py", text)
    return [line.removeprefix("a.py:") for line in run(*arguments).lines()[:-1]]


@pytest.mark.parametrize(
    "text",
    [
        "if x: pass  # BREAK CL101  # compile-lint: ignore[CL101] known",
        "if x: pass  # compile-lint: ignore[CL1] BREAK CL101",
        "if x: pass  # compile-lint: ignore [ CL301 , CL101 ] BREAK CL101 BREAK CL301",
        "if x: pass  # compile-lint: ignore[tensor-if] BREAK CL101",
        "if x: pass  #compile-lint:ignore BREAK CL101",
        "# compile-lint: ignore[CL101]\nif x: pass  # BREAK CL101",
        "# compile-lint: ignore[CL101] why\n# and more\n\nif x: pass  # BREAK CL101",
        "f(\n    x,  # BREAK CL101\n    y,  # compile-lint: ignore[CL101]\n)",
        "f(\n    x,  # BREAK CL101\n    y,\n)  # compile-lint: ignore[CL101]",
        "# compile-lint: ignore[CL101]\nf(\n    x,\n    y,  # BREAK CL101\n)",
        "def f():\n    pass\n\n# compile-lint: ignore-file[CL101]\nif x: pass  # BREAK CL101",
        "# compile-lint: ignore-file\nif x: pass  # BREAK CL101\nprint()  # BREAK CL301",
        "if x:  # noqa # compile-lint: ignore[CL101] see #12 BREAK CL101\n    pass",
    ],
)
def test_hides(run, write, text):
    assert report(run, write, text) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("if x: pass  # compile-lint: ignore[CL301] BREAK CL101", [
            "1:1: CL101 [error] CL101 breaks here",
            "1:13: CL001 [warning] unused ignore: CL301 isn't reported here",
        ]),
        ("x = 1  # compile-lint: ignore", [
            "1:8: CL001 [warning] unused ignore: nothing is reported here",
        ]),
        ("x = 1  # compile-lint: ignore[CL101, CL1, CL301] BREAK CL101", [
            "1:8: CL001 [warning] unused ignore: CL301 isn't reported here",
        ]),
        ("x = 1  # compile-lint: ignore[CL101,CL301]", [
            "1:8: CL001 [warning] unused ignore: CL101, CL301 aren't reported here",
        ]),
        ("# compile-lint: ignore-file[CL301]", [
            "1:1: CL001 [warning] unused ignore: CL301 isn't reported here",
        ]),
        ("if x:  # compile-lint: ignore[CL101]\n    y()  # BREAK CL101", [
            "1:8: CL001 [warning] unused ignore: CL101 isn't reported here",
            "2:5: CL101 [error] CL101 breaks here",
        ]),
        ("x = 1  # compile-lint: ignore[CL999]", [
            "1:8: CL002 [warning] this comment names no rule: unknown rule 'CL999'",
        ]),
        ("x = 1  # compile-lint: ignore[tensor-iff]", [
            "1:8: CL002 [warning] this comment names no rule: unknown rule 'tensor-iff'; "
            "did you mean tensor-if?",
        ]),
        ("x = 1  # compile-lint: ignore(CL101)", [
            "1:8: CL002 [warning] this comment hides nothing: codes must stand in brackets: "
            "ignore[CL101]",
        ]),
        ("x = 1  # compile-lint: ignore CL101", [
            "1:8: CL002 [warning] this comment hides nothing: codes must stand in brackets: "
            "ignore[CL101]",
        ]),
        ("x = 1  # compile-lint: ignore[]", [
            "1:8: CL002 [warning] this comment hides nothing: the brackets name no rule",
        ]),
        ("x = 1  # compile-lint: disable", [
            "1:8: CL002 [warning] this comment hides nothing: 'disable' isn't 'ignore' or "
            "'ignore-file'",
        ]),
        ("x = '# compile-lint: ignore[CL301]'", []),
    ],
)  # fmt: skip
def test_says(run, write, text, lines):
    found = report(run, write, text)
    assert [line.split("; did")[0] for line in found] == [line.split("; did")[0] for line in lines]


def test_only_selected_codes_are_called_unused(run, write):
    text = "x = 1  # compile-lint: ignore[CL301]\n"
    assert report(run, write, text, "--select", "CL0,CL1") == []
    assert len(report(run, write, text, "--select", "CL001,CL301")) == 1
    assert report(run, write, text, "--select", "CL301") == []


def test_comment_for_a_rule_that_is_not_selected_is_used(run, write):
    text = "x = 1  # compile-lint: ignore BREAK CL301\n"
    assert report(run, write, text, "--ignore", "CL301") == []


def test_hides_findings_that_regions_of_other_files_reach(run, write):
    write("b.py", "x = 1  # BREAK CL101 in a.py:1\n")
    assert report(run, write, "x = 1  # compile-lint: ignore[CL101]\n") == []


def test_no_tokens_without_the_mark(monkeypatch):
    monkeypatch.setattr("tokenize.generate_tokens", None)
    assert find_suppressions("x = 1  # noqa\n") == ()


def test_line_numbers_after_form_feed_and_long_strings():
    text = 'x = """\n\n"""\n\f\ny = 1  # compile-lint: ignore\n'
    (comment,) = find_suppressions(text)
    assert (comment.line, comment.covers) == (5, (5,))
