"""Logs and traces as torch 2.13 wrote them, of the run in fixtures/reconcile/project.

Their paths are made up, and the trace is cut down to the entries and keys that are read.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from compile_lint.linter.reconcile.message import parse_break
from compile_lint.linter.reconcile.model import LoggedBreak, RunLog
from compile_lint.linter.reconcile.read import UnreadableLog, parse_bytes, read_log
from compile_lint.linter.reconcile.text_log import parse_text
from compile_lint.linter.reconcile.trace import parse_trace

LOGS = Path(__file__).resolve().parents[2] / "fixtures" / "reconcile"
LAYERS = "/home/user/project/layers.py"
ITEM = "Unsupported Tensor.item() call with capture_scalar_outputs=False"
PRINT = "Failed to trace builtin operator"
PREFIX = "V1129 23:12:16.759000 1 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] "


def read(name: str) -> RunLog:
    return read_log(str(LOGS / name))


def brief(item: LoggedBreak) -> tuple[int, str, str, tuple[str, ...], bool, int]:
    frame = item.frames[-1]
    return frame.line, frame.name, item.reason, item.ids, item.eager, item.count


@pytest.mark.parametrize("name", ["graph_breaks.log", "trace_source.log", "trace"])
def test_breaks_of_a_run(name: str) -> None:
    log = read(name)
    assert {item.frames[-1].file for item in log.breaks} == {LAYERS}
    joined: dict[tuple[int, str], LoggedBreak] = {}
    for item in log.breaks:  # a trace has the stacks of all reports, a log those of the first
        joined.setdefault((item.frames[-1].line, item.reason), item)
    assert [brief(item)[:5] for item in joined.values()] == [
        (10, "clip", "Data-dependent branching", ("GB0170",), False),
        (6, "<lambda>", ITEM, ("GB0124",), False),
        (49, "forward", ITEM, ("GB0124", "GB7000"), True),
        (31, "__enter__", PRINT, ("GB0059",), True),
        (61, "report", PRINT, ("GB0059",), False),
    ]


def test_reports_without_a_stack_join_the_first() -> None:
    counts = [brief(item)[-1] for item in read("graph_breaks.log").breaks]
    assert counts == [2, 2, 1, 1, 2]


def test_stack_and_explanation() -> None:
    first = read("graph_breaks.log").breaks[0]
    assert first.explanation.startswith("Detected data-dependent branching (e.g. `if")
    own = [(f.line, f.name, f.code) for f in first.frames if f.file == LAYERS]
    assert own == [(45, "forward", "x = clip(x)"), (10, "clip", "if x.abs().max() > 10:")]
    assert first.traced == 1  # a log doesn't say where tracing began …


@pytest.mark.parametrize("name", ["verbose.log", "trace"])
def test_frames_that_were_traced(name: str) -> None:
    assert read(name).breaks[0].traced == 2  # … a verbose one does, and so does a trace


def test_traced_lines() -> None:
    log = read("trace_source.log")
    lines = {line for file, line in log.lines if file == LAYERS}
    assert {16, 44, 45, 47} <= lines
    assert not {11, 21, 22, 23, 24} & lines  # an arm not taken, a function not called
    assert read("graph_breaks.log").lines == frozenset()
    assert (LAYERS, 18) in read("trace").lines


def test_a_trace_says_the_version_and_what_was_captured_whole() -> None:
    log = read("trace")
    assert log.torch.startswith("2.13")
    whole = {(item.line, item.resumed) for item in log.completed if item.file == LAYERS}
    assert (15, False) in whole  # weighted
    assert (43, False) not in whole  # Block.forward breaks


def test_interleaved_processes_and_foreign_prefixes() -> None:
    ranks = []
    for rank in (0, 1):
        prefix = f"[rank{rank}]:{PREFIX}"
        ranks.append(
            [
                f"{prefix}Graph break in user code at /p/a.py:{rank + 1}",
                f"{prefix}Graph Break Reason: Kind {rank}",
                f"{prefix}  Explanation: because",
                f"{prefix}User code traceback:",
                f'{prefix}  File "/p/a.py", line {rank + 1}, in f',
                f"{prefix}    return x",
            ]
        )
    lines = [f"worker | {line}\r\n" for pair in zip(*ranks) for line in pair]
    breaks = parse_text(lines).breaks
    assert [(b.reason, b.frames[-1].line, b.frames[-1].code) for b in breaks] == [
        ("Kind 0", 1, "return x"),
        ("Kind 1", 2, "return x"),
    ]


def test_without_prefixes_other_output_ends_the_stack() -> None:
    text = """loss 0.5
Graph break in user code at /p/a.py:3
Graph Break Reason: Call to `torch._dynamo.graph_break()`

User code traceback:
  File "/p/a.py", line 3, in f
    torch._dynamo.graph_break()

epoch 2
  File "/p/b.py", line 9, in other
PyTorch version: 2.12.1+cu130
"""
    log = parse_text(text.split("\n"))
    assert [frame.file for frame in log.breaks[0].frames] == ["/p/a.py"]
    assert log.breaks[0].reason == "Call to `torch._dynamo.graph_break()`"
    assert log.torch.startswith("2.12")


def test_a_frame_that_is_skipped() -> None:
    item = parse_break(
        [
            "Graph break: torch.compile cannot properly resume from this graph break, which …",
            "torch.compile will skip tracing the frame f (/p/a.py line 1) and fall back to eager.",
            "The graph break occurred in the following user code:",
            '  File "/p/a.py", line 4, in torch_dynamo_resume_in_f_at_2',
            "    y = g(x)",
            "Traceback (most recent call last):",
            "torch._dynamo.exc.Unsupported: Some break",
            "  Explanation: why it is so",
            " For more, visit: https://example.org/gb/gb0042.html",
        ]
    )
    assert item is not None
    assert (item.reason, item.explanation, item.ids) == (
        "Some break",
        "why it is so",
        ("GB0042",),
    )
    assert (item.frames[-1].line, item.frames[-1].name, item.eager) == (4, "f", True)


def test_traces_that_are_cut_short_or_broken() -> None:
    text = (LOGS / "trace" / "dedicated_log_torch_trace_0.log").read_text(encoding="utf-8")
    lines = text.split("\n")
    whole = parse_trace(lines)
    for end in range(0, len(lines), 37):
        part = parse_trace([*lines[:end], lines[end][: len(lines[end]) // 2]])
        assert len(part.breaks) <= len(whole.breaks)


def test_entries_of_another_shape_are_left_out() -> None:
    head = "V1129 23:12:16.759000 1 torch/_dynamo/utils.py:1] "
    shapes = (
        '{"str": [1]}',
        '{"artifact": null}',
        '{"artifact": {"name": "torch_version"}}',
        '{"dynamo_start": {"stack": [{}]}}',
        '{"compilation_metrics": []}',
    )
    assert parse_trace(head + shape for shape in shapes) == RunLog()


def test_powershell_writes_utf_16() -> None:
    data = (LOGS / "graph_breaks.log").read_text(encoding="utf-8").encode("utf-16")
    assert parse_bytes(data) == read("graph_breaks.log")


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableLog, match="no such file"):
        read_log(str(tmp_path / "none.log"))
    with pytest.raises(UnreadableLog, match="holds no trace"):
        read_log(str(tmp_path))
    with pytest.raises(UnreadableLog, match="not a text file"):
        parse_bytes(b"\x7fELF\0\0")
