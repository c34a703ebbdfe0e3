"""A file's result is the same whichever files an engine has seen before."""

from __future__ import annotations

from pathlib import Path

import pytest
from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions
from compile_lint.linter.source import read_source

SHARED = """
import torch

def scaled(value, by):
    if by == 0:
        print(value)
    return value * by

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = scaled(1, 1) + scaled(1, 2) + scaled(1, 3) + scaled(1, 4)
        self.sizes = scaled(2, 1) + scaled(2, 2) + scaled(2, 3) + scaled(2, 4)
        self.table = filled(torch.zeros(3))

    def forward(self, x):
        return self.steps * scaled(x, 5) + x[filled(x) > self.table]

def filled(values):
    return values + 1
"""
USER = """
import torch
from shared import Layer

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()

    def forward(self, x):
        return self.layer(x * {factor})
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two files that compile the same code of a third."""
    (tmp_path / "shared.py").write_text(SHARED)
    for factor, name in enumerate(("one.py", "two.py"), 2):
        (tmp_path / name).write_text(USER.format(factor=factor))
    return [str(tmp_path / name) for name in ("one.py", "two.py")]


def test_what_was_seen_before_decides_nothing(files: list[str]) -> None:
    """What constructors call neither uses up limits of a region nor tells its stories."""
    one, two = files
    engine = Linter(AnalysisOptions())
    first = engine.lint(read_source(one)).findings
    after = engine.lint(read_source(two)).findings
    assert after == Linter(AnalysisOptions()).lint(read_source(two)).findings
    assert [finding.code for finding in first] == [finding.code for finding in after] == ["CL408"]
