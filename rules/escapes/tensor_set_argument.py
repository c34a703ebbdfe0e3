"""CL429: a set of tensors as an argument of the compiled callable."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Code,
    Context,
    Declined,
    Example,
    Fact,
    Fix,
    Rule,
    Sequence,
    Sighting,
    Tensor,
    options,
)
from ..base.reading import place


class TensorSetArgument(Rule):
    """A set of tensors that is passed into compiled code.

    ## What it does
    Flags the first use of a parameter of a compiled callable that is a set (or frozenset) of
    tensors.

    ## Why it matters
    Every input is guarded by the path that leads to it: `args[0][2]`, `self.layers[1].weight`.
    The elements of a set have no index, so there is no path to guard a tensor in it by, and the
    graph ends where the set is first touched. Its order isn't stable between runs either.

    ## Example
    See the bad and good modules below.

    ## Fix
    Pass a list or a tuple: `sorted(params, key=...)` or `list(params)` before the call. Sets of
    numbers and strings are fine.

    ## When it is safe
    Sets made inside the compiled code from its own tensors are captured, and aren't reported.
    """

    code = "CL429"
    name = "tensor-set-argument"
    summary = "set of tensors passed into compiled code"
    nodes = (ast.FunctionDef, ast.AsyncFunctionDef)
    graph_breaks = ("GB0222",)
    examples = (
        Example(
            bad="""
import torch

def f(params: set[torch.Tensor]):
    return sum((p ** 2).sum() for p in params)  # error: CL429

PARAMS = {torch.ones(2), torch.zeros(3)}
""",
            good="""
import torch

def f(params: list[torch.Tensor]):
    return sum((p ** 2).sum() for p in params)

PARAMS = [torch.ones(2), torch.zeros(3)]
""",
            inputs="[(PARAMS,)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the first use of every such parameter of an entry point."""
        if not ctx.entry or node is not ctx.function:
            return iter(())
        return self._uses(node, ctx)

    def _uses(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        names = {
            arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        }
        uses = [
            use
            for use in ctx.inside(node)
            if type(use) is ast.Name
            and use.id in names
            and type(use.ctx) is ast.Load
            and _set_of_tensors(ctx.fact(use))
        ]
        for use in sorted(uses, key=place):
            if use.id in names:
                names.discard(use.id)
                text = f"`{use.id}` is a set of tensors: its elements can't be guarded on"
                yield Sighting(use, text, ctx.fact(use))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: there is no form of fixed shape."""
        raise Declined("callers must pass a list or a tuple: a set of tensors has no order")


def _set_of_tensors(fact: Fact) -> bool:
    return any(
        isinstance(option, Sequence)
        and option.kind in ("set", "frozenset")
        and any(isinstance(inner, Tensor) for inner in options(option.element()))
        for option in options(fact)
    )
