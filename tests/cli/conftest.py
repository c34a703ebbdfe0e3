"""A stand-in for the analysis: `# BREAK CL101` in a line is a finding on its statement.

So the command line is tested for itself, whatever the rules find.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import compile_lint.linter
import pytest
from compile_lint.linter import catalog, cli, source
from compile_lint.linter.model import AnalysisOptions, FileResult, RegionReport, SourceFile
from compile_lint.rules.base import Certainty, Finding, Mode, Note, Rule, Severity, Span

_MARK = re.compile(r"BREAK (CL\d+)(?: (likely))?(?: in (\S+):(\d+))?")


class TensorIf(Rule):
    """A test rule.

    ## What it does
    Speaks of `if`.

    ## Fix
    Use torch.where. Or else don't.
    """

    code, name, summary = "CL101", "tensor-if", "An if on a tensor"
    breaks = (Mode.DEFAULT, Mode.FULLGRAPH)
    graph_breaks = ("GB0170",)


class TensorWhile(TensorIf):
    """A second test rule.

    ## Fix
    Use while_loop.
    """

    code, name, summary = "CL102", "tensor-while", "A while on a tensor"


class Print(TensorIf):
    """A third test rule.

    ## Fix
    Remove it.
    """

    code, name, summary = "CL301", "print-call", "A print"
    breaks = (Mode.DEFAULT,)
    graph_breaks = ()


class FakeLinter:
    """Reports marks; imports of sibling files are dependencies."""

    analysed: list[str] = []  # noqa: RUF012  # of this process

    def __init__(self, options: AnalysisOptions) -> None:
        self.options = options

    def lint(self, file: SourceFile) -> FileResult:
        FakeLinter.analysed.append(os.path.basename(file.path))
        if "CRASH" in file.text:
            raise RuntimeError("deliberate")
        if "DIE" in file.text:
            os._exit(9)
        if "RECURSE" in file.text:
            raise RecursionError
        tree = source.parse_source(file)
        spans = _header_spans(tree)
        findings = []
        for number, line in enumerate(file.text.split("\n"), start=1):
            for match in _MARK.finditer(line):
                findings.append(_finding(file.path, number, line, match, spans))
        region = RegionReport(file.path, 1, "f", "torch.compile", "", ((file.path, 1, "f"),))
        dependencies = tuple(_imports(tree, os.path.dirname(file.path)))
        return FileResult(file.path, tuple(findings), (region,), dependencies)


def _finding(path: str, number: int, line: str, match: re.Match[str], spans: list[Span]) -> Finding:
    code, likely = match[1], match[2]
    if match[3]:
        path, number = os.path.join(os.path.dirname(path), match[3]), int(match[4])
        span = statement = Span(number, 1, number, 5)
    else:
        column = len(line) - len(line.lstrip()) + 1
        span = Span(number, column, number, column + 3)
        holders = [s for s in spans if s.line <= number <= s.end_line]
        statement = max(holders, default=span)
    default_only = code.startswith("CL3")
    return Finding(
        code,
        {"CL101": "tensor-if", "CL102": "tensor-while"}.get(code, "print-call"),
        path,
        span,
        statement,
        f"{code} breaks here",
        Severity.WARNING if default_only else Severity.ERROR,
        (Mode.DEFAULT,) if default_only else (Mode.DEFAULT, Mode.FULLGRAPH),
        () if default_only else ("GB0170",),
        Certainty.LIKELY if likely else Certainty.CERTAIN,
        (Note(path, 1, "made here"),),
        "f",
    )


def _header_spans(tree: ast.Module) -> list[Span]:
    spans = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno
            spans.append(Span(node.lineno, node.col_offset + 1, end or node.lineno, 1))
    return spans


def _imports(tree: ast.Module, folder: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                path = os.path.join(folder, alias.name + ".py")
                there = os.path.exists(path)
                yield path, source.read_source(path).digest if there else ""


@pytest.fixture(autouse=True)
def fake_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[FakeLinter]:
    """Put the stand-in where the engine is, three rules in the catalogue, a cache of our own."""
    module = types.ModuleType("compile_lint.linter.engine")
    module.Linter = FakeLinter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(compile_lint.linter, "engine", module, raising=False)
    rules = (TensorIf(), TensorWhile(), Print())
    monkeypatch.setattr(catalog, "all_rules", lambda: rules)
    monkeypatch.setenv("COMPILE_LINT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    catalog.catalog.cache_clear()
    catalog.codes_of.cache_clear()
    FakeLinter.analysed.clear()
    yield FakeLinter
    catalog.catalog.cache_clear()
    catalog.codes_of.cache_clear()


@dataclass(frozen=True)
class Result:
    """What a command printed and returned."""

    code: int
    out: str
    err: str

    def lines(self) -> list[str]:
        return self.out.splitlines()


Run = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the working directory."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in the project, with the short report unless told otherwise."""

    def call(*arguments: str) -> Result:
        plain = not any(word.startswith("--output-format") for word in arguments)
        command = arguments and arguments[0] in ("rule", "rules")
        extra = ["--output-format", "concise"] if plain and not command else []
        code = cli.run([*arguments, *extra])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def write(project: Path) -> Callable[..., Path]:
    """Write a file of the project, its folders too."""

    def call(name: str, content: str | bytes = "") -> Path:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data)
        return path

    return call
