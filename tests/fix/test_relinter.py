"""Texts of a file that is rewritten are linted with what is known of the files around it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from compile_lint.linter.config import Settings
from compile_lint.linter.discover import Target
from compile_lint.linter.engine import Linter
from compile_lint.linter.fix.subject import Relinter, Subject, subjects
from compile_lint.linter.model import AnalysisOptions
from compile_lint.linter.run import Request, lint
from compile_lint.linter.source import read_source

FILES = {
    "__init__.py": "",
    "ops.py": """\
import torch


def scaled(x: torch.Tensor):
    if x.sum() > 0:
        return x * 2
    return x
""",
    "base.py": """\
import torch

from .ops import scaled


class Base(torch.nn.Module):
    def size(self, x: torch.Tensor):
        return x.shape[0]
""",
    "net.py": """\
import torch

from .base import Base, scaled


class Net(Base):
    def forward(self, x: torch.Tensor):
        if self.size(x) > 3:
            return scaled(x)
        return x + scaled(x).item()
""",
}
PLAIN = "def scaled(x):\n    return 2\n"


def _package(folder: Path, files: dict[str, str] = FILES, entry: str = "all") -> dict[str, Subject]:
    """Return the subjects of a small package by file name."""
    place = folder / "package"
    place.mkdir()
    for name, text in files.items():
        (place / name).write_text(text)
    settings = replace(Settings(str(folder)), entry=entry, jobs=1)
    paths = [str(place / name) for name in files]
    targets = [Target(path, path, settings, 0, 0, True) for path in paths]
    request = Request(settings, use_cache=False, fixes=True)
    run = lint(targets, (), replace(request, regions=True))
    sources = {path: read_source(path) for path in paths}
    made = subjects(run.located, run.outcome.regions, sources, targets, request)
    return {Path(subject.target.path).name: subject for subject in made}


def test_files_that_reach_the_changed_one_are_linted_along(tmp_path: Path) -> None:
    subject = _package(tmp_path)["ops.py"]
    assert [Path(target.path).name for target in subject.companions] == ["net.py"]
    assert [finding.code for finding in subject.findings] == ["CL101"]
    assert subject.lint(subject.source.text) == subject.findings
    assert subject.lint(PLAIN) == ()
    assert subject.lint(subject.source.text) == subject.findings


def test_one_file_after_the_other_is_linted_as_by_itself(tmp_path: Path) -> None:
    package = _package(tmp_path)
    net, ops = package["net.py"], package["ops.py"]
    shared = net.relinter
    assert ops.relinter is shared
    broken = net.source.text.replace("x.shape", "x.nonzero().shape").replace("> 3", "> x.max()")
    texts = [(ops, PLAIN), (net, broken), (net, net.source.text), (ops, ops.source.text)]
    for subject, text in texts:
        alone = replace(subject, relinter=Relinter())
        assert subject.lint(text) == alone.lint(text)
    assert net.lint(net.source.text) == net.findings


def test_what_does_not_lead_to_the_changed_file_stays_known(tmp_path: Path) -> None:
    ops = _package(tmp_path)["ops.py"]
    linter = Linter(AnalysisOptions(entry="all"))
    paths = [Path(ops.target.path).with_name(name) for name in ("ops.py", "base.py", "net.py")]
    old = [linter.project.open(read_source(str(path))) for path in paths]
    for path in paths:
        linter.lint(read_source(str(path)))
    linter.read_as(replace(read_source(str(paths[1])), text="class Base: ...", digest="new"))
    new = [linter.project.open(read_source(str(path))) for path in (paths[0], paths[2])]
    assert new[0] is old[0]
    assert new[1] is not old[2]


def test_where_many_files_reach_it_those_that_tell_something_are_linted_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = (
        "import torch\n\nfrom .ops import {0}\n\n\nclass Net{1}(torch.nn.Module):\n"
        "    def forward(self, x: torch.Tensor):\n        return {0}(x{2})\n"
    )
    other = "\n\ndef plain(x, k=1):\n    if k > 1:\n        return x\n    return x * 2\n"
    files = {"__init__.py": "", "ops.py": FILES["ops.py"].replace("x: torch.Tensor", "x") + other}
    files |= {f"net{n}.py": caller.format("scaled", n, ".shape[0]") for n in range(3)}
    files |= {"net3.py": caller.format("scaled", 3, ""), "net4.py": caller.format("plain", 4, "")}
    files |= {f"net{n}.py": caller.format("plain", n, "") for n in range(5, 8)}
    ops = _package(tmp_path, files, "auto")["ops.py"]
    assert len(ops.companions) == 8
    monkeypatch.setattr("compile_lint.linter.fix.subject.MOST_COMPANIONS", 4)
    told = [Path(target.path).name for target in ops.witnesses]
    assert told == ["net3.py", "net4.py"]
    assert len(ops.findings) == 1
    assert ops.lint(ops.source.text) == ops.findings
