"""CL327: the environment is changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Extern, Fix, Rule, Sighting
from ..torch_facts import TorchFacts
from .seen import shown


class Environment(Rule):
    """An environment variable is set inside compiled code.

    ## What it does
    Flags `os.environ[name] = value` and `del os.environ[name]`.

    ## Why it matters
    Reading `os.environ` is captured, with a guard on the value. Writing calls `putenv`, a C
    function that Dynamo skips: the graph ends there.

    ## Example
    See the bad and good modules below.

    ## Fix
    Set variables before the compiled function is called.

    ## When it is safe
    At module level or in a launcher, which are not captured.
    """

    code = "CL327"
    name = "environment-write"
    summary = "writing to os.environ ends the graph"
    nodes = (ast.Assign, ast.AugAssign, ast.Delete)
    graph_breaks = ("GB0007",)
    examples = (
        Example(
            bad="""
import os
import torch

def f(x):
    os.environ["COMPILE_LINT_EXAMPLE"] = "1"  # error: CL327
    return x + 1
""",
            good="""
import os
import torch

os.environ["COMPILE_LINT_EXAMPLE"] = "1"

def f(x):
    return x + int(os.environ["COMPILE_LINT_EXAMPLE"])
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether an item is written."""
        return any(isinstance(target, ast.Subscript) for target in _targets(node))

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a write to os.environ."""
        for target in _targets(node):
            if isinstance(target, ast.Subscript):
                held = ctx.fact(target.value)
                if isinstance(held, Extern) and held.name == "os.environ":
                    text = f"`{shown(target)}` is written, which calls C code that isn't traced"
                    yield Sighting(target, text, graph_breaks=("GB0007",))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: other code may read the variable."""
        raise Declined("set environment variables before the compiled call")


def _targets(node: ast.AST) -> list[ast.expr]:
    assert isinstance(node, (ast.Assign, ast.AugAssign, ast.Delete))
    return [node.target] if isinstance(node, ast.AugAssign) else node.targets
