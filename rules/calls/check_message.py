"""CL330: how torch._check and its like are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import DEFAULT_ONLY, Const, Context, Example, Function, Rule, Sighting, Static, options
from ..base.facts import Fact
from ..base.reading import module_of, tensor_of
from ..torch_facts import TorchFacts
from .seen import call_seen, shown

# Where each takes its message.
_MESSAGE = {
    "torch._check": 1,
    "torch._check_index": 1,
    "torch._check_value": 1,
    "torch._check_type": 1,
    "torch._check_not_implemented": 1,
    "torch._check_with": 2,
}
_OF_TENSORS = frozenset({"torch._check_tensor_all", "torch._check_tensor_all_with"})


class CheckMessage(Rule):
    """A check of torch whose message, or condition, Dynamo can't put into the graph.

    ## What it does
    Flags `torch._check` and its like with a string as the message, or with a function that reads a
    tensor or a module of the caller, and `torch._check_tensor_all`.

    ## Why it matters
    A check is captured with a function that makes its message, which is called only where the
    check fails. Dynamo doesn't take a plain string, and can't keep tensors or modules for the
    message's sake: the graph ends at the check. `_check_tensor_all` reads its condition.

    ## Example
    See the bad and good modules below.

    ## Fix
    Write `lambda: "…"`, and take what it shows out of the tensor first: `n = x.shape[0]`. Check
    values of a tensor with `torch._assert_async(cond.all(), "…")`.

    ## When it is safe
    `torch._check_tensor_all` under `fullgraph=True`, which makes a check in the graph of it.
    """

    code = "CL330"
    name = "check-message"
    summary = "torch._check with a message that isn't traced"
    nodes = (ast.Call,)
    graph_breaks = ("GB9840", "GB9158", "GB0124")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    torch._check(x.dim() == 1, "x must be a vector")  # error: CL330
    return x + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    torch._check(x.dim() == 1, lambda: "x must be a vector")
    return x + 1
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    torch._check_value(x.dim() == 1, lambda: f"bad shape {x.shape}")  # error: CL330
    return x + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    rank = x.dim()
    torch._check_value(rank == 1, lambda: f"bad rank {rank}")
    return x + 1
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    torch._check_tensor_all(x > -100)  # error: CL330
    return x + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    torch._assert_async((x > -100).all(), "out of range")
    return x + 1
""",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee is one of the checks."""
        return name in _MESSAGE or name in _OF_TENSORS

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a check that isn't captured."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.name in _OF_TENSORS:
            text = f"`{shown(node)}` reads whether all elements are true"
            yield call_seen(node, callee, text, "GB0124", breaks=DEFAULT_ONLY)
            return
        given = ctx.argument(node, _MESSAGE[callee.name], "message")
        for option in options(ctx.fact(given)) if given is not None else ():
            if isinstance(option, (Const, Static)) and option.kind == "str":
                text = f"`{shown(node)}` takes a function that makes the message, not a string"
                yield call_seen(node, callee, text, "GB9840", fact=option)
                return
            held = _held(option)
            if held is not None:
                text = f"the message of `{shown(node)}` reads `{held}`, which can't be kept for it"
                yield call_seen(node, callee, text, "GB9158", fact=option)
                return


def _held(fact: Fact) -> str | None:
    """Return the name of a tensor or module that a function takes from around it."""
    for name, inner in fact.closure if isinstance(fact, Function) else ():
        if tensor_of(inner) is not None or module_of(inner) is not None:
            return name
    return None
