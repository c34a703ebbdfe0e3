"""What `TORCH_LOGS=graph_breaks` prints, mixed with whatever else the program printed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .message import merged, parse_break, starts_break
from .model import LoggedBreak, RunLog

# "[rank0]:V1129 23:12:16.759000 17759 torch/_dynamo/x.py:51] [0/0] [__graph_breaks] text"
_PREFIX = re.compile(
    r"(?P<source>(?:\[rank\d+\]:)?[VIWEC]\d{4} [\d:.]+ \d+ \S+:\d+\]"
    r"(?: \[[^\]\s]*\d/\d[^\]\s]*\])?(?: \[__(?P<artifact>\w+)\])?) ?(?P<text>.*)$"
)
_TRACED = re.compile(r"TRACE starts_line (?P<file>.+):(?P<line>\d+) in ")
_VERSION = re.compile(
    r"(?:pytorch[ _]version|torch\.__version__|torch version)\W+(?P<version>\d+\.\d+[\w.+]*)", re.I
)
_COLOR = re.compile(r"\x1b\[[\d;]*m")


def parse_text(lines: Iterable[str]) -> RunLog:
    """Return what a log says. Lines of several processes may be interleaved."""
    reports: list[list[str]] = []
    # The report that each source of lines is in the middle of; "" for lines without a prefix.
    current: dict[str, list[str]] = {}
    traced: set[tuple[str, int]] = set()
    version = ""
    for line in lines:
        line = _COLOR.sub("", line.rstrip("\r\n"))
        match = _PREFIX.search(line)
        source, text = (match["source"], match["text"]) if match else ("", line)
        if starts_break(text):
            current[source] = [text]
            reports.append(current[source])
        elif source in current:
            current[source].append(text)
        elif step := _TRACED.match(text):
            traced.add((step["file"], int(step["line"])))
        if not version and (said := _VERSION.search(line)):
            version = said["version"]
    parsed = (parse_break(report) for report in reports)
    breaks: list[LoggedBreak] = [item for item in parsed if item is not None]
    return RunLog(merged(breaks), frozenset(traced), (), version)
