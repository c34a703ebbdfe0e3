"""What the code on trial compares with: values that may lead to another of its branches."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

_MOST = 12
_LETTERS = 40
FLOATING = ("float16", "bfloat16", "float32", "float64")
_DTYPES = {"half": "float16", "double": "float64"}
_DTYPES |= {name: name for name in FLOATING}


@dataclass(frozen=True, slots=True)
class Literals:
    """Numbers, strings, names of floating dtypes and of attributes of `self`, in source order."""

    numbers: tuple[float, ...] = ()
    strings: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def literals(tree: ast.AST, changed: Iterable[tuple[int, int]]) -> Literals:
    """Return what is written in the functions that hold changed lines.

    Of dtypes those that are compared with, of attributes those that are tested.
    """
    spans = tuple(changed)
    numbers: dict[float, None] = {}
    strings: dict[str, None] = {}
    dtypes: dict[str, None] = {}
    flags: dict[str, None] = {}
    for node in _parts(tree, spans):
        for found in ast.walk(node):
            if isinstance(found, ast.Constant):
                if isinstance(found.value, (int, float)) and not isinstance(found.value, bool):
                    numbers[found.value] = None
                elif isinstance(found.value, str) and len(found.value) < _LETTERS:
                    strings[found.value] = None
            elif isinstance(found, ast.Compare):
                for part in ast.walk(found):
                    if isinstance(part, ast.Attribute) and part.attr in _DTYPES:
                        dtypes[_DTYPES[part.attr]] = None
            elif isinstance(found, (ast.If, ast.IfExp)):
                flags.update(dict.fromkeys(_attributes(found.test)))
    if dtypes:
        dtypes["float64"] = None  # which tells the branch of all others from that of float32
    some = tuple(numbers)[:_MOST], tuple(strings)[:_MOST]
    return Literals(*some, tuple(dtypes), tuple(flags)[:_MOST])


def _attributes(test: ast.expr) -> Iterable[str]:
    """Yield the attributes of `self` that a test reads."""
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "self":
                yield node.attr


def _parts(tree: ast.AST, spans: tuple[tuple[int, int], ...]) -> Iterable[ast.AST]:
    """Yield the statements and defaults of functions with lines in `spans`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(node.lineno <= b and a <= (node.end_lineno or 0) for a, b in spans):
                yield from node.body
                yield from node.args.defaults
                yield from (default for default in node.args.kw_defaults if default is not None)
