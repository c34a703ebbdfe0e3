"""Hooks inside TorchDynamo that record every graph break and every line traced."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass, field
from typing import Any

import torch
import torch._dynamo.bytecode_transformation as bytecode
import torch._dynamo.convert_frame as convert_frame
import torch._dynamo.exc as dynamo_exc
import torch._dynamo.symbolic_convert as symbolic_convert

SITE = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__))) + os.sep
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
ALSO = "*** While handling this graph break, another graph break occurred: ***"


def relative(path: str) -> str:
    """The path below site-packages, or below this folder as `<harness>/...`."""
    if path.startswith("<"):
        return path
    path = os.path.abspath(path)
    if path.startswith(SITE):
        return path[len(SITE) :]
    if path.startswith(HERE):
        return "<harness>/" + path[len(HERE) :]
    return path


def function_name(name: str) -> str:
    """A resume function is named after the function that it resumes."""
    match = re.match(r"torch_dynamo_resume_in_(.*)_at_\d+$", name or "")
    return match.group(1) if match else name


def keep_lines_exact() -> None:
    """Have Dynamo write the lines of its resume functions as they are.

    Its table for Python 3.11 counts a change of line twice at instructions of more than 8 code
    units, such as LOAD_METHOD: every line after `f(\\n).g()` would be reported too far down.
    """
    original = bytecode.linetable_311_writer

    @functools.wraps(original)
    def writer(first_lineno: int) -> Any:
        table, update = original(first_lineno)

        def exact(positions: Any, size: int) -> None:
            while size > 8:
                update(positions, 8)
                size -= 8
            update(positions, size)

        return table, exact

    bytecode.linetable_311_writer = writer


@dataclass(slots=True)
class Recorder:
    """Breaks (by where and why) and traced lines (by file) since the last `reset`."""

    breaks: dict[tuple, dict] = field(default_factory=dict)
    traced: dict[str, set[int]] = field(default_factory=dict)

    def reset(self) -> None:
        self.breaks = {}
        self.traced = {}

    def add(self, exc: BaseException, here: tuple[str, int, str] | None, disposition: str) -> None:
        """Note one break: innermost frame last, its graph-break type and registry id."""
        if getattr(exc, "_truth_seen", False):
            return
        exc._truth_seen = True  # pyright: ignore[reportAttributeAccessIssue]
        frames = [
            (relative(f.filename), f.lineno, function_name(f.name))
            for f in getattr(exc, "real_stack", None) or []
        ]
        if not frames and here is not None:
            frames = [(relative(here[0]), here[1], function_name(here[2]))]
        message = str(getattr(exc, "msg", None) or exc)
        # The first part is the cause; what is glued on happened while it was being handled.
        kind = message.split(ALSO)[0].strip().split("\n")[0].strip()
        ids = re.findall(r"gb(\d{4})\.html", message)
        found = {
            "type": kind or getattr(exc, "gb_type", None) or type(exc).__name__,
            "id": f"GB{ids[0]}" if ids else None,
            "disposition": disposition,
            "stack": [list(frame) for frame in frames],
        }
        self.breaks.setdefault((tuple(frames), found["type"]), found)

    def install(self) -> None:
        """Wrap Dynamo's own reporting. Its counters never count data-dependent jumps."""
        recorder = self
        keep_lines_exact()
        translator = symbolic_convert.InstructionTranslatorBase
        log_graph_break = translator.log_graph_break
        starts_line = translator.starts_line
        compile_frame = convert_frame._compile

        def log(tx: Any, options: Any, reason: str, exc: BaseException) -> Any:
            disposition = "resume"
            if reason.startswith("Encountered graph break that we cannot resume"):
                disposition = "skip-rest"
            elif reason.startswith(("Encountered graph break that we", "Failed to handle")):
                disposition = "skip-frame"
            code = tx.f_code
            recorder.add(exc, (code.co_filename, tx.lineno, code.co_name), disposition)
            return log_graph_break(tx, options, reason, exc)

        def line(tx: Any, number: int) -> Any:
            recorder.traced.setdefault(tx.f_code.co_filename, set()).add(number)
            return starts_line(tx, number)

        @functools.wraps(compile_frame)
        def compile_(code: Any, *args: Any, **kwargs: Any) -> Any:
            here = (code.co_filename, code.co_firstlineno, code.co_name)
            try:
                return compile_frame(code, *args, **kwargs)
            except dynamo_exc.SkipFrame:
                raise
            except (dynamo_exc.Unsupported, dynamo_exc.UserError) as exc:
                recorder.add(exc, here, "skip-frame")
                raise
            except (dynamo_exc.TorchDynamoException, AssertionError, IndexError) as exc:
                recorder.add(exc, here, "error")
                raise

        translator.log_graph_break = log
        translator.starts_line = line
        convert_frame._compile = compile_
