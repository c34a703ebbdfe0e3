"""Real-world inputs: the lines that Dynamo blames must be found, and captured cases stay clean.

Expectations stand on the line they speak of, ``# breaks: fullgraph,default``: the modes in which
Dynamo blames that line. ``fixtures/cases/truth.json`` holds what else was measured.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

CASES = Path(__file__).resolve().parents[1] / "fixtures" / "cases"
TRUTH = json.loads((CASES / "truth.json").read_text(encoding="utf-8"))["cases"]
MARK = re.compile(r"\S.*# breaks: ((?:fullgraph|default)(?:,default)?)\s*$")
WANTED_RECALL = 0.95
# Every fifth case keeps the re-measurement under half a minute and still meets every family.
SAMPLE = sorted(TRUTH)[::5]


@dataclass(frozen=True)
class Mark:
    """A line that breaks, the statement that holds it, and the modes that break there."""

    path: Path
    line: int
    first: int
    last: int
    modes: tuple[str, ...]
    text: str


def header_end(node: ast.stmt) -> int:
    """Last line of a statement; of a compound one, of its header (its body holds others)."""
    body = getattr(node, "body", None)
    if body:
        return max(node.lineno, body[0].lineno - 1)
    return node.end_lineno or node.lineno


def marks(path: Path) -> list[Mark]:
    source = path.read_text(encoding="utf-8")
    spans = sorted(
        ((n.lineno, header_end(n)) for n in ast.walk(ast.parse(source)) if isinstance(n, ast.stmt)),
        key=lambda span: span[1] - span[0],
        reverse=True,
    )
    found = []
    for line, text in enumerate(source.splitlines(), 1):
        mark = MARK.search(text)
        if not mark:
            continue
        first, last = line, line
        for start, end in spans:
            if start <= line <= end:
                first, last = start, end
        found.append(Mark(path, line, first, last, tuple(mark[1].split(",")), text.strip()))
    return found


@lru_cache(maxsize=1)
def findings():
    """Findings of the whole directory by file name."""
    api = pytest.importorskip("compile_lint.linter.api")
    by_file = defaultdict(list)
    for finding in api.lint_paths([CASES], entry="all", config=False):
        by_file[Path(finding.path).name].append(finding)
    return by_file


def is_found(mark: Mark) -> bool:
    """A finding (not a mere info) on the line, or on the statement that holds it."""
    return any(
        f.span.line <= mark.line <= f.span.end_line or mark.first <= f.span.line <= mark.last
        for f in findings()[mark.path.name]
        if f.severity in ("error", "warning")
    )


def test_marks_agree_with_truth():
    """Marks say what truth.json says, and no line moved when they were added."""
    for name, truth in TRUTH.items():
        found = marks(CASES / name)
        for mode in ("fullgraph", "default"):
            marked = {m.line for m in found if mode in m.modes}
            assert set(truth[f"{mode}_lines"]) <= marked, f"{name}: {mode}"


def test_recall():
    every = [mark for name in sorted(TRUTH) for mark in marks(CASES / name)]
    missed = [mark for mark in every if not is_found(mark)]
    recall = 1 - len(missed) / len(every)
    listing = "\n".join(f"  {m.path.name}:{m.line} [{','.join(m.modes)}] {m.text}" for m in missed)
    assert recall >= WANTED_RECALL, (
        f"recall {recall:.1%} over {len(every)} lines, {len(missed)} missed:\n{listing}"
    )


def test_captured_cases_have_no_error():
    wrong = [
        f"  {name}:{f.span.line} {f.code} {f.message}"
        for name, truth in sorted(TRUTH.items())
        if truth["verdict"] in ("captured", "default-mode break only")
        for f in findings()[name]
        if f.severity == "error"
    ]
    assert not wrong, "errors on code that Dynamo captures under fullgraph:\n" + "\n".join(wrong)


@pytest.mark.truth
def test_truth_still_holds():
    """Dynamo itself, asked again about a sample, blames the lines that truth.json names."""
    pytest.importorskip("torch")
    from .dynamo.measure import Snippet, measure

    differs = []
    for measured in measure(
        Snippet((CASES / name).read_text(encoding="utf-8"), name=name, limit=60) for name in SAMPLE
    ):
        name = measured.snippet.name
        if measured.crash:
            differs.append(f"  {name}: {measured.crash}")
            continue
        for mode in ("fullgraph", "default"):
            outcome, wanted = measured.modes[mode], TRUTH[name][f"{mode}_lines"]
            raised = mode == "default" and outcome.error is not None and not wanted
            if outcome.lines != wanted and not raised:
                differs.append(f"  {name} {mode}: {outcome.lines}, truth.json has {wanted}")
    assert not differs, "\n".join(differs)
