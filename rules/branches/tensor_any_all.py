"""CL109: the builtins any() and all() over tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    Array,
    Code,
    Context,
    Example,
    Fact,
    Fix,
    FromTensor,
    Mode,
    Rule,
    Sequence,
    Sighting,
    Tensor,
    options,
)
from ..base.reading import data_in, modes_of, shown


class TensorAnyAll(Rule):
    """The builtins `any` and `all` over tensors.

    ## What it does
    Flags `any(…)` and `all(…)` whose elements are tensors, or values read from tensors:
    `any(v > 0 for v in x)`, `all([a.isfinite().all(), b.isfinite().all()])`, `any(mask)`.

    ## Why it matters
    The builtins stop at the first element that decides, so each element is a branch on its value.
    A graph break inside the implied loop sends the whole function to eager.

    ## Example
    See the bad and good modules below.

    ## Fix
    `torch.any(mask)` and `torch.all(mask)` reduce on the device. For a list of conditions stack
    them first: `torch.stack(conditions).all()`.

    ## When it is safe
    Over shapes, types and `None` tests of tensors: `all(t.ndim == 2 for t in parts)`.
    """

    code = "CL109"
    name = "tensor-any-all"
    summary = "builtin any() or all() over tensors"
    nodes = (ast.Call,)
    callees = ("builtins.any", "builtins.all")
    graph_breaks = ("GB0170", "GB8335")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    if any(v > 0 for v in x):  # error: CL109
        return x + 1
    return x
""",
            good="""
import torch

def f(x: torch.Tensor):
    return torch.where(torch.any(x > 0), x + 1, x)
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    sound = all([torch.isfinite(t).all() for t in (x, y)])  # error: CL109
    return x + y, sound
""",
            good="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    sound = torch.stack([torch.isfinite(t).all() for t in (x, y)]).all()
    if all(t.ndim == 1 for t in (x, y)):
        return x + y, sound
    return x, sound
""",
            inputs="[(torch.randn(3), torch.randn(3))]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when an element that is tested depends on tensor data."""
        assert isinstance(node, ast.Call)
        name = ctx.callee(node).name
        if name not in ("builtins.any", "builtins.all") or len(node.args) != 1:
            return
        fact = _element(ctx.fact(node.args[0]))
        modes: tuple[Mode, ...] = () if fact is None else modes_of(fact)
        if modes:
            word = name.rpartition(".")[2]
            yield Sighting(
                node,
                f"builtin `{word}` tests every element of `{shown(node.args[0], 40)}`, "
                f"tensor data: use `torch.{word}`",
                fact,
                breaks=modes,
                graph_breaks=None if modes == BOTH else (),
            )

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the reduction of a tensor."""
        from ..rewrites.choices import tested_fixes

        assert isinstance(sighting.node, ast.Call)
        return tested_fixes(sighting.node, "reduce as a tensor", ctx, code)


def _element(iterable: Fact) -> Fact | None:
    """Return the tensor-dependent element that iterating yields, None without one."""
    for option in options(iterable):
        if isinstance(option, Sequence):
            return data_in(option.element())
        if isinstance(option, (Tensor, Array, FromTensor)):
            return data_in(option)
    return None
