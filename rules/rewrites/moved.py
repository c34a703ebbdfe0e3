"""Lines as a formatter would break them, for rewrites that make lines longer."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ..base import Code


def fitted(lines: Sequence[str], statements: Sequence[ast.stmt], code: Code) -> list[str]:
    """Return lines of moved statements, those of one line that got too long broken open.

    Calls and what stands in brackets are. `statements` are those that the lines were made of, in
    their order.
    """
    long = {code.text(s).strip(): s for s in statements if _opens(s) is not None}
    result: list[str] = []
    for line in lines:
        stmt = long.get(line.strip())
        if len(line) <= code.width or stmt is None:
            result.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        value = _opens(stmt)
        if isinstance(value, ast.Call):
            opening = (value.func.end_col_offset or 0) - stmt.col_offset
            parts = [code.text(part) for part in (*value.args, *value.keywords)]
            head = code.text(stmt).encode()[:opening].decode()
            result += broken(indent, head, parts, code)
        elif value is not None:
            opening = value.col_offset + 1 - stmt.col_offset
            head = code.text(stmt).encode()[:opening].decode()
            inner = [indent + code.step + part for part in _parts(value, code, len(indent))]
            result += [indent + head, *inner, indent + code.text(value)[-1]]
    return result


def _parts(node: ast.expr, code: Code, indent: int) -> list[str]:
    """Return the lines between the brackets of a display, or of a comprehension."""
    if isinstance(node, (ast.List, ast.Set)):
        return [f"{code.text(part)}," for part in node.elts]
    whole = code.text(node)[1:-1].strip()
    if indent + len(code.step) + len(whole) <= code.width:
        return [whole]
    assert isinstance(node, (ast.ListComp, ast.SetComp))
    found = [code.text(node.elt)]
    for part in node.generators:
        word = "async for" if part.is_async else "for"
        found.append(f"{word} {code.text(part.target)} in {code.text(part.iter)}")
        found += [f"if {code.text(test)}" for test in part.ifs]
    return found


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


_OPENING = (ast.Call, ast.List, ast.Set, ast.ListComp, ast.SetComp)


def _opens(stmt: ast.stmt) -> ast.expr | None:
    """Return the call, display or comprehension that a one-line statement ends with."""
    value = getattr(stmt, "value", None)
    one_line = stmt.lineno == stmt.end_lineno
    return value if one_line and isinstance(value, _OPENING) else None


__all__ = ["bare", "broken", "call_text", "fitted", "wrapped"]
