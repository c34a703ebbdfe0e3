"""The values that a while_loop carries."""

from __future__ import annotations

import ast

from ..base import Const, Context, Fact, ShapeInt
from .arms import operands


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
