"""CL507: creating a tensor with `requires_grad=True`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Certainty, Code, Const, Context, Example, Fix, Rule, Severity, Sighting
from ..base.reading import shown
from ..torch_facts import TorchFacts


class LeafFactory(Rule):
    """A tensor is created with `requires_grad=True` inside the region.

    ## What it does
    Flags `torch.zeros(..., requires_grad=True)`, `torch.tensor(..., requires_grad=True)`,
    `torch.randn_like(x, requires_grad=True)` and every other creation function of torch.

    ## Why it matters
    The new tensor would be an autograd leaf that exists only inside the compiled graph, where
    nothing can receive its gradient. Dynamo refuses the call, and the graph ends.

    ## Example
    A start value made in `forward` that is then optimised in place.

    ## Fix
    Make leaves outside the region and pass them in; make weights `nn.Parameter` in `__init__`.
    Where the flag was only habit, drop it.

    ## When it is safe
    `requires_grad=False` is traced and not reported.
    """

    code = "CL507"
    name = "leaf-factory"
    summary = "Tensor created with `requires_grad=True` inside the region"
    nodes = (ast.Call,)
    graph_breaks = ("GB0225",)
    examples = (
        Example(
            bad="""
import torch

def f(x):
    shift = torch.zeros(3, requires_grad=True)  # error: CL507
    return x + shift
""",
            good="""
import torch

def f(x):
    shift = torch.zeros(3)
    return x + shift
""",
        ),
        Example(
            bad="""
import torch

def f(x, train=True):
    noise = torch.randn_like(x, requires_grad=train)  # error: CL507
    return x + noise
""",
            good="""
import torch

def f(x, train=False):
    noise = torch.randn_like(x, requires_grad=False)
    return x + noise
""",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee makes a tensor."""
        if not name.startswith("torch.") or name.startswith(_OTHERS):
            return False
        return "Parameter" not in name and torch.function(name) == "tensor"

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a creation function is asked for a leaf."""
        assert isinstance(node, ast.Call)
        flag = next((k.value for k in node.keywords if k.arg == "requires_grad"), None)
        if flag is None:
            return
        fact = ctx.fact(flag)
        if isinstance(fact, Const) and not fact.value:
            return
        certainty = Certainty.CERTAIN if isinstance(fact, Const) else Certainty.LIKELY
        what = f"`{shown(node)}` makes an autograd leaf inside the region"
        if ctx.usual(flag) is False:
            text = f"{what}, only where `{shown(flag)}` holds"
            yield Sighting(node, text, breaks=(), severity=Severity.INFO)
        else:
            yield Sighting(node, what, certainty=certainty)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the tensor without the flag."""
        from ..rewrites.autograd import unflagged

        assert isinstance(sighting.node, ast.expr)
        yield from unflagged(sighting.node, ctx, code)


_OTHERS = ("torch.Tensor.", "torch.nn.", "torch.optim.")
