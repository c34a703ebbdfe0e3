"""CL424: a tensor where an operator takes a number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    DEFAULT_ONLY,
    Array,
    Certainty,
    Code,
    Context,
    Example,
    Fact,
    Fix,
    Mode,
    Sighting,
    Tensor,
    options,
)
from ..base.reading import shown
from .data import OperationRule, certainty, derived, derived_in, read_in
from .number_parameters import BOUNDS, NUMBERS, arguments, mixed_bound, passed


class TensorNumber(OperationRule):
    """A tensor where an operator takes a Python number.

    ## What it does
    Flags tensors as `fill_value` of `new_full` and `full_like`, `p` of `dropout`, `k` of
    `kthvalue`, shifts of `roll`, `dim`, `diagonal`, `alpha` and `beta`, `eps`, `margin` and other
    numbers that operators take as Python numbers; and one bound of `clamp` where the other is a
    number.

    ## Why it matters
    The operator reads the tensor, as by `.item()`, and mostly asks what the number is: then the
    graph breaks under `fullgraph=True` as well. `alpha` of `torch.add` and the like only scales.

    ## Example
    See the bad and good modules below.

    ## Fix
    Use an operator that takes a tensor there: `torch.full(size, t)`, `fill.expand(size)`,
    `torch.where`, `torch.gather`, or write out the formula. If the number is known before the
    call, pass it in as a Python number.

    ## When it is safe
    Outside of compiled code.
    """

    code = "CL424"
    name = "tensor-as-number"
    summary = "a tensor where an operator takes a number"
    nodes = (ast.Call,)
    operations = frozenset(NUMBERS) | BOUNDS
    graph_breaks = ("GB0033",)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return x + torch.full_like(x, x.mean())  # error: CL424
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x + torch.full(x.shape, x.mean())
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return torch.roll(x, x.argmax())  # error: CL424
""",
            good="""
import torch

def f(x: torch.Tensor):
    places = (torch.arange(x.shape[0]) - x.argmax()) % x.shape[0]
    return x[places]
""",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    return torch.add(x, y, alpha=y.mean())  # error: CL424
""",
            good="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    return x.add_(y, alpha=y.mean()) + y * y.mean()
""",
            inputs="[(torch.ones(3), torch.ones(3))]",
            note="in place, Dynamo multiplies instead",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return x.clamp(0.0, x.mean())  # error: CL424
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x.clamp(min=0.0).clamp(max=x.mean())
""",
            note="with a number and a tensor, both are taken as numbers",
        ),
        Example(
            bad="""
import torch
from torch.nn import functional as F

def f(x: torch.Tensor):
    return F.elu(x, x.mean()) + F.layer_norm(x, (3,), eps=x.var())  # error: CL424
""",
            good="""
import torch
from torch.nn import functional as F

def f(x: torch.Tensor):
    return F.elu(x, 0.5) + F.layer_norm(x, (3,), eps=1e-5)
""",
        ),
        Example(
            bad="""
import torch
from torch.nn import functional as F

def f(x: torch.Tensor):
    return F.max_pool1d(x[None], x.argmax() + 1)  # error: CL424
""",
            good="""
import torch
from torch.nn import functional as F

def f(x: torch.Tensor):
    return F.max_pool1d(x[None], x.shape[0] - 1)
""",
            note="so it is with strides, padding and dilation of convolutions",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for every number that is a computed tensor."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        bound = mixed_bound(node, callee, ctx)
        if bound is not None:
            found = derived_in(ctx.fact(bound)) or _float_input(ctx.fact(bound))
            if found is not None:
                text = f"`{shown(bound)}` is a tensor where the other bound is a number"
                sure = certainty(callee) if found.rank == 0 else Certainty.LIKELY
                yield Sighting(bound, text, found, certainty=sure)
            return
        for parameter, given in arguments(node, callee, ctx, NUMBERS):
            fact = passed(given, ctx)
            # an input that is one int is made a symbol, one that is a float isn't
            found: Fact | None = derived_in(fact) or _float_input(fact)
            if found is not None:
                sure = certainty(callee)
                if getattr(derived(fact), "rank", 0) is None:
                    sure = Certainty.LIKELY
                text = f"`{shown(given)}` is a tensor where `{parameter.keyword}` is a number"
                breaks = DEFAULT_ONLY if parameter.tensor == "default" else BOTH
                yield Sighting(given, text, found, certainty=sure, breaks=breaks)
                continue
            number = read_in(fact) if parameter.number else None
            if number is not None:
                text = f"`{parameter.keyword}` `{shown(given)}` comes from a tensor, and is tested"
                yield Sighting(given, text, number, breaks=(Mode.FULLGRAPH,))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the same, filled or gathered."""
        from ..rewrites.sizes import filled

        assert isinstance(sighting.node, ast.expr)
        yield from filled(sighting.node, ctx, code)


def _float_input(fact: Fact) -> Tensor | Array | None:
    for option in options(fact):
        if isinstance(option, Tensor) and option.dtype == "float" and option.role != "constant":
            return option
    return None
