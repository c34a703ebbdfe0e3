"""CL107: `match` on a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fact, Fix, Mapping, Rule, Sequence, Sighting, options
from ..base.reading import data_in, modes_of, shown
from .conditions import Read, of_size, of_value, sighting


class TensorMatch(Rule):
    """`match` that compares tensor data with a literal.

    ## What it does
    Flags `case` patterns that compare a tensor, or a number read from one, with a number or a
    named value, also inside a tuple, list or dict pattern; and `case` guards on tensors.

    ## Why it matters
    Each value pattern is an `if subject == value`: the first one that compares tensor data breaks
    the graph.

    ## Example
    See the bad and good modules below.

    ## Fix
    Index a stacked tensor of alternatives, or nest `torch.where`. When the subject is really a
    mode, pass it as a Python int or string: each value is then compiled once.

    ## When it is safe
    Class patterns, `None`, `True`, `False` and strings never ask a tensor for its value; shapes
    and Python values are known while capturing.
    """

    code = "CL107"
    name = "tensor-match"
    summary = "`match` compares tensor data"
    nodes = (ast.Match,)
    graph_breaks = ("GB0170",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, mode: torch.Tensor):
    match mode:
        case 0:  # error: CL107
            return x
        case _:
            return x + 1
""",
            good="""
import torch

def f(x: torch.Tensor, mode: torch.Tensor):
    match x.ndim:
        case 1:
            return torch.where(mode == 0, x, x + 1)
        case _:
            return x
""",
            inputs="[(torch.randn(3), torch.tensor(0)), (torch.randn(3), torch.tensor(1))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    match x.ndim:
        case 1 if x.sum() > 0:  # error: CL107
            return x
        case _:
            return x + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    match x:
        case torch.Tensor():
            return torch.where(x.sum() > 0, x, x + 1)
        case _:
            return x
""",
            note="A guard is an `if`.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the first pattern that asks for tensor data, and for guards."""
        assert isinstance(node, ast.Match)
        subject = ctx.fact(node.subject)
        compared = False
        for case in node.cases:
            if not ctx.reached(case):
                continue
            found = None if compared else next(_compared(case.pattern, subject, ctx), None)
            if found is not None:
                compared = True
                pattern, fact = found
                seen = sighting(Read(node.subject, fact), "`case`")
                yield Sighting(
                    pattern,
                    f"`case {shown(pattern)}` compares `{shown(node.subject)}`, tensor data",
                    fact,
                    breaks=seen.breaks,
                    graph_breaks=seen.graph_breaks,
                )
            if case.guard is not None:
                yield from of_value(case.guard, ctx, "the guard")
                yield from of_size(case.guard, ctx, "the guard")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the `match` as an `if` chain, which is rewritten next."""
        from ..rewrites.matching import match_fix

        for node in (sighting.node, *ctx.ancestors(sighting.node)):
            if isinstance(node, ast.Match):
                yield match_fix(node, ctx, code)
                return


def _compared(
    pattern: ast.pattern, subject: Fact, ctx: Context
) -> Iterator[tuple[ast.pattern, Fact]]:
    """Yield value patterns that are compared with tensor data."""
    if isinstance(pattern, ast.MatchValue):
        fact = data_in(subject)
        text = isinstance(pattern.value, ast.Constant) and isinstance(pattern.value.value, str)
        if fact is not None and not text and modes_of(fact):
            yield pattern, fact
    elif isinstance(pattern, ast.MatchOr):
        for inner in pattern.patterns:
            yield from _compared(inner, subject, ctx)
    elif isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        yield from _compared(pattern.pattern, subject, ctx)
    elif isinstance(pattern, ast.MatchSequence):
        for option in options(subject):
            if isinstance(option, Sequence):
                known = option.items or ()
                same = len(known) == len(pattern.patterns)
                for i, inner in enumerate(pattern.patterns):
                    yield from _compared(inner, known[i] if same else option.element(), ctx)
    elif isinstance(pattern, ast.MatchMapping) and isinstance(subject, Mapping):
        for key, inner in zip(pattern.keys, pattern.patterns):
            name = key.value if isinstance(key, ast.Constant) else None
            yield from _compared(inner, subject.get(name) or subject.element(), ctx)
