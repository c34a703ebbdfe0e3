"""`compile-lint reconcile` on logs of a real run, and on a run made here."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compile_lint.linter import cli

LOGS = Path(__file__).resolve().parents[2] / "fixtures" / "reconcile"
PREDICTED = [(10, "clip"), (6, "<lambda>"), (49, "forward"), (31, "__enter__")]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project that was run; it is the working directory."""
    folder = tmp_path / "project"
    shutil.copytree(LOGS / "project", folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COMPILE_LINT_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def reconcile(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = cli.run(["reconcile", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def check(document: dict, over_reported: list[int]) -> None:
    """What every way to record this run must give."""
    rows = [(row["line"], row["function"]) for row in document["predicted"]]
    assert rows == PREDICTED
    assert all(row["findings"] and not row["at_call"] for row in document["predicted"])
    (missed,) = document["missed"]
    assert (missed["line"], missed["function"]) == (61, "report")
    assert missed["graph_breaks"] == ["GB0059"]
    assert "CL301" in missed["rules"]
    assert [row["line"] for row in document["over_reported"]] == over_reported
    assert document["not_exercised"] == 2 - len(over_reported)
    assert (document["outside"], document["changed"]) == (0, [])


@pytest.mark.parametrize(
    ("name", "over_reported"),
    [("graph_breaks.log", []), ("trace_source.log", [16]), ("trace", [16])],
)
def test_json(project: Path, capsys, name: str, over_reported: list[int]) -> None:
    code, out, err = reconcile(capsys, LOGS / name, "--output-format", "json")
    assert (code, err) == (1, "")
    check(json.loads(out), over_reported)


def test_text(project: Path, capsys) -> None:
    code, out, _ = reconcile(capsys, LOGS / "trace", "layers.py")
    lines = out.splitlines()
    assert code == 1
    assert lines[0] == "predicted: layers.py:10 in clip: Data-dependent branching [GB0170], 2 times"
    assert lines[1].startswith("    layers.py:10:8: CL101 tensor-if: ")
    assert "missed: layers.py:61 in report: Failed to trace builtin operator [GB0059]" in out
    assert "see `compile-lint rule GB0059`" in out
    assert lines[-2].startswith("over-reported: layers.py:16:8: CL101 tensor-if: ")
    assert lines[-1] == (
        "5 breaks: 4 predicted, 1 missed; 1 finding over-reported; 1 not exercised"
    )


def test_nothing_missed(project: Path, capsys) -> None:
    code, out, _ = reconcile(capsys, LOGS / "verbose.log", "-q")
    assert (code, out.count("predicted"), out.count("break:")) == (0, 1, 0)


def test_silenced_findings_predict_too(project: Path, capsys) -> None:
    layers = project / "layers.py"
    text = layers.read_text().replace("max() > 10:", "max() > 10:  # compile-lint: ignore[CL101]")
    layers.write_text(text)
    code, out, err = reconcile(capsys, LOGS / "verbose.log")
    assert (code, out.splitlines()[0][:30]) == (0, "predicted: layers.py:10 in cli")
    assert err == "warning: layers.py:10 has changed since the log was written\n"


def test_options_of_check(project: Path, capsys) -> None:
    code, out, _ = reconcile(capsys, LOGS / "verbose.log", "--ignore", "CL1")
    assert (code, out.splitlines()[0][:6]) == (1, "missed")
    code, _, err = reconcile(capsys, LOGS / "verbose.log", "--select", "CL999")
    assert (code, err.count("\n")) == (2, 1)


def test_target_is_the_version_of_the_trace(project: Path, capsys) -> None:
    arguments = [LOGS / "trace", "--output-format", "json"]
    document = json.loads(reconcile(capsys, *arguments)[1])
    assert (document["torch"], document["target_torch"]) == ("2.13.0+cpu", "2.13")
    document = json.loads(reconcile(capsys, *arguments, "--target-torch", "2.11")[1])
    assert document["target_torch"] == "2.11"


def test_standard_input(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "compile_lint.linter", "reconcile", "-", "--output-format", "json"],
        input=(LOGS / "graph_breaks.log").read_bytes(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")
    check(json.loads(done.stdout), [])


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("none.log", "none.log: error: can't read: no such file or directory"),
        (".", ".: error: holds no trace (dedicated_log_torch_trace_*.log)"),
        ("binary", "binary: error: not a text file"),
        ("far.log", "far.log: error: no file of the log lies below the current folder: name PATHS"),
    ],
)
def test_unreadable_input_is_one_line(project: Path, capsys, log: str, message: str) -> None:
    (project / "binary").write_bytes(b"\0\1")
    (project / "far.log").write_text("Graph break in user code at /far/away.py:3\n")
    assert reconcile(capsys, log) == (2, "", message + "\n")


def test_files_that_cannot_be_linted(project: Path, capsys) -> None:
    (project / "layers.py").write_text("def f(:\n")
    code, _, err = reconcile(capsys, LOGS / "graph_breaks.log")
    assert code == 2
    assert err.startswith("layers.py:1: error: ")


def test_a_log_without_breaks(project: Path, capsys) -> None:
    (project / "quiet.log").write_text("loss 0.5\n")
    code, out, err = reconcile(capsys, "quiet.log")
    assert (code, out.splitlines()[-1][:8]) == (0, "0 breaks")
    assert err == "warning: quiet.log: no graph breaks; was TORCH_LOGS=graph_breaks set?\n"


@pytest.mark.truth
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_a_run_made_here(project: Path, tmp_path: Path, capsys) -> None:
    trace = tmp_path / "trace"
    environment = {
        **os.environ,
        "TORCH_LOGS": "graph_breaks,trace_source",
        "TORCH_TRACE": str(trace),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "run.py"], env=environment, capture_output=True, check=True, timeout=300
    )
    log = tmp_path / "run.log"
    log.write_bytes(done.stderr)
    for recorded in (log, trace):
        code, out, err = reconcile(capsys, recorded, "--output-format", "json")
        assert (code, err) == (1, "")
        check(json.loads(out), [16])
