"""CL505: `requires_grad_()` on a tensor that the region computes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Certainty, Code, Const, Context, Example, Fix, Rule, Sighting, Tensor, options
from ..base.reading import shown


class RequiresGradComputed(Rule):
    """`requires_grad_()` on an intermediate that leaves the region.

    ## What it does
    Flags `x.detach().requires_grad_()`, `torch.zeros_like(x).requires_grad_()` and the like on
    tensors made inside the region.

    ## Why it matters
    Such a tensor is a new leaf of autograd. A compiled graph's outputs are connected to its
    inputs only, so a leaf that is born inside, and that an output depends on, can't be handed
    out: the graph ends at the call by default, and `fullgraph=True` refuses the whole function.

    ## Example
    Making a fresh leaf to differentiate against.

    ## Fix
    Drop the call when the gradient isn't used. Make the leaf outside and pass it in, or use
    `torch.func.grad`, which needs no leaf at all.

    ## When it is safe
    When everything computed from it is detached before it leaves the region; the finding is only
    likely for that reason.
    """

    code = "CL505"
    name = "requires-grad-computed"
    summary = "`requires_grad_()` on a tensor made inside the region"
    nodes = (ast.Call,)
    callees = ("torch.Tensor.requires_grad_",)
    graph_breaks = ("GB8985", "GB7324")
    examples = (
        Example(
            bad="""
import torch

def f(x): return x.detach().requires_grad_() * 2  # error: CL505
""",
            good="""
import torch

def f(x): return x.detach() * 2
""",
            note="Under fullgraph=True it is the `def` line that is blamed.",
        ),
        Example(
            bad="""
import torch

def f(x): return torch.zeros_like(x).requires_grad_(True)  # error: CL505
""",
            good="""
import torch

def f(x):
    y = x.detach().requires_grad_(False)
    return y * 2
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the receiver is a computed tensor and the flag goes up."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.name != "torch.Tensor.requires_grad_" or callee.receiver is None:
            return
        given = ctx.argument(node, 0, "requires_grad")
        if given is not None and _is_false(given, ctx):
            return
        for option in options(callee.receiver):
            if isinstance(option, Tensor) and option.role not in ("input", "param", "buffer"):
                what = f"`{shown(node)}` makes a new autograd leaf inside the region"
                yield Sighting(node, what, option, certainty=Certainty.LIKELY)
                return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the tensor without the flag."""
        from ..rewrites.autograd import unflagged

        assert isinstance(sighting.node, ast.expr)
        yield from unflagged(sighting.node, ctx, code)


def _is_false(node: ast.expr, ctx: Context) -> bool:
    fact = ctx.fact(node)
    return not isinstance(fact, Const) or not fact.value
