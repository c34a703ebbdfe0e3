"""CL413: repeat_interleave with a tensor of counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import DEFAULT_ONLY, Code, Context, Example, Fix, Sighting
from ..base.reading import shown
from .data import OperationRule, certainty, derived, held, is_method, operator_call

_NAMES = frozenset({"repeat_interleave"})


class RepeatInterleave(OperationRule):
    """`repeat_interleave` with a tensor of counts gives as many rows as they add up to.

    ## What it does
    Flags `repeat_interleave` whose counts are a tensor, when no `output_size` is given, or when it
    is a tensor as well.

    ## Why it matters
    The size of the result is the sum of the counts, which depends on data: by default the graph
    ends here, and on a GPU the host waits for the sum.

    ## Example
    See the bad and good modules below.

    ## Fix
    Pass `output_size=` when the total is known from outside, or bound and pad it. Counts that are
    one Python int are captured as they are.

    ## When it is safe
    Under `fullgraph=True`, or with
    `torch._dynamo.config.capture_dynamic_output_shape_ops = True`.
    """

    code = "CL413"
    name = "repeat-interleave-counts"
    summary = "`repeat_interleave` with a tensor of counts"
    nodes = (ast.Call,)
    operations = _NAMES
    breaks = DEFAULT_ONLY
    graph_breaks = ("GB0036", "GB0033")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, counts: torch.Tensor):
    return x.repeat_interleave(counts, dim=0)  # error: CL413
""",
            good="""
import torch

def f(x: torch.Tensor, counts: torch.Tensor):
    return x.repeat_interleave(counts, dim=0, output_size=6) + x.repeat_interleave(2, dim=0)
""",
            inputs="[(torch.randn(3, 4), torch.tensor([1, 2, 3]))]",
        ),
        Example(
            bad="""
import torch

def f(counts: torch.Tensor):
    return torch.repeat_interleave(counts)  # error: CL413
""",
            good="""
import torch

def f(counts: torch.Tensor):
    return torch.searchsorted(counts.cumsum(0), torch.arange(6), right=True)
""",
            inputs="[(torch.tensor([1, 2, 3]),)]",
            note="counts alone: the index of each",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, counts: torch.Tensor):
    return x.repeat_interleave(counts, dim=0, output_size=counts.sum())  # error: CL413
""",
            good="""
import torch

def f(x: torch.Tensor, counts: torch.Tensor):
    return x.repeat_interleave(counts, dim=0, output_size=6)
""",
            inputs="[(torch.randn(3, 4), torch.tensor([1, 2, 3]))]",
            note="the total has to be an int already",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the counts are a tensor, and the total is none or one too."""
        assert isinstance(node, ast.Call)
        found = operator_call(node, ctx, self.operations)
        if found is None or any(k.arg is None for k in node.keywords):
            return
        counts = ctx.argument(node, 0 if is_method(found[0]) else 1, "repeats")
        if counts is None and not is_method(found[0]) and len(node.args) == 1:
            counts = node.args[0]
        fact = None if counts is None else held(ctx.fact(counts))
        total = next((k.value for k in node.keywords if k.arg == "output_size"), None)
        if fact is not None and total is not None:
            size = derived(ctx.fact(total))
            if size is not None:
                text = f"`output_size={shown(total)}` is a tensor, which is read into Python"
                yield Sighting(node, text, size, graph_breaks=("GB0033",))
        elif fact is not None:
            text = f"`{shown(node)}` gives as many rows as the counts add up to"
            yield Sighting(node, text, fact, certainty=certainty(found[0]))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the call with its total, where something in sight tells it."""
        from ..rewrites.sizes import repeated

        assert isinstance(sighting.node, ast.Call)
        yield from repeated(sighting.node, ctx, code)
