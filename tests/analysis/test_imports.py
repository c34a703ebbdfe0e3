"""Names that packages import from themselves, and folders without `__init__.py`."""

from __future__ import annotations

from pathlib import Path

from compile_lint.linter.engine import Linter
from compile_lint.linter.model import AnalysisOptions
from compile_lint.linter.source import read_source

CUT = """
import torch

def cut(n):
    return torch.floor(n).int()
"""


def codes(path: Path) -> list[tuple[str, int]]:
    linter = Linter(AnalysisOptions(entry="all"))
    return [(f.code, f.span.line) for f in linter.lint(read_source(str(path))).findings]


def test_a_package_that_imports_its_submodules_hands_them_on(tmp_path: Path) -> None:
    package = tmp_path / "pk"
    package.mkdir()
    (package / "__init__.py").write_text("from . import ops\n")
    (package / "ops.py").write_text(CUT)
    core = package / "core.py"
    core.write_text(
        "from torch import Tensor\nimport pk\nfrom . import ops\n\n"
        "def f(x: Tensor, n: Tensor):\n    return x[: ops.cut(n + 1)]\n\n"
        "def g(x: Tensor, n: Tensor):\n    return x[: pk.ops.cut(n + 1)]\n"
    )
    assert codes(core) == [("CL414", 6), ("CL414", 9)]


def test_relative_imports_tell_where_the_package_starts(tmp_path: Path) -> None:
    folder = tmp_path / "pk" / "models"  # without an __init__.py
    folder.mkdir(parents=True)
    (tmp_path / "pk" / "__init__.py").write_text("")
    (tmp_path / "pk" / "base.py").write_text(
        "from torch import nn\n\nclass Base(nn.Module):\n    pass\n"
    )
    model = folder / "model.py"
    model.write_text(
        "from ..base import Base\n\nclass Net(Base):\n    def forward(self, x):\n"
        "        print(x.shape)\n        return x\n"
    )
    assert ("CL301", 5) in codes(model)
