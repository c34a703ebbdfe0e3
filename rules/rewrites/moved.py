"""Lines as a formatter would break them, for rewrites that make lines longer."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ..base import Code


def bare(lines: Sequence[str]) -> list[str]:
    """Return the lines of a block without the comments above it, which stay where they are."""
    first = next(i for i, line in enumerate(lines) if not line.lstrip().startswith("#"))
    return list(lines[first:])


def broken(indent: str, head: str, arguments: Sequence[str], code: Code) -> list[str]:
    """Return the lines of a call: on one line, its arguments on one, or one line each."""
    joined = ", ".join(arguments)
    if len(f"{indent}{head}({joined})") <= code.width:
        return [f"{indent}{head}({joined})"]
    inner = indent + code.step
    if len(inner + joined) <= code.width:
        return [f"{indent}{head}(", inner + joined, f"{indent})"]
    return [f"{indent}{head}(", *(f"{inner}{a}," for a in arguments), f"{indent})"]


def call_text(
    call: ast.Call,
    code: Code,
    func: str = "",
    without: Sequence[str] = (),
    more: Sequence[str] = (),
) -> str:
    """Return the source of a call with another function, or without or with more arguments.

    `without` names keywords that go, `more` is the source of arguments that come.
    """
    kept = [part for part in call.keywords if part.arg not in without]
    arguments = [*(code.text(part) for part in (*call.args, *kept)), *more]
    head = func or code.text(call.func)
    if call.lineno == call.end_lineno or not arguments:
        return f"{head}({', '.join(arguments)})"
    old = code.text(call).split("\n")
    inner = old[1][: len(old[1]) - len(old[1].lstrip())]
    outer = old[-1][: len(old[-1]) - len(old[-1].lstrip())]
    return "\n".join([f"{head}(", *(f"{inner}{a}," for a in arguments), f"{outer})"])


def wrapped(test: ast.BoolOp, changes: Mapping[ast.AST, str], indent: str, code: Code) -> str:
    """Return the source of the test of an `if`, a line for each operand where it got too long."""
    text = code.text(test, changes)
    if "\n" in text or len(f"{indent}if {text}:") <= code.width:
        return text
    word = "and" if isinstance(test.op, ast.And) else "or"
    inner = indent + code.step
    parts = []
    for value in test.values:
        part = code.text(value, {k: v for k, v in changes.items() if k in ast.walk(value)})
        parts.append(f"({part})" if isinstance(value, ast.BoolOp) else part)
    return "(\n" + f"\n{inner}{word} ".join([inner + parts[0], *parts[1:]]) + f"\n{indent})"


__all__ = ["bare", "broken", "call_text", "wrapped"]
