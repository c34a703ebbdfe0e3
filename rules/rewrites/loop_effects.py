"""What a round of a loop may do: compute values, and which of them share storage.

Declined: `return`, `yield`, `raise` and `assert` in the loop, printing, attribute writes, lists
that are filled, and other effects.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..base.context import Context
from ..base.facts import Tensor, options
from ..base.rewriting import Code, Declined
from .carries import Loop, in_place


def written(loop: ast.For | ast.While, code: Code) -> set[str]:
    """Return the names that a loop binds, and those through which it writes."""
    found = code.effects(loop.body)
    names = {path.partition("[")[0].partition(".")[0] for path in found.mutates | found.stores}
    bound = (n for n in ast.walk(loop) if isinstance(n, ast.Name))
    return names | {name.id for name in bound if not isinstance(name.ctx, ast.Load)}


def check_body(loop: Loop, ctx: Context, code: Code) -> None:
    """Decline where a round does more than compute values."""
    own = loop.inside()
    for node in own:
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)):
            raise Declined("the loop returns from inside")
        if isinstance(node, (ast.Raise, ast.Assert)):
            raise Declined("the loop raises")
        if isinstance(node, (ast.Try, ast.Global, ast.Nonlocal, ast.Delete, ast.Import)):
            raise Declined(f"`{type(node).__name__.lower()}` stands in the loop")
        if isinstance(node, ast.NamedExpr):
            raise Declined("`:=` stands in the loop")
    found = code.effects(loop.nodes)
    for name in sorted(found.stores):
        base = name.partition("[")[0]
        if "." in base:
            raise Declined(f"the loop writes `{name}`")
    for name in found.unknown:
        if _effectful(name, own, ctx):
            raise Declined(f"`{name}` may do more than compute")
    for node in own:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            held = options(ctx.fact(node.func.value))
            if node.func.attr in ("append", "extend", "insert", "pop", "update", "add"):
                if not all(isinstance(option, Tensor) for option in held):
                    raise Declined(f"`{ast.unparse(node.func)}` changes a container every round")


def _effectful(name: str, nodes: Sequence[ast.AST], ctx: Context) -> bool:
    """Say whether a call is of something known to be more than a function of its arguments."""
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
            callee = ctx.callee(node)
            if callee.project is None and callee.name and not callee.name.startswith("torch."):
                return True
    return False


def shares(value: ast.expr, ctx: Context) -> bool:
    """Say whether an expression may be a tensor that exists already, or a view of one."""
    if isinstance(value, (ast.Name, ast.Subscript)):
        return True
    if isinstance(value, ast.Attribute):
        return True
    if isinstance(value, ast.IfExp):
        return shares(value.body, ctx) or shares(value.orelse, ctx)
    if isinstance(value, ast.Call):
        tags = ctx.torch.tags(ctx.callee(value).name)
        known = bool(tags & {"view", "maybe_view", "maybe_inplace", "inplace"})
        last = value.func.attr if isinstance(value.func, ast.Attribute) else ""
        return known or in_place(value) or last in ("to", "contiguous", "reshape", "detach")
    return False


def has_twin(name: str, ctx: Context) -> bool:
    """Say whether tensors have a method of that name that gives a new tensor."""
    return bool(ctx.torch.tags(f"torch.Tensor.{name}")) or ctx.torch.dynamo(
        f"torch.Tensor.{name}"
    ) in ("graph", "constant")
