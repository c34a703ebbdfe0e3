"""A host sync that a loop repeats, though it always gives the same → once, before the loop.

Declined (None): what it reads is assigned or written in the loop, or reading it does more.
"""

from __future__ import annotations

import ast

from ..base.context import Context
from ..base.finding import Fix
from ..base.reading import shown
from ..base.rewriting import Code
from ..base.scopes import dotted, root
from .selection import definition


def hoisted(call: ast.Call, ctx: Context, code: Code) -> Fix | None:
    """Return the fix that moves an invariant call before the innermost loop around it."""
    loop = ctx.loop(call)
    if loop is None or not _invariant(call, loop, ctx) or not code.effects([call]).pure:
        return None
    title = f"read `{shown(call, 40)}` once, before the loop"
    indent, stmt = code.indent(loop), ctx.statement(call)
    alone = isinstance(stmt, ast.Assign) and stmt.value is call and len(stmt.targets) == 1
    if alone and isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Name):
        name = stmt.targets[0].id
        if definition(name, ctx) is stmt and len(code.block_of(stmt)) > 1:
            moved = code.insert(loop, code.block([stmt], indent))
            return code.fix(title, [moved, code.lines(stmt, [])])
    name = code.fresh(_name(call))
    made = code.insert(loop, [f"{indent}{name} = {code.text(call)}"])
    return code.fix(title, [made, code.replace(call, name)])


def _invariant(call: ast.Call, loop: ast.For | ast.While, ctx: Context) -> bool:
    """Say whether nothing that the call reads changes in the loop."""
    inside = [*ctx.inside(loop), *ast.walk(loop.target if isinstance(loop, ast.For) else loop.test)]
    names = {n.id for n in ast.walk(call) if isinstance(n, ast.Name)}
    paths = {dotted(n) for n in ast.walk(call) if isinstance(n, ast.Attribute)}
    if isinstance(loop, ast.While) and call in ast.walk(loop.test):
        return False
    for node in inside:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if node.id in names:
                return False
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            if not isinstance(node.ctx, ast.Load) and (
                root(node) in names or dotted(node) in paths
            ):
                return False
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            in_place = node.func.attr.endswith("_") and not node.func.attr.endswith("__")
            if in_place and root(node.func.value) in names:
                return False
    return True


def _name(call: ast.Call) -> str:
    """`self.scale.item()` gives "scale_value", `lengths.max().item()` "lengths_max"."""
    node: ast.expr = call.args[0] if call.args else call.func
    if not call.args and isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        base = root(node.func.value)
        return f"{base}_{node.func.attr}" if base else "value"
    if isinstance(node, ast.Attribute):
        return f"{node.attr}_value"
    return f"{node.id}_value" if isinstance(node, ast.Name) else "value"
