"""CL719: a control-flow operator that is called with operands its functions can't take."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Certainty, Context, Example, Rule, Sighting, Tensor
from ..base.hops import HOPS
from .arms import Arm, arms, operands, operator

_OPERANDS = {"cond": (3, "operands"), "while_loop": (2, "carried_inputs")}


class OperatorCall(Rule):
    """`torch.cond` or `while_loop` with operands that don't fit its functions.

    ## What it does
    Flags operands that are a bare tensor instead of a tuple, and functions that take another
    number of arguments than there are operands.

    ## Why it matters
    The operator calls each function with the operands as its arguments. Both arms of a cond, and
    both functions of a loop, get the same ones, also the ones they don't use. What doesn't fit
    raises while tracing, in every mode and without torch.compile too, even if the arm never runs.

    ## Example
    `torch.cond(p, lambda x: x + 1, lambda x: x - 1, x)`

    ## Fix
    Write a tuple, `(x,)`, and give all functions the same parameters.

    ## When it is safe
    Never.
    """

    code = "CL719"
    name = "operator-operands"
    summary = "cond or while_loop operands that don't fit its functions"
    nodes = (ast.Call,)
    callees = HOPS
    graph_breaks = ("GB0311", "GB7312")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, x)  # error: CL719
""",
            good="""
import torch

def f(x):
    return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))
""",
            note="A tuple of one needs its comma.",
        ),
        Example(
            bad="""
import torch

def f(x, y):
    return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a, b: a - b, (x, y))  # error: CL719
""",
            good="""
import torch

def f(x, y):
    return torch.cond(x.sum() > 0, lambda a, b: a + 1, lambda a, b: a - b, (x, y))
""",
            inputs="[(torch.ones(3), torch.ones(3))]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a bare tensor, or for the first function that doesn't fit."""
        assert isinstance(node, ast.Call)
        kind = operator(node, ctx)
        given = ctx.argument(node, *_OPERANDS[kind]) if kind in _OPERANDS else None
        if given is None:
            return
        if _bare_tensor(given, node, kind, ctx):
            yield Sighting(
                node,
                f"operands of `{kind}` must be a tuple: `({ast.unparse(given)},)`",
                graph_breaks=("GB0311",),
                certainty=None if isinstance(ctx.fact(given), Tensor) else Certainty.LIKELY,
            )
            return
        values = operands(given, ctx)
        for arm in arms(node, ctx) if values is not None else ():
            low, high = _arity(arm)
            if not low <= len(values or ()) <= high:
                text = (
                    f"`{arm.text}` takes {low} arguments, `{kind}` has {len(values or ())} for it"
                )
                yield Sighting(node, text, graph_breaks=("GB7312",))
                return


def _bare_tensor(given: ast.expr, call: ast.Call, kind: str, ctx: Context) -> bool:
    """Say whether operands are one tensor: by its fact, or the very name the predicate reads."""
    if isinstance(ctx.fact(given), Tensor):
        return True
    predicate = ctx.argument(call, 0, "pred") if kind == "cond" else None
    if not isinstance(given, ast.Name) or predicate is None:
        return False
    return any(
        isinstance(part, ast.Attribute) and ast.unparse(part.value) == given.id
        for part in ast.walk(predicate)
    )


def _arity(arm: Arm) -> tuple[int, float]:
    """How many arguments a function takes: at least, at most."""
    args = arm.node.args
    bound = getattr(arm.fact, "partial", ())
    most = len(arm.params) - len(bound)
    return most - len(args.defaults), float("inf") if args.vararg else most
