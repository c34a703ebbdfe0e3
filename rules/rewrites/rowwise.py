"""A loop over `range(x.shape[0])` that only reads `x[i]` → a loop over the rows of `x`.

A step on the way to the vectorised form, which loops over rows are rewritten to.

Declined: an index that does more than pick whole rows, tensors that the loop writes to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base.context import Context
from ..base.finding import Fix
from ..base.reading import shown, tensor_of
from ..base.rewriting import Code, Declined
from ..base.scopes import dotted
from .loop_effects import written


def rows_read(source: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix for the loop, or the comprehension, that a `range` belongs to."""
    turned: ast.AST | None = source
    while turned is not None and not isinstance(turned, (ast.For, ast.comprehension)):
        turned = ctx.parent(turned)
    if not isinstance(turned, (ast.For, ast.comprehension)):
        raise Declined("the loop isn't in sight")
    owner = turned if isinstance(turned, ast.For) else ctx.parent(turned)
    counted = _counted(turned.iter, ctx)
    if counted is None or not isinstance(turned.target, ast.Name) or owner is None:
        raise Declined(f"`{shown(turned.iter)}` isn't the number of a tensor's rows")
    name = turned.target.id
    reads: dict[str, list[ast.Subscript]] = {counted: []}
    for use in ast.walk(owner):
        if not isinstance(use, ast.Name) or use.id != name or use is turned.target:
            continue
        item = ctx.parent(use)
        path = dotted(item.value) if isinstance(item, ast.Subscript) else ""
        if not path or not isinstance(item, ast.Subscript) or item.slice is not use:
            raise Declined(f"`{name}` does more than pick rows")
        if not isinstance(item.ctx, ast.Load) or tensor_of(ctx.fact(item.value)) is None:
            raise Declined(f"`{shown(item)}` isn't known to be a row that is read")
        reads.setdefault(path, []).append(item)
    if isinstance(owner, ast.For):
        touched = written(owner, code)
        for path in reads:
            if path.partition(".")[0] in touched:
                raise Declined(f"the loop writes to `{path}`")
        if name in code.live_after(owner):
            raise Declined(f"`{name}` is read behind the loop")
    used = [path for path, items in reads.items() if items]
    if counted not in used:
        raise Declined(f"`{name}` doesn't pick rows of `{counted}`")
    rows = {path: code.fresh(_row(path)) for path in used}
    edits = [code.replace(item, rows[path]) for path in used for item in reads[path]]
    joined = ", ".join(rows.values())
    whole = used[0] if len(used) == 1 else f"zip({', '.join(used)})"
    edits += [code.replace(turned.target, joined), code.replace(turned.iter, whole)]
    yield code.fix(f"loop over the rows of `{counted}`", edits)


def _counted(iterable: ast.expr, ctx: Context) -> str | None:
    """Return x of `range(x.shape[0])`, `range(len(x))` or `range(x.size(0))`, a tensor."""
    if not isinstance(iterable, ast.Call) or ctx.callee(iterable).name != "builtins.range":
        return None
    if len(iterable.args) != 1:
        return None
    (count,) = iterable.args
    base: ast.expr | None = None
    if isinstance(count, ast.Subscript) and isinstance(count.value, ast.Attribute):
        if count.value.attr == "shape" and ast.unparse(count.slice) == "0":
            base = count.value.value
    elif isinstance(count, ast.Call) and len(count.args) == 1 and not count.keywords:
        if isinstance(count.func, ast.Attribute) and count.func.attr == "size":
            base = count.func.value if ast.unparse(count.args[0]) == "0" else None
        elif ctx.callee(count).name == "builtins.len":
            base = count.args[0]
    if base is None or tensor_of(ctx.fact(base)) is None:
        return None
    return dotted(base) or None


def _row(path: str) -> str:
    """Return a name for a row: "token" for `tokens`, else "row"."""
    last = path.rpartition(".")[2]
    return last[:-1] if len(last) > 3 and last.endswith("s") and not last.endswith("ss") else "row"


__all__ = ["rows_read"]
