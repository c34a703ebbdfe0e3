"""The user's line behind a node of the graph."""

from __future__ import annotations

import re

import torch

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in [^\n]*\n\s*(?P<code>[^\n]*)')


def origin_of(node: torch.fx.Node | None) -> str:
    """`file.py:12: y = x.sin()`, or "" where torch doesn't know."""
    trace = node.meta.get("stack_trace") if node is not None else None
    if not trace:
        return ""
    frames = list(_FRAME.finditer(trace))
    if not frames:
        return ""
    last = frames[-1]
    return f"{last['file']}:{last['line']}: {last['code'].strip()}"
