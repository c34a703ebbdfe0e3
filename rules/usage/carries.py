"""The values that a while_loop carries, and what its body makes of them."""

from __future__ import annotations

import ast

from ..base import Const, Context, Fact, Sequence, ShapeInt, Tensor
from .arms import Arm, operands, parts
from .results import difference, grown


def carried(call: ast.Call, ctx: Context) -> list[Fact] | None:
    """Return the facts of a while_loop's carries, as its functions see them.

    An int is a symbol inside. None when the number of carries isn't known.
    """
    given = operands(ctx.argument(call, 2, "carried_inputs"), ctx)
    if given is None:
        return None
    return [
        ShapeInt("int") if isinstance(fact, Const) and fact.kind == "int" else fact
        for fact in given
    ]


def grows(arm: Arm) -> bool:
    """Say whether a body joins a carry with more."""
    pairs = [pair for value in arm.returned() for pair in zip(parts(value), arm.params)]
    return any(grown(part, name) for part, name in pairs)


def handed_on(arm: Arm, ctx: Context) -> list[ast.expr]:
    """Return the parts of a body's results that share memory with a carry or with each other."""
    found: list[ast.expr] = []
    for value in arm.returned():
        names: set[str] = set()
        for part in parts(value):
            alias = arm.alias(part, ctx)
            name = part.id if isinstance(part, ast.Name) else ""
            if (alias is not None and alias.sure) or (name and name in names):
                found.append(part)
            names.add(name)
    return found


def misfit(arm: Arm, before: list[Fact], after: Fact, ctx: Context) -> str | None:
    """Say how what a body returns doesn't fit what the loop carries, None where it does."""
    if isinstance(after, Sequence) and after.items is not None:
        if len(after.items) != len(before):
            return f"{len(after.items)} values for {len(before)} carries"
        for name, old, new in zip(arm.params, before, after.items):
            if isinstance(new, Tensor) and isinstance(old, Tensor):
                what = difference(old, new)
                if what is not None:
                    return f"another kind of `{name}`: {what}"
    for value in arm.returned():
        names = set()
        for name, part in zip(arm.params, parts(value)):
            larger = grown(part, name)
            if larger is not None:
                return f"`{larger}`: `{name}` must keep its shape"
            alias = arm.alias(part, ctx)
            position = arm.params.index(alias.root) if alias and alias.root in arm.params else -1
            known = before[position] if 0 <= position < len(before) else None
            if alias is not None and alias.sure and (known is None or isinstance(known, Tensor)):
                return f"`{ast.unparse(part)}`, which shares memory with a carry"
            if isinstance(part, ast.Name) and part.id in names:
                return f"`{part.id}` twice"
            names.add(part.id if isinstance(part, ast.Name) else "")
    return None
