"""Whatever the project's code does to its process is a verdict, and the next proof works."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from compile_lint.linter.prove.model import Status, Verdict
from compile_lint.linter.prove.prover import Prover, ProverError

from .trials import trial

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
GOOD = """
def f(x):
    if x.sum() > 0:
        x = x * 2
    return x
"""
FIXED = """
def f(x):
    x = torch.where(x.sum() > 0, x * 2, x)
    return x
"""


def contained(prover: Prover, code: str, limit: float = 20, memory: int = 4 << 30) -> Verdict:
    """The verdict on code that runs where the original's function does."""
    prover.limit, prover.memory, old = limit, memory, (prover.limit, prover.memory)
    body = "\n".join(f"    {line}" for line in code.splitlines())
    text = GOOD.replace("def f(x):", f"def f(x):\n{body}")
    started = time.monotonic()
    try:
        verdict = prover.prove(trial(text, FIXED, examples="[(torch.ones(3),)]", target="f"))
    finally:
        prover.limit, prover.memory = old
    assert verdict.status is Status.UNPROVED
    assert time.monotonic() - started < limit + 10
    return verdict


def test_segfault(prover):
    reason = contained(prover, "import ctypes; ctypes.string_at(0)").reason
    assert "died of SIGSEGV while running the original" in reason


def test_exit(prover):
    assert "ended the process with code 3" in contained(prover, "import os; os._exit(3)").reason


def test_sys_exit_is_an_exception_like_others(prover):
    assert "SystemExit" in contained(prover, "import sys; sys.exit(3)").reason


def test_endless_loop(prover):
    reason = contained(prover, "while True: pass", limit=30).reason
    assert "a loop doesn't end on any input of example_inputs()" in reason


def test_endless_call(prover):
    """No statement of the code runs, so nothing but time can end it."""
    reason = contained(prover, "sum(iter(int, 1))", limit=2).reason
    assert "did not end within 2 s while running the original" in reason


def test_deaf_to_signals(prover):
    code = "import signal, time\nfor n in (2, 14, 15): signal.signal(n, signal.SIG_IGN)\n"
    assert (
        "did not end within 2 s" in contained(prover, code + "while True: time.sleep(1)", 2).reason
    )


def test_fork_bomb(prover):
    reason = contained(prover, "import os\nwhile True: os.fork()").reason
    assert "started more than 64 processes" in reason


def test_children_that_leave_are_killed(prover, tmp_path):
    pids = tmp_path / "pids"
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        open({str(pids)!r}, 'w').write(str(os.getpid()))\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        f"while not os.path.exists({str(pids)!r}): time.sleep(0.01)\n"
        "while True: time.sleep(1)"
    )
    assert "did not end within 3 s" in contained(prover, code, 3).reason
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text()), 0)


def test_endless_output(prover):
    reason = contained(prover, "while True: print('x' * 10_000)", limit=30).reason
    assert "a loop doesn't end" in reason


def test_memory(prover):
    code = "held = []\nwhile True: held.append(torch.ones(4_000_000))"
    reason = contained(prover, code, memory=1 << 30).reason
    assert "used more than 1 GiB of memory" in reason


def test_closed_pipes(prover):
    assert contained(prover, "import os; os.closerange(3, 100); os._exit(0)").reason


def test_standard_input_is_empty(prover):
    assert "EOFError" in contained(prover, "input()").reason


def test_a_module_that_can_not_be_imported(prover):
    broken = trial(GOOD + "\nraise KeyError('no')\n", FIXED)
    verdict = prover.prove(broken)
    assert verdict.status is Status.UNPROVED
    assert "the module can't be imported: KeyError: 'no'" in verdict.reason


def test_a_killed_worker_is_started_again(prover):
    prover.start()
    os.kill(prover._worker._process.pid, signal.SIGKILL)
    time.sleep(0.2)
    verdict = prover.prove(trial(GOOD, FIXED))
    assert verdict.reason.startswith("the worker was ended by signal 9")
    assert prover.prove(trial(GOOD, FIXED)).status is Status.PROVED


def test_a_python_without_torch(tmp_path):
    """Torch hidden: a meta path finder in the environment's sitecustomize refuses it."""
    site = tmp_path / "sitecustomize.py"
    site.write_text(
        "import sys\nclass No:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch': raise ImportError('No module named torch')\n"
        "sys.meta_path.insert(0, No())\n"
    )
    os.environ["PYTHONPATH"], old = str(tmp_path), os.environ.get("PYTHONPATH")
    try:
        with Prover() as prover, pytest.raises(ProverError, match=r"compile-lint\[compile\]"):
            prover.prove(trial(GOOD, FIXED))
    finally:
        del os.environ["PYTHONPATH"]
        if old is not None:
            os.environ["PYTHONPATH"] = old


def test_no_such_python():
    with Prover("/nowhere/python") as prover, pytest.raises(ProverError, match="can't run"):
        prover.prove(trial(GOOD, FIXED))


def test_nothing_is_written(prover, tmp_path: Path):
    on_disk = tmp_path / "on_trial.py"
    on_disk.write_text("raise RuntimeError('the texts count, not the file')\n")
    assert prover.prove(trial(GOOD, FIXED, folder=tmp_path)).status is Status.PROVED
    assert [path.name for path in tmp_path.iterdir()] == ["on_trial.py"]


def test_a_process_for_each_proof():
    """Where forking is no good."""
    endless = GOOD.replace("return x", "return sum(iter(int, 1))")
    examples = {"examples": "[(torch.ones(3),)]", "target": "f"}
    with Prover(limit=30, fork=False) as prover:
        assert prover.prove(trial(GOOD, FIXED, **examples)).status is Status.PROVED
        prover.limit = 1
        verdict = prover.prove(trial(endless, FIXED, **examples))
        assert verdict.reason == "the worker gave no answer within 1 s"
