"""Logs: what is on, where it goes, and that torch's own logs stay as they are."""

import logging
import os
import subprocess
import sys

import pytest
import torch
from compile_lint.compiler import UnknownOption, compile, logs, set_logs


@pytest.fixture(autouse=True)
def _quiet():
    torch._dynamo.reset()
    yield
    set_logs(graph_breaks=False, recompiles=False, kernels=False, fusion=False)
    torch._dynamo.reset()


def broken(x):
    print("break")
    return x + 1


def records(caplog, name):
    return [r.getMessage() for r in caplog.records if r.name == f"compile_lint.{name}"]


def test_graph_breaks_and_recompiles(caplog, capfd):
    compiled = compile(broken, fullgraph=False, dynamic=False)
    compiled(torch.ones(1, 2))
    assert not records(caplog, "graph_breaks")
    torch._dynamo.reset()
    set_logs(graph_breaks=True, recompiles=True)
    compiled(torch.ones(2))
    compiled(torch.ones(3))
    assert "Graph break in user code" in records(caplog, "graph_breaks")[0]
    assert "expected 2, actual 3" in records(caplog, "recompiles")[0]
    assert "Graph break" not in capfd.readouterr().err  # torch's own handlers stay silent
    caplog.clear()
    set_logs(graph_breaks=False, recompiles=False)
    compiled(torch.ones(4))
    assert not records(caplog, "recompiles")


def test_serves_the_named_backend_too(caplog):
    set_logs(recompiles=True)
    compiled = torch.compile(lambda x: x + 1, backend="compile_lint", dynamic=False)
    compiled(torch.ones(2))
    compiled(torch.ones(3))
    assert "expected 2, actual 3" in records(caplog, "recompiles")[0]


def test_one_log_at_a_time():
    set_logs(kernels=True)
    set_logs(fusion=True)
    assert logging.getLogger("compile_lint.kernels").isEnabledFor(logging.DEBUG)
    assert logging.getLogger("compile_lint.fusion").isEnabledFor(logging.DEBUG)
    set_logs(kernels=False)
    assert not logging.getLogger("compile_lint.kernels").isEnabledFor(logging.DEBUG)


def test_unknown_names(monkeypatch):
    with pytest.raises(TypeError):
        set_logs(fusions=True)
    monkeypatch.setenv("COMPILE_LINT_LOGS", "kernels,fusions")
    with pytest.raises(UnknownOption, match="'fusions': choose from graph_breaks"):
        logs.from_environment()


PROGRAM = """
import torch
f = torch.compile(lambda x: x + 1, backend="compile_lint", dynamic=False)
f(torch.ones(2)); f(torch.ones(3))
"""


def test_from_outside_in_a_program_that_never_imports_us():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "COMPILE_LINT_LOGS": "recompiles"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "compile_lint.recompiles: Recompiling function" in done.stderr
