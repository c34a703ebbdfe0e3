"""CL427: str() of a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    Code,
    Context,
    Declined,
    Example,
    Fact,
    Fix,
    Mode,
    Rule,
    Sequence,
    Sighting,
    options,
)
from ..base.reading import shown
from ..torch_facts import TorchFacts
from .data import held, read_number

_CALLS = frozenset({"builtins.str", "builtins.repr", "builtins.ascii"})


class TensorText(Rule):
    """`str(t)`, `repr(t)` or `"%f" % t` of a tensor.

    ## What it does
    Flags `str`, `repr` and `%` formatting of tensors and of numbers that were read out of them.
    f-strings and `str.format` are captured: the text is made after the graph has run.

    ## Why it matters
    The text needs the value. `str()` and `%` can't wait for it, so the graph breaks, for numbers
    that were read out under `fullgraph=True`.

    ## Example
    See the bad and good modules below.

    ## Fix
    Use an f-string, or make the text outside of the compiled function.

    ## When it is safe
    Outside of the compiled region.
    """

    code = "CL427"
    name = "tensor-to-text"
    summary = "`str()` or `%` of a tensor"
    nodes = (ast.Call, ast.BinOp)
    callees = tuple(sorted(_CALLS))
    graph_breaks = ("GB0059", "GB0569", "GB0033")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    label = str(x.sum())  # error: CL427
    return x + len(label)
""",
            good="""
import torch

def f(x: torch.Tensor):
    label = str(x.shape)
    return x + len(label)
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    label = "%.2f" % x.sum()  # error: CL427
    return x + 1, label
""",
            good="""
import torch

def f(x: torch.Tensor):
    label = f"{x.sum():.2f}"
    return x + 1, label
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether it is a call, or the operator `%`."""
        return not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Mod)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when text is made of tensor data."""
        if isinstance(node, ast.Call):
            if ctx.callee(node).name in _CALLS and len(node.args) == 1:
                yield from self._text(node, ctx.fact(node.args[0]))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            left = ctx.fact(node.left)
            if all(getattr(o, "kind", "") == "str" for o in options(left)):
                yield from self._text(node, ctx.fact(node.right))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: there is no form of fixed shape."""
        raise Declined("the text needs the value: make it outside of the compiled function")

    def _text(self, node: ast.expr, fact: Fact) -> Iterator[Sighting]:
        for option in options(fact):
            inner = option.items if isinstance(option, Sequence) and option.items else (option,)
            for item in inner:
                found = held(item)
                if found is not None:
                    text = f"`{shown(node)}` needs the tensor's value while capturing"
                    yield Sighting(node, text, found, breaks=BOTH)
                    return
                number = read_number(item)
                if number is not None:
                    text = f"`{shown(node)}` needs a number that was read out of a tensor"
                    yield Sighting(node, text, number, breaks=(Mode.FULLGRAPH,))
                    return
