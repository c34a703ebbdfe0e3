"""Does an expression make a tensor of its own, or hand on the storage of another one?"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..base.context import Context
from ..base.facts import Tensor, options

# Methods that return their receiver where there is nothing to do.
_SAME = frozenset(
    "contiguous reshape flatten ravel to float double half type_as cuda cpu squeeze".split()
)
_HANDED_ON = ("torch.nn.Identity", "torch.nn.Dropout", "torch.nn.Flatten")


def is_fresh(
    value: ast.expr,
    ctx: Context,
    made: Callable[[str], ast.expr | None] = lambda name: None,
    depth: int = 4,
) -> bool:
    """Say whether the value of an expression shares storage with nothing that was there before.

    `made` gives the value of a name that was bound in between, None for names from before.
    """
    if isinstance(value, ast.Name):
        found = made(value.id)
        return found is not None and depth > 0 and is_fresh(found, ctx, made, depth - 1)
    if isinstance(value, ast.Subscript):
        chosen = any(isinstance(option, Tensor) for option in options(ctx.fact(value.slice)))
        return chosen or is_fresh(value.value, ctx, made, depth)
    if isinstance(value, ast.Attribute):
        return False
    if isinstance(value, ast.Call):
        name = ctx.callee(value).name
        method = name.startswith("torch.Tensor.")
        last = name.rpartition(".")[2]
        if name in _HANDED_ON:
            return False
        if ctx.torch.tags(name) & {"view", "maybe_view"} or (method and last in _SAME):
            own = value.func.value if isinstance(value.func, ast.Attribute) else None
            source = own if method else next(iter(value.args), None)
            return source is not None and is_fresh(source, ctx, made, depth)
    return True
