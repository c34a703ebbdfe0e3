"""A tensor that `torch.cat` lengthens at every turn of a loop → a list, joined once behind it.

Declined: what the loop reads besides, tensors that aren't bound before it, joints that put the new
part in front, loops with an `else`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base.context import Context
from ..base.finding import Fix
from ..base.rewriting import Code, Declined
from .layout import flat, statement


def joined_once(stmt: ast.Assign, call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that gathers the parts of `acc = torch.cat([acc, part], dim)` in a list."""
    loop = ctx.loop(stmt)
    (target,) = stmt.targets
    parts = call.args[0]
    if not isinstance(target, ast.Name) or not isinstance(loop, (ast.For, ast.While)):
        raise Declined("what grows isn't a variable of a loop")
    name = target.id
    if not isinstance(parts, (ast.List, ast.Tuple)) or ast.unparse(parts.elts[0]) != name:
        raise Declined("the new part comes first")
    if loop.orelse or ctx.loop(loop) is not None:
        raise Declined("the loop stands in another one, or has an `else`")
    if name not in code.bound_before(loop):
        raise Declined(f"`{name}` isn't bound before the loop")
    mentions = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
    new = parts.elts[1:]
    if len(mentions) != 2 or not new or any(isinstance(p, ast.Starred) for p in parts.elts):
        raise Declined(f"the loop reads `{name}` besides")
    if any(isinstance(n, (ast.Return, ast.Yield)) for n in ast.walk(loop)):
        raise Declined("the loop may return from inside")
    gathered = code.fresh(f"{name}_parts")
    indent, inner = code.indent(loop), code.indent(stmt)
    lines = []
    for part in new:
        text = f"{gathered}.append({flat(code.text(part))})"
        lines += statement("", text, inner, code.width, code.step)
    rest = [*call.args[1:], *call.keywords]
    given = ", ".join([gathered, *(flat(code.text(argument)) for argument in rest)])
    joint = f"{code.text(call.func)}({given})"
    edits = [
        code.insert(loop, [f"{indent}{gathered} = [{name}]"], above=True),
        code.lines(stmt, lines),
        code.append(loop, statement(f"{name} = ", joint, indent, code.width, code.step)),
    ]
    yield code.fix(f"gather the parts of `{name}`, and join them once", edits)


__all__ = ["joined_once"]
