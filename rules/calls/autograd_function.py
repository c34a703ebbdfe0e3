"""CL322: forms of autograd.Function that aren't captured."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Certainty,
    ClassRef,
    Code,
    Context,
    Declined,
    Example,
    Fix,
    Instance,
    Rule,
    Sighting,
    Tensor,
    options,
)
from ..torch_facts import TorchFacts
from .seen import call_seen, shown

_BASES = frozenset({"torch.autograd.Function", "torch.autograd.function.Function"})
_CONTEXT = "torch.autograd.FunctionCtx"


class AutogradFunction(Rule):
    """A custom autograd.Function in a form that Dynamo can't capture.

    ## What it does
    Flags `Fn.apply` where the class defines `jvp`, where the same tensor is passed twice, where
    `apply` is called on an object of the class; `ctx.mark_dirty`, and `ctx.saved_variables`, the
    old name of `saved_tensors`.

    ## Why it matters
    Dynamo captures `forward` and `backward` as two graphs of one operator. Forward-mode rules,
    inputs that are changed in place, and inputs that are the same tensor don't fit that form.

    ## Example
    See the bad and good modules below.

    ## Fix
    Leave `jvp` to a class of its own; return a new tensor in place of a changed input; pass the
    tensor once. `torch.library.custom_op` with `register_autograd` is the general form.

    ## When it is safe
    `save_for_backward`, attributes on `ctx`, `mark_non_differentiable`, `set_materialize_grads`,
    `needs_input_grad` and `setup_context` are all captured.
    """

    code = "CL322"
    name = "autograd-function-form"
    summary = "an autograd.Function in a form that isn't captured"
    nodes = (ast.Call, ast.Attribute)
    callees = ("torch.autograd.",)
    graph_breaks = ("GB0144", "GB6297", "GB6215", "GB2019", "GB0088")
    examples = (
        Example(
            bad="""
import torch

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2

def f(x):
    return Double.apply(x)  # error: CL322
""",
            good="""
import torch

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

def f(x):
    return Double.apply(x)
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
        ),
        Example(
            bad="""
import torch

class Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a

def f(x: torch.Tensor):
    return Multiply.apply(x, x)  # error: CL322
""",
            good="""
import torch

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        return grad * 2 * a

def f(x):
    return Square.apply(x)
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
        ),
        Example(
            bad="""
import torch

class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_variables[0]  # error: CL322
        s = torch.sigmoid(x)
        return grad * (s * (1 + x * (1 - s)))

def f(x: torch.Tensor):
    return Swish.apply(x)
""",
            good="""
import torch

class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0]
        s = torch.sigmoid(x)
        return grad * (s * (1 + x * (1 - s)))

def f(x: torch.Tensor):
    return Swish.apply(x)
""",
            inputs="[(torch.randn(3, requires_grad=True),)]",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether a node is a call, or reads `saved_variables`."""
        return not isinstance(node, ast.Attribute) or node.attr == "saved_variables"

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for an `apply`, or a use of `ctx`, that isn't captured."""
        if isinstance(node, ast.Attribute):
            for option in options(ctx.fact(node.value)):
                if isinstance(option, Instance) and option.cls == _CONTEXT:
                    text = f"`{shown(node)}` is deprecated, and not traced: use `saved_tensors`"
                    yield Sighting(node, text, graph_breaks=("GB0088",))
            return
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.name == "torch.autograd.FunctionCtx.mark_dirty":
            text = f"`{shown(node)}`: an input that `forward` changes in place isn't captured"
            yield Sighting(node, text, certainty=Certainty.LIKELY, graph_breaks=("GB2019",))
        module, _, last = callee.name.rpartition(".")
        if last != "apply" or module not in _BASES:
            return
        if isinstance(callee.receiver, Instance):
            text = f"`{shown(node)}` is called on an object, which Dynamo can't follow"
            yield call_seen(node, callee, text, "GB6215")
        elif isinstance(callee.receiver, ClassRef) and "jvp" in callee.receiver.cls.methods:
            text = f"`{shown(node)}`: a Function with a `jvp` isn't captured"
            yield call_seen(node, callee, text, "GB0144")
        else:
            names = [ast.unparse(a) for a in node.args if isinstance(ctx.fact(a), Tensor)]
            twice = next((n for i, n in enumerate(names) if n in names[:i]), None)
            if twice is not None:
                text = f"`{shown(node)}` is given `{twice}` twice"
                yield call_seen(node, callee, text, "GB6297")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: the form of the class must change."""
        raise Declined("give the function a form that is captured: see the rule")
