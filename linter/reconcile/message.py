"""One graph break as Dynamo words it, the same in logs and in traces.

Written by `log_graph_break` (torch/_dynamo/symbolic_convert.py) and, for breaks outside of the
byte code, by torch/_dynamo/convert_frame.py; torch 2.11 to 2.14.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .model import Frame, LoggedBreak

_AT = re.compile(
    r"Graph break (?:\(user stack suppressed[^)]*\) )?in user code at (?P<file>.+):(?P<line>\d+)$"
)
_NO_RESUME = "Graph break: torch.compile cannot properly resume"
_REASON = "Graph Break Reason: "
_STACKS = ("User code traceback:", "The graph break occurred in the following user code:")
_ATTEMPT = "most recent `torch.compile` tracing attempt started here"
_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'\s*File "(?P<file>.+)", line (?P<line>\d+), in (?P<name>.+)$')
_ID = re.compile(r"/gb/gb(\d+)\.html")
_EXCEPTION = re.compile(r"[\w.]+\.(?:Unsupported|UserError|\w*Error|\w*Exception): (?P<text>.+)")
_RESUMED = re.compile(r"torch_dynamo_resume_in_(\w+?)_at_\d+$")
# What may stand before the break itself.
_PREAMBLES = ("Encountered graph break", "Failed to handle graph break")
_GIVES_UP = ("Failed to handle graph break gracefully", _NO_RESUME)


def starts_break(line: str) -> bool:
    """Say whether the report of a break starts here."""
    return line.startswith(_NO_RESUME) or _AT.match(line) is not None


def plain_name(name: str) -> str:
    """Return the name of the function that a resume function is part of, else the name."""
    resumed = _RESUMED.match(name)
    return resumed[1] if resumed else name


def parse_break(lines: Sequence[str]) -> LoggedBreak | None:
    """Return the break that the lines of one report tell; None when they name no place."""
    head = lines[0]
    body, stack, error = _sections(lines)
    frames, after = _frames(stack)
    at = _AT.match(head)
    if not frames:
        if at is None:
            return None
        frames = [Frame(at["file"], int(at["line"]))]
    message = body if at is not None else error
    ids = dict.fromkeys("GB" + number for line in message for number in _ID.findall(line))
    reason, explanation = _reason(message)
    return LoggedBreak(
        reason or "unknown reason",
        explanation,
        tuple(ids),
        tuple(frames),
        min(len(frames), after or 1),
        any(line.startswith(_GIVES_UP) for line in (head, *(body[:1]))),
    )


def merged(breaks: Iterable[LoggedBreak]) -> tuple[LoggedBreak, ...]:
    """Join reports of the same break; those that leave out the stack join what has it."""
    found: dict[tuple[object, ...], LoggedBreak] = {}
    for item in breaks:
        last = item.frames[-1]
        if len(item.frames) == 1 and not last.name:
            same = [key for key in found if key[:3] == (last.file, last.line, item.reason)]
            key = same[0] if same else (last.file, last.line, item.reason, ())
        else:
            chain = tuple((frame.file, frame.line) for frame in item.frames)
            key = (last.file, last.line, item.reason, chain)
        known = found.get(key)
        if known is not None:
            item = replace(
                known,
                ids=tuple(dict.fromkeys(known.ids + item.ids)),
                traced=max(known.traced, min(item.traced, len(known.frames))),
                eager=known.eager or item.eager,
                count=known.count + item.count,
            )
        found[key] = item
    return tuple(found.values())


def _sections(lines: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Split a report: the reason, the user's stack, and the exception that a trace adds."""
    body: list[str] = []
    stack: list[str] = []
    error: list[str] = []
    into = body
    for line in lines[1:]:
        if line.startswith(_TRACEBACK):
            into = error
        elif line.startswith(_STACKS) and into is body:
            into = stack
        else:
            into.append(line.removeprefix(_REASON) if into is body else line)
    return body, stack, error


def _frames(lines: Sequence[str]) -> tuple[list[Frame], int]:
    """Return the frames, and how many stand below the line that says where tracing started."""
    frames: list[Frame] = []
    above = 0
    for line in lines:
        match = _FRAME.match(line)
        if match:
            frames.append(Frame(match["file"], int(match["line"]), plain_name(match["name"])))
        elif _ATTEMPT in line:
            above = len(frames)
        elif line.startswith("    ") and frames:
            if not frames[-1].code:
                frames[-1] = replace(frames[-1], code=line.strip())
        elif line.strip():
            break  # the note that ends a verbose stack, or what else was printed
    return frames, len(frames) - above if above else 0


def _reason(lines: Sequence[str]) -> tuple[str, str]:
    """Return the break's name, which stands above its explanation, and the explanation."""
    name = ""
    for line in lines:
        text = line.strip()
        exception = _EXCEPTION.match(line)
        if text.startswith("Explanation:"):
            return name, text.removeprefix("Explanation:").strip()
        if exception:
            name = exception["text"].strip()
        elif text and not line.startswith((" ", "\t")) and not line.startswith(_PREAMBLES):
            name = name or text
    return name, ""
