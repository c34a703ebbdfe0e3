"""Trials from two texts."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path
from textwrap import dedent
from typing import Any

from compile_lint.linter.prove.model import Trial
from compile_lint.rules.base.finding import Site

TENSOR = ["tensor", None, "", "", None]


def changed_lines(before: str, after: str) -> tuple[tuple[int, int], ...]:
    """(first, last) lines of `before` that `after` has not."""
    rows = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), False)
    return tuple((i + 1, j) for tag, i, j, _, _ in rows.get_opcodes() if tag != "equal" and j > i)


def trial(
    before: str,
    after: str,
    function: str = "f",
    examples: str = "",
    target: str = "",
    folder: Path = Path("/nowhere"),
    name: str = "on_trial",
    **more: Any,
) -> Trial:
    """A trial of a function; parameters are tensors that nothing is known of.

    examples  expression for `example_inputs()`; without it inputs are searched
    """
    head = "import torch\nfrom torch import nn\n\n"
    before, after = head + dedent(before), head + dedent(after)
    tail = ""
    if examples:
        tail = f"\n\ndef example_inputs():\n    return {examples}\n"
        tail += f"\n\nTARGET = {target!r}\n" if target else ""
    node: Any = ast.parse(before)
    for part in function.split("."):
        node = next(x for x in node.body if getattr(x, "name", None) == part)
    parameters = tuple((a.arg, TENSOR) for a in node.args.args if a.arg != "self")
    return Trial(
        path=str(folder / f"{name.rpartition('.')[2]}.py"),
        module=name,
        root=str(folder),
        before=before + tail,
        after=after + tail,
        sites=(Site(function, node.lineno, parameters),),
        changed=more.pop("changed", changed_lines(before, after)),
        entries=more.pop("entries", (function,)),
        **more,
    )
