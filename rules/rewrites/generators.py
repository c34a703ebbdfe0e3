"""A compiled generator function returns a list of what it would have yielded.

Unsafe: callers get a list, and all of it is computed before they see the first value.

Declined: values sent into the generator, `yield from`, `return` before the end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Declined, Fix, Safety
from ..base.scopes import own


def listed(function: ast.FunctionDef, code: Code) -> Iterator[Fix]:
    """Yield the fix that collects in a list what a function yields. Raises Declined."""
    name = code.fresh("results")
    edits = []
    found = 0
    for part in own(function):
        if isinstance(part, (ast.Return, ast.YieldFrom)):
            raise Declined("the generator returns, or yields from another")
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Yield):
            value = "None" if part.value.value is None else code.text(part.value.value)
            edits.append(code.replace(part, f"{name}.append({value})"))
            found += 1
    if found != sum(isinstance(part, ast.Yield) for part in own(function)):
        raise Declined("values are sent into the generator")
    body = function.body
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    if len(body) == documented:
        raise Declined("the generator yields nothing")
    first, last = body[int(documented)], body[-1]
    indent = code.indent(first)
    edits.append(code.insert(first, [f"{indent}{name} = []"], above=True))
    edits.append(code.append(last, [f"{indent}return {name}"]))
    yield code.fix("return a list", edits, Safety.UNSAFE)


__all__ = ["listed"]
