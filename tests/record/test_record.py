"""`compile-lint record`: what regions are called with is noted, and the command isn't disturbed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from compile_lint.linter.cli import run

pytest.importorskip("torch")

NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, size, *, act=True):
        super().__init__()
        self.layer = nn.Linear(size, size)
        self.act = act

    def forward(self, x, scale=2):
        return helper(self.layer(x), scale)


def helper(x, scale):
    return x * scale if isinstance(scale, int) else x


class Config:
    def __init__(self, size, act=None, **more):
        self.size, self.act, self.names = size, act, []
        vars(self).update(more)


class Slotted:
    __slots__ = ("size",)
"""


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that records a script and returns (exit status, what was written)."""
    (tmp_path / "net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)

    def record(script: str) -> tuple[int, dict[str, Any]]:
        (tmp_path / "script.py").write_text(script)
        code = run(["record", "--path", "net.py", "--", sys.executable, "script.py"])
        written = json.loads((tmp_path / "compile-lint-inputs.json").read_text())
        return code, written["calls"]

    return record


def test_arguments_and_how_the_module_was_made(recorded: Any) -> None:
    code, calls = recorded(
        "import torch, net\n"
        "model = net.Net(4, act=False)\n"
        "for _ in range(3):\n"
        "    model(torch.ones(2, 4), scale=3)\n"
        "model.eval()(torch.tensor([[1.0, float('nan'), 2.0, float('inf')]]))\n"
    )
    assert code == 0
    first, second = calls["net:Net.forward"]
    assert first["self"]["object"] == "net:Net"
    assert first["self"]["made"]["args"] == [{"value": 4}]
    assert first["self"]["made"]["kwargs"] == {"act": {"value": False}}
    tensor = first["args"][0]["tensor"]
    assert (tensor["shape"], tensor["dtype"], tensor["low"]) == ([2, 4], "float32", 1.0)
    assert first["kwargs"] == {"scale": {"value": 3}}
    assert (first["training"], second["training"]) == (True, False)
    assert second["args"][0]["tensor"]["nan"]
    assert second["args"][0]["tensor"]["inf"]
    assert second["args"][0]["tensor"]["high"] == 2.0
    assert len(calls["net:helper"]) == 2


def test_a_configuration_is_noted_by_its_values(recorded: Any) -> None:
    code, calls = recorded(
        "import torch, net\n"
        "net.helper(torch.ones(1), net.Config(4, torch.nn.GELU))\n"
        "net.helper(torch.ones(1), net.Config(4, lambda x: x))\n"
        "net.helper(torch.ones(1), net.Config(4, api_token='sesame'))\n"
        "net.helper(torch.ones(1), net.Slotted())\n"
        "net.helper(torch.ones(1), torch.nn.functional.gelu)\n"
    )
    assert code == 0
    given = [call["args"][1] for call in calls["net:helper"]]
    gelu = {"named": "torch.nn.modules.activation:GELU"}
    assert given[0] == {
        "object": "net:Config",
        "fields": [["size", {"value": 4}], ["act", gelu], ["names", {"list": []}]],
    }
    assert given[1:3] == [{"opaque": "net:Config"}, {"opaque": "net:Slotted"}]
    assert "sesame" not in json.dumps(calls)


def test_the_exit_status_is_the_command_s(recorded: Any) -> None:
    code, calls = recorded("import sys, torch, net\nnet.helper(torch.ones(1), 2)\nsys.exit(7)\n")
    assert code == 7
    assert list(calls) == ["net:helper"]


def test_compiled_code_is_still_captured(recorded: Any) -> None:
    code, _ = recorded(
        "import torch, net\n"
        "torch.compile(net.helper, fullgraph=True, backend='eager')(torch.ones(2), 3)\n"
    )
    assert code == 0


def test_nothing_to_record_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plain.py").write_text("x = 1\n")
    assert run(["record", "--path", str(tmp_path), "--", sys.executable, "-c", "pass"]) == 2
    assert "nothing to record" in capsys.readouterr().err


def test_a_command_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.py").write_text(NET)
    assert run(["record", "--path", str(tmp_path), "--", "no-such-command"]) == 2
    assert "can't run no-such-command" in capsys.readouterr().err


def test_python_starts_without_a_complaint(recorded: Any, capfd: pytest.CaptureFixture) -> None:
    assert recorded("import net\n")[0] == 0
    assert "sitecustomize" not in capfd.readouterr().err
