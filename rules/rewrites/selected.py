"""A loop over the rows that a mask selects → a loop over all rows that asks the mask.

`for i in mask.nonzero().flatten():` turns as often as the data says; `for i in range(n):` with
`if mask[i]:` around the body does the same in the same order, and the test is one that the rewrites
of branches can express.

Declined: indices that are more than an index or compared, masks that the loop writes to, and
selections by several dimensions.
"""

from __future__ import annotations

import ast

from ..base.context import Context
from ..base.finding import Fix
from ..base.reading import tensor_of
from ..base.rewriting import Code, Declined
from ..base.scopes import assignments
from .layout import flat, receiver
from .loop_effects import written

_FLATTENED = frozenset({"flatten", "ravel", "squeeze", "view", "reshape", "tolist", "unbind"})
_READ = ("item",)


def tested(loop: ast.For, name: str, ctx: Context, code: Code) -> Fix:
    """Return the fix that asks the mask at every row. Raises Declined."""
    mask, made = _mask(loop.iter, ctx, code)
    if mask is None:
        raise Declined("how many different entries there are isn't known from the code")
    fact = tensor_of(ctx.fact(mask))
    if fact is not None and fact.rank not in (None, 1):
        raise Declined("the rows are selected in several dimensions")
    body = [node for stmt in loop.body for node in ast.walk(stmt)]
    changes = _numbers(name, body, ctx)
    indent, inner = code.indent(loop), code.indent(loop) + code.step
    lines = []
    if isinstance(mask, ast.Name):
        chosen = mask.id
        if chosen in written(loop, code):
            raise Declined(f"the loop writes to `{chosen}`, which selects the rows")
    else:
        chosen = code.fresh("chosen")
        lines.append(f"{indent}{chosen} = {flat(code.text(mask))}")
    lines += [
        f"{indent}for {name} in range({receiver(chosen)}.shape[0]):",
        f"{inner}if {chosen}[{name}]:",
        *code.block(loop.body, inner + code.step, changes),
    ]
    edits = [code.lines(loop, lines)]
    if made is not None:
        edits.append(code.lines(made, []))
    return code.fix("loop over every row, and ask whether it is selected", edits)


def _mask(node: ast.expr, ctx: Context, code: Code) -> tuple[ast.expr | None, ast.stmt | None]:
    """Return what selects the rows that are looped over, and the statement that this ends."""
    made = None
    if isinstance(node, ast.Name) and len(code.uses(node.id)) == 1:
        found = assignments(node.id, ctx.function)
        if len(found) != 1 or found[0] not in code.block_of(ctx.statement(node)):
            return None, None
        made, node = found[0], found[0].value
    flattened = False
    while isinstance(node, (ast.Call, ast.Subscript)):
        if isinstance(node, ast.Subscript):
            index = ast.unparse(node.slice).strip("()")
            if index not in ("0", ":, 0"):
                return None, None
            flattened, node = True, node.value
            continue
        callee = ctx.callee(node)
        last = callee.name.rpartition(".")[2]
        if last in ("nonzero", "where") and callee.name.startswith("torch."):
            method = callee.receiver is not None and isinstance(node.func, ast.Attribute)
            given = node.func.value if method else ctx.argument(node, 0, "input")  # type: ignore[attr-defined]
            one = method or len(node.args) == 1
            return (given, made) if given is not None and one and flattened else (None, None)
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in _FLATTENED:
            return None, None
        flattened, node = True, node.func.value
    return None, None


def _numbers(name: str, body: list[ast.AST], ctx: Context) -> dict[ast.AST, str]:
    """Return the changes of what reads the index, which is a number now. Raises Declined."""
    changes: dict[ast.AST, str] = {}
    for use in body:
        if not isinstance(use, ast.Name) or use.id != name:
            continue
        if not isinstance(use.ctx, ast.Load):
            raise Declined(f"`{name}` is bound anew in the loop")
        parent = ctx.parent(use)
        holder = ctx.parent(parent) if isinstance(parent, ast.Tuple) else parent
        indexed = isinstance(holder, ast.Subscript) and holder.value is not use
        called = ctx.parent(parent) if isinstance(parent, ast.Attribute) else parent
        if isinstance(called, ast.Call) and _reads_number(called, parent):
            changes[called] = name
        elif not indexed and not isinstance(parent, ast.Compare):
            raise Declined(f"`{name}` is more than an index")
    return changes


def _reads_number(call: ast.Call, parent: ast.AST | None) -> bool:
    if isinstance(parent, ast.Attribute):
        return parent.attr in _READ and not call.args
    return isinstance(call.func, ast.Name) and call.func.id == "int" and len(call.args) == 1


__all__ = ["tested"]
