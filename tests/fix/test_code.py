"""What rewrites are told about the source of a function."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator

import pytest
from compile_lint.linter.engine import Linter
from compile_lint.linter.fix.edits import apply_fixes
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.rules.base import Code, Context, Declined, Fix, Rule, Sighting
from compile_lint.rules.rewrites.layout import statement

HEAD = "import torch\n\n\n"


def ask(text: str, question: Callable[[ast.FunctionDef, Code], object]) -> object:
    """Return the answer of `question` about the function `f` of a source."""
    answers: list[object] = []

    class Probe(Rule):
        code, name, summary = "CL999", "probe", ""
        nodes = (ast.FunctionDef,)

        def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
            yield Sighting(node, "asked")

        def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
            assert isinstance(sighting.node, ast.FunctionDef)
            answers.append(question(sighting.node, code))
            return iter(())

    source = SourceFile("module.py", text, "utf-8", False, "\n", "digest")
    Linter(AnalysisOptions(entry="all", fixes=True), (Probe(),)).lint(source)
    return answers[0]


def function(body: str, head: str = HEAD) -> str:
    return f"{head}def f(x: torch.Tensor, y: torch.Tensor):\n" + textwrap.indent(
        textwrap.dedent(body), "    "
    )


def test_text_with_changes() -> None:
    text = function("return x.sum() * (y + 'é' * 0)\n")

    def question(node: ast.FunctionDef, code: Code) -> object:
        value = node.body[0].value  # type: ignore[attr-defined]
        return code.text(value, {value.left: "1", value.right.left: "z"})

    assert ask(text, question) == "1 * (z + 'é' * 0)"


def test_block_keeps_comments_and_strings() -> None:
    text = function(
        'if x.any():\n    # why\n    a = """\n  raw"""  # behind\n\n    b = a\nreturn x\n'
    )
    expected = ["# why", 'a = """', '      raw"""  # behind', "", "b = a"]

    def question(node: ast.FunctionDef, code: Code) -> object:
        return code.block(node.body[0].body, "")  # type: ignore[attr-defined]

    assert ask(text, question) == expected


def test_block_of_an_elif_is_an_if() -> None:
    text = function("if x.ndim:\n    x = y\nelif y.ndim:\n    y = x\nelse:\n    x = x\nreturn x\n")

    def question(node: ast.FunctionDef, code: Code) -> object:
        return code.block(node.body[0].orelse, "")  # type: ignore[attr-defined]

    assert ask(text, question) == ["if y.ndim:", "    y = x", "else:", "    x = x"]


def test_lines_keep_comments_that_would_be_lost() -> None:
    text = function("if x.any():  # noqa: B1\n    # why\n    x = y  # here\nreturn x\n")

    def question(node: ast.FunctionDef, code: Code) -> object:
        edit = code.lines(node.body[0], ["    x = y  # here"])
        return apply_fixes(text, [code.fix("", [edit])])

    assert ask(text, question) == function("# why\nx = y  # here\nreturn x\n")


def test_lines_keep_to_one_blank_line() -> None:
    text = function("y = x\n\nif y:\n    pass\nreturn y\n")

    def question(node: ast.FunctionDef, code: Code) -> object:
        edit = code.lines(node.body[1], ["", "    def g(): ..."])
        return apply_fixes(text, [code.fix("", [edit])])

    after = str(ask(text, question))
    assert "    y = x\n\n    def g(): ...\n    return y\n" in after


def test_lines_share_a_line() -> None:
    text = function("a = x; b = y\nreturn a + b\n")

    def question(node: ast.FunctionDef, code: Code) -> object:
        with pytest.raises(Declined):
            code.lines(node.body[0], [])
        return True

    assert ask(text, question)


@pytest.mark.parametrize(
    ("head", "body", "spelled"),
    [
        ("import torch\n", "return x\n", "torch.where"),
        ("import torch as t\nimport torch\n", "torch = 1\nreturn x\n", "t.where"),
        ("import torch\nfrom torch import where\n", "return x\n", "where"),
        ("import torch\nfrom torch import where\n", "where = 1\nreturn x\n", "torch.where"),
    ],
)
def test_spell(head: str, body: str, spelled: str) -> None:
    assert ask(function(body, head), lambda node, code: code.spell("torch.where")) == spelled


def test_missing_import_is_added_once() -> None:
    text = "from torch import Tensor\n\n\ndef f(x: Tensor):\n    return x\n"

    def question(node: ast.FunctionDef, code: Code) -> object:
        edit = code.replace(node.body[0].value, code.spell("torch.where"))  # type: ignore[attr-defined]
        return apply_fixes(text, [code.fix("", [edit]), code.fix("", [])])

    after = ask(text, question)
    assert isinstance(after, str)
    assert after.count("import torch\n") == 1
    assert "return torch.where" in after


def test_fresh_names_and_anew() -> None:
    text = function("pred = x\nreturn pred\n")

    def question(node: ast.FunctionDef, code: Code) -> object:
        return code.fresh("pred"), code.fresh("pred"), code.anew().fresh("pred")

    assert ask(text, question) == ("pred_2", "pred_3", "pred_2")


def test_width_follows_the_lines_that_could_be_broken() -> None:
    def question(node: ast.FunctionDef, code: Code) -> object:
        return code.width

    assert ask(function("return x\n"), question) == 88
    assert ask(function(f"name = '{'x' * 80}'\nreturn x\n"), question) == 88  # can't be broken
    called = ", ".join(["torch.cos(x)"] * 6)
    assert ask(function(f"y = f({called})\nreturn x\n"), question) == 100


def test_shared() -> None:
    text = function("a = x * 2\nb = a * 3\nc = b.view(-1)\nreturn a, b, c\n")

    def question(node: ast.FunctionDef, code: Code) -> object:
        return [code.shared(name) for name in ("x", "a", "b", "c", "self.count")]

    assert ask(text, question) == [True, False, True, True, True]


def test_flow() -> None:
    text = function("a = x\nif x.any():\n    b = a\n    c = b\nreturn c + a\n")

    def question(node: ast.FunctionDef, code: Code) -> object:
        branch = node.body[1]
        border = code.boundary([branch])
        return border.results, border.partial, code.bound_before(branch), code.live_after(branch)

    assert ask(text, question) == ({"c"}, {"c"}, {"x", "y", "a"}, {"c", "a"})


def test_a_lambda_that_gets_too_long_is_put_in_parentheses() -> None:
    """As `ruff format` breaks it."""
    text = "torch._check(n != 0, lambda: 'a message that is long enough for a line')"
    assert statement("", text, "    ", 58, "    ") == [
        "    torch._check(",
        "        n != 0,",
        "        lambda: (",
        "            'a message that is long enough for a line'",
        "        ),",
        "    )",
    ]
    short = text.replace(" that is long enough", "")
    assert statement("", short, "    ", 50, "    ")[1:-1] == [
        "        n != 0, lambda: 'a message for a line'"
    ]


def test_a_comprehension_that_gets_too_long_is_split_at_its_clauses() -> None:
    """As `ruff format` breaks it."""
    text = "[k for k, _ in given.items() if k not in known_ones and k not in (é for é in quiet)]"
    assert statement("rest = ", text, "    ", 66, "    ") == [
        "    rest = [",
        "        k",
        "        for k, _ in given.items()",
        "        if k not in known_ones and k not in (é for é in quiet)",
        "    ]",
    ]
    assert statement(
        "x = ", "{(é): [b] for (é), b in zip(names, rows) if (é)}", "", 46, "    "
    ) == [
        "x = {",
        "    (é): [b]",
        "    for (é), b in zip(names, rows)",
        "    if (é)",
        "}",
    ]
    assert statement("found = ", "[row for row in every_table]", "", 34, "    ") == [
        "found = [",
        "    row for row in every_table",
        "]",
    ]
