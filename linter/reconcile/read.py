"""Reading a log: a text file, a trace file, a folder of trace files, or standard input."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator

from ..source import reason
from .model import RunLog
from .text_log import parse_text
from .trace import is_trace, joined, parse_trace

_LOOKED_AT = 200  # lines within which a trace shows what it is


class UnreadableLog(Exception):
    """The log can't be read; the message says why in one line."""


def read_log(place: str) -> RunLog:
    """Return what the log at a path, or on standard input ("-"), says. Raises UnreadableLog."""
    if place == "-":
        return parse_bytes(sys.stdin.buffer.read())
    try:
        if not os.path.isdir(place):
            return parse_bytes(_content(place))
        names = sorted(os.listdir(place))
        logs = [name for name in names if "torch_trace" in name and name.endswith(".log")]
        if not logs:
            raise UnreadableLog("holds no trace (dedicated_log_torch_trace_*.log)")
        return joined(parse_bytes(_content(os.path.join(place, name))) for name in logs)
    except (OSError, ValueError) as error:
        text = reason(error) if isinstance(error, OSError) else str(error)
        raise UnreadableLog(f"can't read: {text}") from error


def parse_bytes(data: bytes) -> RunLog:
    """Return what a log holds. Raises UnreadableLog when it isn't text."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # redirected by PowerShell
        text = data.decode("utf-16", errors="replace")
    elif b"\0" in data[:8192]:
        raise UnreadableLog("not a text file")
    else:
        text = data.decode("utf-8-sig", errors="replace")
    first = (line for line, _ in zip(_lines(text), range(_LOOKED_AT)))
    return parse_trace(_lines(text)) if any(map(is_trace, first)) else parse_text(_lines(text))


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _lines(text: str) -> Iterator[str]:
    """Yield lines. Not `splitlines`: that also splits at form feeds, which sources may hold."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    if start < len(text):
        yield text[start:]
