"""CL509: reading `grad_fn`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Certainty, Code, Context, Example, Fix, Rule, Sighting, Tensor, Unknown, options
from ..base.reading import shown
from ..torch_facts import TorchFacts


class GradFn(Rule):
    """`y.grad_fn` of a computed tensor is read in code that is captured.

    ## What it does
    Flags reads of `grad_fn` on tensors that the region computed.

    ## Why it matters
    While capturing there is no autograd graph yet, so there is no node to hand out. For a tensor
    that needs gradients the graph ends at the read.

    ## Example
    `if y.grad_fn is not None:` to ask whether gradients flow.

    ## Fix
    Ask `y.requires_grad`, which is known while capturing. Walk the autograd graph outside.

    ## When it is safe
    When nothing needs gradients (inference), `grad_fn` is None and is captured as such; the
    finding is only likely.
    """

    code = "CL509"
    name = "grad-fn-read"
    summary = "`grad_fn` of a computed tensor is read"
    nodes = (ast.Attribute,)
    graph_breaks = ("GB0104",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    y = x * 2
    if y.grad_fn is not None:  # error: CL509
        return y
    return y + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    y = x * 2
    if y.requires_grad:
        return y
    return y + 1
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether the node reads an attribute of that name."""
        assert isinstance(node, ast.Attribute)
        return node.attr == "grad_fn" and isinstance(node.ctx, ast.Load)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a read on a tensor that isn't a leaf."""
        assert isinstance(node, ast.Attribute)
        for option in options(ctx.fact(node.value)):
            # nothing but tensors has the attribute
            if isinstance(option, Unknown) or (isinstance(option, Tensor) and not option.role):
                what = f"`{shown(node)}` reads the autograd graph while it is captured"
                yield Sighting(node, what, option, certainty=Certainty.LIKELY)
                return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the question for `requires_grad`."""
        from ..rewrites.autograd import requires_grad

        assert isinstance(sighting.node, ast.Attribute)
        yield from requires_grad(sighting.node, ctx, code)
