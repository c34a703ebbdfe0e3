"""CL337: a decorator that Dynamo doesn't trace, on a function inside compiled code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Extern, Fix, Rule, Sighting
from ..torch_facts import TorchFacts
from .seen import shown

# Measured, each on a function that the compiled one defines.
_UNTRACED = {
    "torch.compiler.disable": "GB0007",
    "torch._dynamo.disable": "GB0007",
    "torch._dynamo.eval_frame.disable": "GB0007",
    "torch._disable_dynamo": "GB0055",
    "torch.compiler.allow_in_graph": "GB0007",
    "torch._dynamo.allow_in_graph": "GB0007",
    "torch._dynamo.forbid_in_graph": "GB0007",
    "torch.compiler.assume_constant_result": "GB0007",
    "torch._dynamo.assume_constant_result": "GB0007",
    "torch._dynamo.optimize": "GB0007",
    "torch.jit.script": "GB0007",
    "torch.jit.ignore": "GB0007",
    "torch.jit.unused": "GB0007",
    "torch.jit.export": "GB0007",
    "torch.jit.script_if_tracing": "GB0007",
    "torch.cuda.amp.custom_fwd": "GB0055",
    "torch.autograd.function.once_differentiable": "GB0055",
    "functools.lru_cache": "GB0156",
    "functools.cache": "GB0156",
}


class UntracedDecorator(Rule):
    """A function defined inside compiled code has a decorator that isn't traced.

    ## What it does
    Flags functions that a captured function defines under `torch.compiler.disable`,
    `torch.jit.ignore`, `functools.lru_cache` and the like.

    ## Why it matters
    The decorator is called where the `def` stands, on every call of the function around it. Dynamo
    skips these, so the graph ends at the definition, and once more where a disabled function is
    called.

    ## Example
    See the bad and good modules below.

    ## Fix
    Define and decorate the function once, at module level or in `__init__`, and call it from there.

    ## When it is safe
    In factory functions that run before anything is compiled. `functools.wraps`, `torch.no_grad`
    and `torch.compile` are captured.
    """

    code = "CL337"
    name = "untraced-decorator"
    summary = "an inner function has a decorator that isn't traced"
    nodes = (ast.FunctionDef, ast.AsyncFunctionDef)
    graph_breaks = ("GB0007", "GB0055", "GB0156")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    @torch.compiler.allow_in_graph  # error: CL337
    def shifted(y):
        return y + 1

    return x * 2
""",
            good="""
import torch

@torch.compiler.allow_in_graph
def shifted(y):
    return y + 1

def f(x):
    return x * 2
""",
        ),
        Example(
            bad="""
import functools
import torch

def f(x):
    @functools.lru_cache(maxsize=None)  # error: CL337
    def scale(level):
        return 2**level

    return x + 1
""",
            good="""
import functools
import torch

def f(x):
    @functools.wraps(torch.relu)
    def scale(level):
        return 2**level

    return x * scale(3)
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether the function has a decorator."""
        return bool(getattr(node, "decorator_list", ()))

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the first such decorator to be called, which is the lowest."""
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if node is ctx.function:
            return
        for decorator in reversed(node.decorator_list):
            fact = ctx.fact(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if isinstance(fact, Extern) and fact.name in _UNTRACED:
                text = f"`@{shown(decorator)}` isn't traced: the graph ends at the definition"
                yield Sighting(decorator, text, graph_breaks=(_UNTRACED[fact.name],))
                return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: where else to define it is a matter of what it closes over."""
        raise Declined("define it once, outside the compiled function, and pass what it needs")
