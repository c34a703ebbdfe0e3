"""CL521: a class statement inside the region."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context, Example, Rule, Sighting


class ClassInside(Rule):
    """A `class` statement runs in code that is captured.

    ## What it does
    Flags class definitions in the body of a captured function.

    ## Why it matters
    Making a class calls `__build_class__`, which runs the class body in a namespace of its own.
    Dynamo doesn't trace that: the graph ends at the statement. The class is also new on every
    call, so whatever guards on it would recompile.

    ## Example
    A small result type declared next to where it is returned.

    ## Fix
    Move the class to module level. For a bundle of values use a tuple, a dict or a
    `collections.namedtuple`, which may be made inside.

    ## When it is safe
    Functions and lambdas may be defined inside a region; only classes may not.
    """

    code = "CL521"
    name = "class-inside"
    summary = "`class` statement inside the region"
    nodes = (ast.ClassDef,)
    graph_breaks = ("GB8977",)
    examples = (
        Example(
            bad='''
import torch

def f(x):
    class Shift:  # error: CL521
        by = 2

    return torch.relu(x) + Shift.by
''',
            good='''
import torch

class Shift:
    by = 2

def f(x):
    return torch.relu(x) + Shift.by
''',
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the statement, at its name."""
        assert isinstance(node, ast.ClassDef)
        yield Sighting(node, f"class `{node.name}` is made anew while the function is captured")
