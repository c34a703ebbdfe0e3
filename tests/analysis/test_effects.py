"""What code may change, and which names may share storage."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from typing import ClassVar

from compile_lint.linter.analysis.effects import Aliases, effects
from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.rules.base import Context, Effects, Rule


def in_function(body: str, ask: Callable[[ast.FunctionDef, Context], object]) -> object:
    """Run `ask` with the analysed function `f(x: Tensor, y: Tensor, items: list)`."""

    class Probe(Rule):
        code, name, summary = "CL999", "probe", ""
        nodes = (ast.FunctionDef,)
        answers: ClassVar[list[object]] = []

        def check(self, node: ast.AST, ctx: Context) -> tuple[()]:
            assert isinstance(node, ast.FunctionDef)
            self.answers.append(ask(node, ctx))
            return ()

    head = "import torch\n\n@torch.compile\ndef f(x: torch.Tensor, y: torch.Tensor, items: list):\n"
    text = head + textwrap.indent(textwrap.dedent(body), "    ")
    file = SourceFile("m.py", text, "utf-8", False, "\n", "x")
    probe = Probe()
    Linter(AnalysisOptions(target_torch="2.13"), (probe,)).lint(file)
    return probe.answers[-1]


def effects_of(body: str) -> Effects:
    found = in_function(body, lambda node, ctx: effects(node.body, ctx))
    assert isinstance(found, Effects)
    return found


def test_tensor_arithmetic_is_pure() -> None:
    assert effects_of("z = torch.relu(x @ y).sum(dim=-1)[..., None] + len(items)").pure


def test_in_place_methods_write_their_receiver() -> None:
    assert effects_of("x.add_(y)").mutates == {"x"}
    assert effects_of("torch.relu_(x)").mutates == {"x"}
    assert effects_of("torch.add(x, y, out=y)").mutates == {"y"}
    assert effects_of("x += y").mutates == {"x"}


def test_numbers_are_rebound_not_written() -> None:
    assert effects_of("n = 1\nn += 2").pure


def test_stores_and_containers() -> None:
    assert effects_of("x[0] = y").stores == {"x[...]"}
    assert effects_of("items.append(x)").mutates == {"items"}


def test_randomness_and_failures() -> None:
    assert effects_of("z = torch.rand(3)").random
    assert effects_of("z = torch.nn.functional.dropout(x)").random
    assert effects_of("assert items").raises


def test_calls_of_the_unknown_are_not_pure() -> None:
    found = effects_of("z = mystery(x)")
    assert not found.pure
    assert found.unknown == ("mystery",)


def test_aliases() -> None:
    body = """
    a = x.view(-1)
    b = a[0]
    c = x + 1
    d = c.relu_()
    e, g = y.chunk(2)
    h = x.clone()
    """
    aliases = in_function(body, Aliases)
    assert isinstance(aliases, Aliases)
    assert aliases.may_alias("b", "x")
    assert aliases.may_alias("c", "d")
    assert aliases.may_alias("g", "y")
    assert not aliases.may_alias("c", "x")
    assert not aliases.may_alias("h", "x")
    assert aliases.of("a") == {"a", "b", "x"}
