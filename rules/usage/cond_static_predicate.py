"""CL717: torch.cond on a Python value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Const, Context, Example, Rule, Severity, Sighting, Static
from ..base.hops import HOPS
from .arms import operator


class CondStaticPredicate(Rule):
    """`torch.cond` whose predicate is a flag or a constant, which a plain `if` handles.

    ## What it does
    Flags `torch.cond` calls whose predicate is a Python bool: a constant, `self.training`, a
    configuration value.

    ## Why it matters
    Dynamo knows the value while tracing. It compiles the arm that is taken, guards on the flag
    and leaves the operator out, so nothing is gained; but the arms still have to obey the
    operator's rules (no operand returned, equal dtypes, no side effects).

    ## Example
    `torch.cond(self.training, self.noisy, self.clean, (x,))`

    ## Fix
    Write `if self.training: … else: …`.

    ## When it is safe
    Always; it only costs freedom. Predicates from tensor sizes are not reported: with dynamic
    shapes and in export they keep both arms.
    """

    code = "CL717"
    name = "cond-static-predicate"
    summary = "torch.cond on a Python flag, where `if` does the same"
    nodes = (ast.Call,)
    callees = HOPS
    breaks = ()
    severity = Severity.INFO
    examples = (
        Example(
            bad="""
import torch
from torch import nn

class Noisy(nn.Module):
    def forward(self, x):
        return torch.cond(self.training, lambda v: v * 2, lambda v: v * 3, (x,))  # error: CL717

f = Noisy()

def witness():
    names = []

    def backend(graph, inputs):
        names.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    torch.compile(f, backend=backend)(torch.ones(3))
    return bool(names) and "cond" not in names
""",
            good="""
import torch
from torch import nn

class Noisy(nn.Module):
    def forward(self, x):
        return torch.cond(x.mean() > 0, lambda v: v * 2, lambda v: v * 3, (x,))

f = Noisy()

def witness():
    names = []

    def backend(graph, inputs):
        names.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    torch.compile(f, backend=backend)(torch.ones(3))
    return "cond" not in names
""",
            truth="witness",
            note="The compiled graph holds no cond when the predicate is a flag.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the predicate is known while tracing."""
        assert isinstance(node, ast.Call)
        predicate = ctx.argument(node, 0, "pred")
        if operator(node, ctx) != "cond" or predicate is None:
            return
        fact = ctx.fact(predicate)
        if isinstance(fact, (Const, Static)) and fact.kind == "bool":
            text = ast.unparse(predicate)
            yield Sighting(node, f"`cond` on `{text}`, a Python bool: `if` does the same", fact)
