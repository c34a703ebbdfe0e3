"""CL706: a function of torch.cond, scan or map that returns its operand."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from ..base.hops import HOPS
from .arms import arms, operator
from .results import repeated, shared
from .writes import writes


class OperatorAlias(Rule):
    """A `torch.cond` arm, or a `scan`/`map` step, returns an operand or a view of it.

    ## What it does
    Flags functions given to `torch.cond`, `scan` and `map` that return a tensor they were handed
    (or captured) unchanged, a view of one such as `x[:2]` or `x.t()`, or one tensor twice.

    ## Why it matters
    These operators are functional: the compiler must be able to give every output memory of its
    own, so an output that shares storage with an input, or with another output, is refused. The
    operator can't fall back to eager, so this raises in every mode, without torch.compile too.

    ## Example
    `torch.cond(p, lambda x: x, lambda x: -x, (x,))`: the identity arm.

    ## Fix
    Return a copy: `x.clone()`. If both arms are cheap, `torch.where(p, x, -x)` needs no copy and
    is faster.

    ## When it is safe
    Never; `reshape` and `contiguous` happen to work when they must copy, which is why those are
    reported as likely only.
    """

    code = "CL706"
    name = "operator-returns-operand"
    summary = "cond, scan or map function that returns its operand or a view of it"
    nodes = (ast.Call,)
    callees = HOPS
    graph_breaks = ("GB0040",)
    examples = (
        Example(
            bad="""
import torch

def f(x):
    return torch.cond(x.sum() > 0, lambda v: v, lambda v: -v, (x,))  # error: CL706
""",
            good="""
import torch

def f(x):
    return torch.cond(x.sum() > 0, lambda v: v.clone(), lambda v: -v, (x,))
""",
            inputs="[(torch.ones(3),), (-torch.ones(3),)]",
        ),
        Example(
            bad="""
import torch
from torch import nn

class Skip(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.skip = nn.Identity()

    def forward(self, x):
        return torch.cond(x.mean() > 0, self.layer, self.skip, (x,))  # error: CL706

f = Skip()
""",
            good="""
import torch
from torch import nn

class Skip(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return torch.cond(x.mean() > 0, self.layer, lambda v: v.clone(), (x,))

f = Skip()
""",
            note="`nn.Identity` returns the very tensor it is given.",
        ),
        Example(
            bad="""
import torch
from torch._higher_order_ops.scan import scan

def f(x):
    def step(carry, row):
        total = carry + row
        return total, total

    return scan(step, torch.zeros(3), x)[1]  # error: CL706
""",
            good="""
import torch
from torch._higher_order_ops.scan import scan

def f(x):
    def step(carry, row):
        total = carry + row
        return total, total.clone()

    return scan(step, torch.zeros(3), x)[1]
""",
            inputs="[(torch.ones(4, 3),)]",
            note="A running sum that is carry and output at once.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for every function that returns what it was handed."""
        assert isinstance(node, ast.Call)
        kind = operator(node, ctx)
        if kind not in ("cond", "scan", "map"):
            return
        for given in node.args[1:3] if kind == "cond" else ():
            if _identity(given, ctx):
                yield Sighting(node, f"arm `{ast.unparse(given)}` of `cond` returns its operand")
        for arm in arms(node, ctx):
            found = shared(arm, ctx)
            if found is not None and not any(w.inplace for w in writes(arm, ctx)):
                what, certainty = found
                yield Sighting(
                    node,
                    f"{_role(kind)} `{arm.text}` of `{kind}` returns {what}: outputs must not "
                    "share memory",
                    certainty=certainty,
                )

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the function with clones of what it hands on."""
        from ..rewrites.operators import clone_fix, same_file

        call = sighting.node
        assert isinstance(call, ast.Call)
        identities = [g for g in call.args[1:3] if _identity(g, ctx)]
        values: list[ast.expr] = []
        for arm in arms(call, ctx):
            found = repeated(arm, ctx)
            same_file([arm.path] if found else [], ctx)
            values += found
        yield clone_fix(values, identities, code)


def _identity(given: ast.expr, ctx: Context) -> bool:
    return getattr(ctx.fact(given), "cls", "") == "torch.nn.Identity"


def _role(kind: str) -> str:
    return "arm" if kind == "cond" else "function"
