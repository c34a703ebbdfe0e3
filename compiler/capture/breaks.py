"""A graph break as a value, and how to read one out of what Dynamo raises."""

from __future__ import annotations

import linecache
import re
import sysconfig
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

TORCH = f"{Path(torch.__file__).parent}/"
PYTHON = f"{sysconfig.get_path('stdlib')}/"
OURS = f"{Path(__file__).parents[1]}/"
# Dynamo puts what a break led to under this line.
GLUE = "*** While handling this graph break, another graph break occurred: ***"
RESUMED = re.compile(r"torch_dynamo_resume_in_(.*)_at_\d+")
BRANCH = "Data-dependent branching"
LOOP = "graph break in loop"


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """One place where Dynamo has to end a graph.

    Args:
        id: The id in torch's registry of graph breaks, "GB0170"; empty if Dynamo gave none.
        type: Its short name in that registry, "Data-dependent branching".
        reason: What Dynamo says about it, as one line.
        file: The innermost file outside torch and Python's own library.
        line: The line in `file`; 0 if Dynamo told none.
        function: The function that the line stands in.
        code: That line's text.
        hints: What Dynamo advises.
        how: What follows with fullgraph=False: "resume" (the function goes on in another graph),
            "skip-rest" (what remains of it runs in eager), "skip-frame" (all of it runs in eager),
            "error"; empty if that wasn't tried.
        stack: The calls that led there, outermost first: "model.py:12 in forward".
    """

    id: str
    type: str
    reason: str
    file: str
    line: int
    function: str
    code: str
    hints: tuple[str, ...] = ()
    how: str = "resume"
    stack: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = [f"{self.id or 'no id'}  {self.file}:{self.line} in {self.function or '?'}"]
        if self.code:
            rows.append(f"    {self.code}")
        rows.append(
            f"  {self.type}" if self.reason == self.type else f"  {self.type}: {self.reason}"
        )
        rows += [f"  called from {call}" for call in reversed(self.stack[:-1])]
        rows += [f"  hint: {hint}" for hint in self.hints]
        if self.id:
            rows.append(f"  `compile-lint rule {self.id}` explains it.")
        return "\n".join(rows)

    @property
    def place(self) -> tuple[str, int, str]:
        """What makes two reports one break: the same kind at the same line."""
        return self.file, self.line, self.type


@cache
def _ids() -> dict[str, str]:
    """Short name → id, from the registry that torch ships."""
    from torch._dynamo import exc

    load = getattr(exc, "_load_gb_type_to_gb_id_map", None)
    return dict(load()) if load is not None else {}


def of(
    error: BaseException, how: str, file: str = "", line: int = 0, function: str = ""
) -> GraphBreak:
    """The break that `error`, raised by Dynamo, speaks of.

    `file`, `line` and `function` say where Dynamo stood, for an error that carries no stack.
    """
    # The first part is the cause, the last what came of it: a loop, a context manager around it.
    text = getattr(error, "msg", None) or str(error)
    parts = [part.strip() for part in text.split(GLUE)]
    cause = parts[0].splitlines() or [type(error).__name__]
    if any(part.startswith(LOOP) for part in parts):
        how = "skip-frame"
    name = cause[0].strip()
    linked = re.search(r"/gb(\d{4})\.html", parts[0])
    found = _ids().get(name) or (f"GB{linked[1]}" if linked else "")
    explanation = re.search(r"^\s*Explanation: (.*)$", parts[0], re.MULTILINE)
    context = re.search(r"^\s*Developer debug context: (.+)$", parts[0], re.MULTILINE)
    reason = explanation[1].strip() if explanation else name
    if context and not explanation:
        reason = f"{name} ({context[1].strip()})"
    frames = list(user_frames(getattr(error, "real_stack", None) or _told(text)))
    if frames:
        file, line, function = (
            frames[-1].filename,
            frames[-1].lineno or 0,
            plain_name(frames[-1].name),
        )
    return GraphBreak(
        id=found,
        type=name,
        reason=reason.replace(TORCH, "torch/"),
        file=file,
        line=line,
        function=function,
        code=linecache.getline(file, line).strip(),
        hints=tuple(
            hint.strip() for hint in re.findall(r"^\s*Hint: (.*)$", parts[0], re.MULTILINE)
        ),
        how=how,
        stack=tuple(f"{f.filename}:{f.lineno} in {plain_name(f.name)}" for f in frames),
    )


def user_frames(stack: Iterable[traceback.FrameSummary]) -> Iterable[traceback.FrameSummary]:
    """The frames outside torch, Python's library and this package; torch's if there are none."""
    frames = [f for f in stack if not f.filename.startswith(OURS)]
    return [f for f in frames if not _foreign(f.filename)] or frames


def _foreign(file: str) -> bool:
    if file.startswith((TORCH, "<frozen ")):  # Python freezes os and its like
        return True
    return file.startswith(PYTHON) and "site-packages" not in file


def plain_name(name: str) -> str:
    """The function's own name, where Dynamo named what remains of it after a break."""
    resumed = RESUMED.fullmatch(name)
    return resumed[1] if resumed else name


def _told(text: str) -> list[traceback.FrameSummary]:
    """The user's stack out of an error's text, where Dynamo wrote it there only."""
    told = re.split(r"from user code:|User Stack \(most recent call last\):", text)
    if len(told) == 1:
        return []
    places = re.findall(r'File "(.+?)", line (\d+), in (\S+)', told[-1])
    return [traceback.FrameSummary(file, int(line), name) for file, line, name in places]
