"""CL707: torch.cond arms whose results differ in kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Certainty, Code, Context, Declined, Example, Fix, Rule, Sighting
from ..base.hops import HOPS
from .arms import arms, operands, operator
from .results import difference, odd_result, unlike_arms


class CondArmsDiffer(Rule):
    """The arms of `torch.cond` return different dtypes, ranks or structures.

    ## What it does
    Flags `torch.cond` calls whose two functions return tensors of unlike dtype or number of
    dimensions, tuples of unlike length, dicts of unlike keys, or anything but tensors and ints.

    ## Why it matters
    The result of the operator is one value with one dtype and one rank, whichever arm ran; what
    reads it is compiled once. Arms that disagree raise while tracing, in every mode and without
    torch.compile too.

    ## Example
    One arm quantises to `int32`, the other returns floats.

    ## Fix
    Make the arms agree: cast in one of them (`.to(x.dtype)`), keep a dimension
    (`sum(..., keepdim=True)`), return a zero tensor instead of `None` or `0.0`.

    ## When it is safe
    Sizes may differ (2.13 makes them symbolic), the values too; dtype, rank and
    structure never.
    """

    code = "CL707"
    name = "cond-arms-differ"
    summary = "torch.cond arms that return different dtypes, ranks or structures"
    nodes = (ast.Call,)
    callees = HOPS
    graph_breaks = ("GB4315", "GB0313", "GB0314", "GB0350")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    return torch.cond(x.max() > 1, lambda v: v.round().int(), lambda v: v * 4, (x,))  # error: CL707
""",
            good="""
import torch

def f(x):
    return torch.cond(x.max() > 1, lambda v: v.round(), lambda v: v * 4, (x,))
""",
            inputs="[(torch.tensor([0.1, 0.2]),), (torch.tensor([3.0, 0.2]),)]",
        ),
        Example(
            bad="""
import torch

def f(x):
    return torch.cond(x.any(), lambda v: v.sum(), lambda v: 0.0, (x,))  # error: CL707
""",
            good="""
import torch

def f(x):
    return torch.cond(x.any(), lambda v: v.sum(), lambda v: torch.zeros(()), (x,))
""",
            note="A Python float is not a tensor.",
        ),
        Example(
            bad="""
import torch

def f(x):
    def both(v):
        return v + 1, v + 2

    def one(v):
        return v + 1, v + 2, v + 3

    return torch.cond(x.any(), both, one, (x,))[0]  # error: CL707
""",
            good="""
import torch

def f(x):
    def both(v):
        return v + 1, v + 2

    def one(v):
        return v - 1, v - 2

    return torch.cond(x.any(), both, one, (x,))[0]
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the results of the arms can't be one value."""
        assert isinstance(node, ast.Call)
        if operator(node, ctx) != "cond":
            return
        named = (ctx.argument(node, 1, "true_fn"), ctx.argument(node, 2, "false_fn"))
        given = [arm for arm in named if arm is not None]
        values = operands(ctx.argument(node, 3, "operands"), ctx)
        if values is None or len(given) < 2:
            return
        left, right = (ctx.apply(node, ctx.fact(arm), values) for arm in given)
        what = difference(left, right)
        sure = what is not None and left.sure and right.sure
        what = what or unlike_arms(given, left, right, ctx)
        if what is not None:
            certainty = Certainty.CERTAIN if sure else Certainty.LIKELY
            yield Sighting(node, f"the arms of `cond` return {what}", certainty=certainty)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the arm that casts, or gives a number, with the dtype of its operand."""
        from ..rewrites.operators import cast_fix, same_file

        assert isinstance(sighting.node, ast.Call)
        found = list(arms(sighting.node, ctx))
        same_file([arm.path for arm in found], ctx)
        unlike = [(arm, value) for arm in found if (value := odd_result(arm, ctx)) is not None]
        if len(found) != 2 or len(unlike) != 1 or not unlike[0][0].params:
            raise Declined("which of the arms should give the other's dtype isn't clear")
        arm, value = unlike[0]
        yield cast_fix(value, arm.params[0], ctx, code)
