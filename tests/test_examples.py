"""The example modules: they run, lint to what the golden file says, and Dynamo blames no more.

python -m tests.test_examples   writes tests/golden/examples.txt anew.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions
from compile_lint.linter.source import read_source
from compile_lint.rules.base import Finding
from compile_lint.rules.base.rule import FAMILIES

from tests.dynamo.measure import Snippet, measure

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GOLDEN = ROOT / "tests" / "golden" / "examples.txt"
TRUTH_VERSION = "2.13"


def lint(path: Path) -> tuple[Finding, ...]:
    linter = Linter(AnalysisOptions(target_torch=TRUTH_VERSION))
    return linter.lint(read_source(str(path))).findings


def summary() -> Iterator[str]:
    for path in EXAMPLES:
        for finding in lint(path):
            yield f"{path.name}:{finding.span.line}: {finding.code} {finding.message}"


def test_findings_are_those_of_the_golden_file() -> None:
    assert list(summary()) == GOLDEN.read_text(encoding="utf-8").splitlines()


def test_every_family_is_shown() -> None:
    shown = {line.split(": ")[1][2] for line in GOLDEN.read_text(encoding="utf-8").splitlines()}
    assert shown == {str(number) for number in range(1, len(FAMILIES) + 1)}


def test_the_clean_example_is_clean() -> None:
    assert not lint(ROOT / "examples" / "clean.py")


def torch_version() -> str:
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return ""


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_in_eager(path: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    suppressed = torch._dynamo.config.suppress_errors
    try:
        with torch.compiler.set_stance("force_eager"):
            module = load(path)
            if not hasattr(module, "TARGET"):
                module.main(str(tmp_path / "out.pt"))
                return
            target = getattr(module, module.TARGET)
            call = target() if isinstance(target, type) else target
            for arguments in module.example_inputs():
                call(*arguments)
    finally:
        torch._dynamo.config.suppress_errors = suppressed


@pytest.mark.truth
def test_dynamo_blames_only_lines_that_are_found() -> None:
    if not torch_version().startswith(TRUTH_VERSION):
        pytest.skip(f"truth is torch {TRUTH_VERSION}; installed: {torch_version() or 'none'}")
    paths = [path for path in EXAMPLES if "TARGET = " in path.read_text(encoding="utf-8")]
    snippets = [
        Snippet(path.read_text(encoding="utf-8"), name=str(path), limit=120.0) for path in paths
    ]
    missed = []
    for path, measured in zip(paths, measure(snippets)):
        assert not measured.crash, measured.crash
        found = {line for f in lint(path) for line in range(f.span.line, f.statement.end_line + 1)}
        blamed = set(measured.modes["default"].lines)
        missed += [f"{path.name}:{line}" for line in sorted(blamed - found)]
        assert bool(blamed) == (path.stem != "clean")
    assert not missed


def main() -> None:
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text("".join(f"{line}\n" for line in summary()), encoding="utf-8")


if __name__ == "__main__":
    main()
