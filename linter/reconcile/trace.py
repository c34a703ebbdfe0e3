"""The structured trace that `TORCH_TRACE=DIR` writes: JSON on a line, its payload tabbed below."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .message import merged, parse_break, plain_name, starts_break
from .model import Completed, LoggedBreak, RunLog

_ENTRY = re.compile(r"[VIWEC]\d{4} [\d:.]+ \d+ \S+:\d+\] (?P<json>\{.*)$")
_GRAPH_LINE = re.compile(r"\s*# File: (?P<file>.+):(?P<line>\d+) in [^,]+, code: ")
_COMPILE_ID = ("compiled_autograd_id", "frame_id", "frame_compile_id")
_RESUME = "torch_dynamo_resume_in_"

Key = tuple[Any, ...]


@dataclass(slots=True)
class _Collected:
    """What the entries of one file have told so far. `strings` is its table of file names."""

    strings: dict[int, str] = field(default_factory=dict)
    roots: dict[Key, tuple[str, str]] = field(default_factory=dict)
    breaks: list[tuple[Key, LoggedBreak]] = field(default_factory=list)
    lines: set[tuple[str, int]] = field(default_factory=set)
    compiled: list[tuple[Key, Completed]] = field(default_factory=list)
    torch: str = ""


def is_trace(line: str) -> bool:
    """Say whether a line is an entry of a structured trace."""
    return _ENTRY.match(line) is not None


def parse_trace(lines: Iterable[str]) -> RunLog:
    """Return what one trace file says; entries that are cut short or strange are left out."""
    found = _Collected()
    for entry, payload in _entries(lines):
        try:
            _take(entry, payload, found)
        except (AttributeError, KeyError, TypeError, ValueError):
            continue  # an entry of a shape that other versions of torch may give it
    broken = {key for key, _ in found.breaks}
    return RunLog(
        merged(_with_depth(item, found.roots.get(key)) for key, item in found.breaks),
        frozenset(found.lines),
        tuple(
            dict.fromkeys(
                item for key, item in found.compiled if key in found.roots and key not in broken
            )
        ),
        found.torch,
    )


def joined(logs: Iterable[RunLog]) -> RunLog:
    """Return what several processes said, as one."""
    known = list(logs)
    return RunLog(
        merged(item for log in known for item in log.breaks),
        frozenset().union(*(log.lines for log in known)),
        tuple(dict.fromkeys(item for log in known for item in log.completed)),
        next((log.torch for log in known if log.torch), ""),
    )


def _entries(lines: Iterable[str]) -> Iterator[tuple[dict[str, Any], list[str]]]:
    entry: dict[str, Any] | None = None
    payload: list[str] = []
    for line in lines:
        line = line.rstrip("\r\n")
        if line.startswith("\t"):
            payload.append(line[1:])
            continue
        if entry is not None:
            yield entry, payload
        entry, payload = _decoded(line), []
    if entry is not None:
        yield entry, payload


def _decoded(line: str) -> dict[str, Any] | None:
    match = _ENTRY.match(line)
    if match is None:
        return None
    try:
        return json.loads(match["json"])
    except json.JSONDecodeError:
        return None


def _take(entry: dict[str, Any], payload: list[str], found: _Collected) -> None:
    key = tuple(
        entry.get(name) for name in ("compiled_autograd_id", "frame_id", "frame_compile_id")
    )
    if "str" in entry:
        text, number = entry["str"]
        found.strings[number] = text
    elif "artifact" in entry:
        name = entry["artifact"].get("name")
        if name == "dynamo_graph_break_reason" and payload and starts_break(payload[0]):
            item = parse_break(payload)
            if item is not None:
                found.breaks.append((key, item))
        elif name == "torch_version":
            found.torch = _version(payload)
    elif "dynamo_start" in entry:
        stack = entry["dynamo_start"].get("stack") or ()
        if stack:
            file = found.strings.get(stack[-1]["filename"], "")
            found.roots[key] = (file, plain_name(stack[-1]["name"]))
    elif "dynamo_output_graph" in entry:
        for match in filter(None, map(_GRAPH_LINE.match, payload)):
            found.lines.add((match["file"], int(match["line"])))
    elif "compilation_metrics" in entry:
        metrics = entry["compilation_metrics"]
        file, line = metrics.get("co_filename"), metrics.get("co_firstlineno")
        if file and line and not metrics.get("fail_type"):
            resumed = str(metrics.get("co_name")).startswith(_RESUME)
            found.compiled.append((key, Completed(file, line, resumed)))


def _version(payload: list[str]) -> str:
    try:
        return str(json.loads("\n".join(payload)).get("pytorch_version") or "")
    except (json.JSONDecodeError, AttributeError):
        return ""


def _with_depth(item: LoggedBreak, root: tuple[str, str] | None) -> LoggedBreak:
    """Count the frames from the one that was being compiled inwards: those were traced."""
    for depth, frame in enumerate(reversed(item.frames), start=1):
        if (frame.file, frame.name) == root:
            return replace(item, traced=depth)
    return item
