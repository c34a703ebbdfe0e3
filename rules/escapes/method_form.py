"""CL430: arguments of tensor methods in a form that can't be put in a graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Code,
    Context,
    Example,
    Extern,
    Fix,
    Rule,
    Sighting,
)
from ..base.reading import shown

# In-place methods whose old signature takes a number first, and how many tensors come after it.
_OLD = {"add_": 1, "addcmul_": 2, "addcdiv_": 2}


class MethodForm(Rule):
    """`p.add_(-lr, grad)`, `m.addcmul_(1 - beta, g, g)`, `x.type(torch.Tensor)`.

    ## What it does
    Flags the old signatures of `add_`, `addcmul_` and `addcdiv_` that take the factor before the
    tensors, and `type` with the class `torch.Tensor`.

    ## Why it matters
    Dynamo knows the methods by their present signatures, and takes no class as an argument: the
    graph ends at the call, in an optimizer once for every parameter. Eager code only warns.

    ## Example
    See the bad and good modules below.

    ## Fix
    Pass the factor by name: `p.add_(grad, alpha=-lr)`, `m.addcmul_(g, g, value=1 - beta)`. Name
    a dtype: `x.to(torch.get_default_dtype())`, or `x.float()`.

    ## When it is safe
    The methods that aren't in place, such as `x.add(2, y)`, and `x.type(torch.FloatTensor)` are
    captured.
    """

    code = "CL430"
    name = "method-form"
    summary = "tensor method called in an old form"
    nodes = (ast.Call,)
    callees = ("torch.Tensor.",)
    graph_breaks = ("GB0117", "GB7489")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, grad: torch.Tensor):
    y = x.clone().add_(-0.1, grad)  # error: CL430
    return y.mul_(0.9).addcmul_(0.1, grad, grad)  # error: CL430
""",
            good="""
import torch

def f(x: torch.Tensor, grad: torch.Tensor):
    y = x.clone().add_(grad, alpha=-0.1)
    return y.mul_(0.9).addcmul_(grad, grad, value=0.1)
""",
            inputs="[(torch.randn(3), torch.randn(3))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return x * (x > 0).type(torch.Tensor)  # error: CL430
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x * (x > 0).type(torch.FloatTensor)
""",
        ),
    )

    def answers(self, name: str, torch: object) -> bool:
        """Say whether the callee is one of these methods."""
        last = name.rpartition(".")[2]
        return name.startswith("torch.Tensor.") and (last in _OLD or last == "type")

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call in a form that isn't captured."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        last = callee.name.rpartition(".")[2]
        facts = [ctx.fact(arg) for arg in node.args]
        if last == "type":
            if facts and isinstance(facts[0], Extern) and facts[0].name == "torch.Tensor":
                text = f"`{shown(node)}`: the class `torch.Tensor` is no dtype"
                yield Sighting(node, text, callee.receiver, graph_breaks=("GB7489",))
        elif last in _OLD and len(facts) == _OLD[last] + 1:
            # Today's signatures take so many positional arguments at no time
            if not any(isinstance(arg, ast.Starred) for arg in node.args):
                text = f"`{last}` takes the factor before the tensors here, an old signature"
                yield Sighting(node, text, callee.receiver, graph_breaks=("GB0117",))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the call with the factor by name."""
        from ..rewrites.replacements import number_last

        assert isinstance(sighting.node, ast.Call)
        return number_last(sighting.node, ctx, code)
