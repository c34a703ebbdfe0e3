"""Which finding belongs to which break, on made-up logs and findings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from compile_lint.linter.reconcile.judge import judge
from compile_lint.linter.reconcile.model import (
    Completed,
    Frame,
    LoggedBreak,
    Reconciliation,
    RunLog,
)
from compile_lint.linter.reconcile.places import Sources, files_below, local_path
from compile_lint.rules.base import Certainty, Finding, Mode, Severity, Span

SOURCE = """\
def outer(x):
    y = x + 1
    return inner(
        y
    )


def inner(x):
    y = x.sum()
    print(
        y
    )
    return y
"""

Judge = Callable[..., Reconciliation]


def finding(line: int, *breaks: Mode) -> Finding:
    span = Span(line, 5, line, 9)
    modes = breaks or (Mode.DEFAULT,)
    return Finding(
        "CL301", "print-call", "a.py", span, span, "m", Severity.ERROR, modes, (), Certainty.CERTAIN
    )


def broken(*frames: tuple[int, str], **more) -> LoggedBreak:
    stack = tuple(Frame("/elsewhere/p/a.py", line, name) for line, name in frames)
    return LoggedBreak("Reason", "", ("GB0059",), stack, **more)


@pytest.fixture
def compare(tmp_path: Path) -> Judge:
    path = tmp_path / "a.py"
    path.write_text(SOURCE)

    def call(log: RunLog, *findings: Finding) -> Reconciliation:
        sources = Sources([str(path)], str(tmp_path))
        located = [(str(path), item) for item in findings]
        return judge(log, located, sources, lambda _: "a.py", lambda ids: ("CL301",))

    return call


def test_same_statement(compare: Judge) -> None:
    result = compare(RunLog((broken((3, "outer"), (11, "inner")),)), finding(10))
    (item,) = result.predicted
    assert (item.path, item.frame.line, item.at_call, len(item.findings)) == ("a.py", 11, False, 1)
    assert (result.missed, result.over_reported, result.not_exercised) == ((), (), 0)


def test_at_the_call(compare: Judge) -> None:
    result = compare(RunLog((broken((4, "outer"), (10, "inner")),)), finding(3))
    (item,) = result.predicted
    assert (item.frame.line, item.at_call) == (10, True)
    assert result.over_reported == ()  # it leads to a break


def test_missed(compare: Judge) -> None:
    result = compare(RunLog((broken((10, "inner")),)), finding(2))
    (item,) = result.missed
    assert (item.findings, item.rules) == ((), ("CL301",))
    assert result.not_exercised == 1  # nothing says that `outer` was compiled


def test_module_level_predicts_nothing(compare: Judge) -> None:
    result = compare(RunLog((broken((2, "<module>"), (10, "inner")),)), finding(2))
    assert len(result.missed) == 1


def test_inside_of_a_library_the_innermost_own_frame_counts(compare: Judge) -> None:
    item = broken((10, "inner"))
    library = Frame("/usr/lib/python3.11/warnings.py", 3, "warn")
    log = RunLog((LoggedBreak("Reason", "", (), (*item.frames, library)),))
    assert compare(log, finding(10)).predicted[0].frame.line == 10
    outside = RunLog((LoggedBreak("Reason", "", (), (library,)),))
    assert compare(outside, finding(10)).outside == 1


def test_over_reported_before_a_break(compare: Judge) -> None:
    result = compare(RunLog((broken((13, "inner")),)), finding(9), finding(2))
    assert [item.span.line for item in result.over_reported] == [9]
    assert result.not_exercised == 1


def test_frames_that_were_traced_are_judged(compare: Judge) -> None:
    log = RunLog((broken((3, "outer"), (10, "inner"), traced=2),))
    assert [item.span.line for item in compare(log, finding(2)).over_reported] == [2]


def test_over_reported_on_traced_lines_and_in_what_was_captured_whole(compare: Judge) -> None:
    log = RunLog(lines=frozenset({("/elsewhere/p/a.py", 12)}))
    assert len(compare(log, finding(10)).over_reported) == 1
    log = RunLog(completed=(Completed("/elsewhere/p/a.py", 8, False),))
    assert len(compare(log, finding(10)).over_reported) == 1
    assert compare(RunLog(), finding(10)).not_exercised == 1


def test_only_findings_of_the_default_mode_count(compare: Judge) -> None:
    log = RunLog((broken((10, "inner")),))
    result = compare(log, finding(10, Mode.FULLGRAPH))
    assert (len(result.missed), result.not_exercised) == (1, 0)


def test_one_statement_and_reason_is_one_break(compare: Judge) -> None:
    log = RunLog((broken((3, "outer"), (10, "inner")), broken((11, "inner"), count=3)))
    (item,) = compare(log, finding(9)).missed
    assert item.logged.count == 4
    (item,) = compare(log, finding(3)).predicted
    assert (item.logged.count, item.at_call) == (4, True)


def test_changed_lines(compare: Judge) -> None:
    frames = (Frame("a.py", 3, "outer", "return inner("), Frame("a.py", 9, "inner", "y = 5"))
    result = compare(RunLog((LoggedBreak("Reason", "", (), frames),)))
    assert [(frame.file, frame.line) for frame in result.changed] == [("a.py", 9)]


def test_files_of_other_machines(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("src/m.py", "m.py"):
        (tmp_path / name).write_text("")
    folder = str(tmp_path)
    assert local_path("/build/7/src/m.py", folder) == str(tmp_path / "src" / "m.py")
    assert local_path("C:\\build\\src\\m.py", folder) == str(tmp_path / "src" / "m.py")
    assert local_path("/build/other/m.py", folder) == str(tmp_path / "m.py")
    assert local_path("/venv/lib/python3.11/site-packages/m.py", folder) is None
    assert local_path("<eval_with_key>.3", folder) is None
    assert local_path("/build/none.py", folder) is None
    log = RunLog((broken((1, "f")),), frozenset({("/build/src/m.py", 2)}))
    assert files_below(log, folder) == ["src/m.py"]
