"""CL708: a function of a control-flow operator that writes outside itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Origin, Rule, Sighting
from ..base.hops import HOPS
from .arms import Arm, arms, operator
from .writes import Write, writes


class OperatorSideEffect(Rule):
    """A `torch.cond`, `while_loop`, `scan` or `map` function writes outside itself.

    ## What it does
    Flags functions given to control-flow operators that write an operand or a captured tensor in
    place, append to a list of the enclosing function, set an attribute, or assign a `nonlocal`
    or `global` name.

    ## Why it matters
    The function becomes a graph of its own that may run or not, or run many times. Only its
    return values leave it: a write has nowhere to go, and Dynamo refuses the whole operator, in
    every mode and without torch.compile too.

    ## Example
    An arm that counts its calls with `self.hits += 1`.

    ## Fix
    Return what changes, from every arm, and write it after the operator:
    `y, hits = torch.cond(...)`, then `self.hits.copy_(hits)`. Replace in-place operations on
    operands by their functional forms.

    ## When it is safe
    Writes to tensors and lists that the function itself made are fine, and not reported.
    """

    code = "CL708"
    name = "operator-side-effect"
    summary = "cond, while_loop, scan or map function that writes outside itself"
    nodes = (ast.Call,)
    callees = HOPS
    graph_breaks = ("GB0041", "GB0067", "GB4413")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    def scale(v):
        v.mul_(2)
        return v.sum()

    return torch.cond(x.mean() > 0, scale, lambda v: v.sum(), (x,))  # error: CL708
""",
            good="""
import torch

def f(x):
    def scale(v):
        w = v.clone()
        w.mul_(2)
        return w.sum()

    return torch.cond(x.mean() > 0, scale, lambda v: v.sum(), (x,))
""",
            note="An operand written in place; a copy of it may be.",
        ),
        Example(
            bad="""
import torch

def f(x):
    notes = {}

    def grow(v):
        notes["grown"] = 1  # error: CL708
        return v + 1

    return torch.cond(x.mean() > 0, grow, lambda v: v - 1, (x,))
""",
            good="""
import torch

def f(x):
    def grow(v):
        seen = [v, v + 1]
        return torch.stack(seen).sum(0)

    return torch.cond(x.mean() > 0, grow, lambda v: v - 1, (x,))
""",
            note="A dict of the enclosing function.",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for every function with a side effect, at its first one."""
        assert isinstance(node, ast.Call)
        kind = operator(node, ctx)
        if not kind:
            return
        for arm in arms(node, ctx):
            found = list(writes(arm, ctx))
            if found:
                first = min(found, key=lambda w: (getattr(w.node, "lineno", 0), w.target))
                yield _sighting(node, kind, arm, first, ctx)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the arm with a copied operand, or with its counter stepped outside."""
        from ..rewrites.operators import copy_fix, same_file, step_fix

        line = sighting.origin.line if sighting.origin is not None else 0
        for call in _calls(sighting.node, ctx):
            for number, arm in enumerate(arms(call, ctx)):
                found = list(writes(arm, ctx))
                if not any(getattr(w.node, "lineno", 0) == line for w in found):
                    continue
                same_file([arm.path], ctx)
                if all(w.inplace and w.target in arm.params for w in found):
                    yield copy_fix(arm.node, found[0].target, code)
                elif operator(call, ctx) == "cond" and not any(w.inplace for w in found):
                    steps = [w.node for w in found if isinstance(w.node, ast.stmt)]
                    if len(steps) < len(found):
                        raise Declined("the arm writes to a container outside itself")
                    yield step_fix(call, arm.node, steps, number == 0, ctx, code)
                else:
                    raise Declined("the function writes to what it doesn't own")
                return


def _calls(node: ast.AST, ctx: Context) -> Iterator[ast.Call]:
    """Yield the operator calls that may run the write that was sighted."""
    if isinstance(node, ast.Call) and operator(node, ctx):
        yield node
        return
    for inner in ast.walk(ctx.function):
        if isinstance(inner, ast.Call) and operator(inner, ctx):
            yield inner


def _sighting(call: ast.Call, kind: str, arm: Arm, write: Write, ctx: Context) -> Sighting:
    """Dynamo blames the operator for tensors and attributes, the write itself for the rest."""
    how = "in place" if write.inplace else "outside itself"
    message = f"`{arm.text}`, run by `{kind}`, writes `{write.target}` {how}"
    at_write = not write.inplace and "." not in write.target and arm.path == ctx.path
    line = getattr(write.node, "lineno", 1)
    column = getattr(write.node, "col_offset", 0) + 1
    origin = Origin(arm.path, line, column, f"`{write.target}` is written here")
    return Sighting(write.node if at_write else call, message, origin=origin)
