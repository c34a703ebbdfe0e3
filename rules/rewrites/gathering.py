"""One index that is a 0-dim tensor → a gather of one row, which stays in the graph.

A list of tensors that Python picks from by such an index is stacked first.

Declined: other indices beside it that aren't slices, writes whose values would no longer fit.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from ..base.context import Context
from ..base.facts import Const, Fact, Instance, Sequence, ShapeInt, Static, Tensor, options
from ..base.finding import Fix
from ..base.reading import shown, tensor_of
from ..base.rewriting import Code, Declined
from ..base.scopes import root
from .editing import Changes
from .layout import receiver
from .selection import written_in_place


def element(part: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """`x[i]` with a 0-dim tensor → `x[i.unsqueeze(0)].squeeze(0)`."""
    changes = Changes(ctx, code)
    gather(part, changes, lambda: f"{receiver(code.text(part))}.unsqueeze(0)")
    yield code.fix(f"gather what `{shown(part, 40)}` points at", changes.edits())


def gather(part: ast.expr, changes: Changes, index: Callable[[], str]) -> None:
    """Turn one index of a tensor into a tensor of one index. Raises Declined."""
    ctx = changes.ctx
    for loop in ctx.ancestors(part):
        rows = tensor_of(ctx.fact(loop.iter)) if isinstance(loop, ast.For) else None
        if rows is not None and rows.ragged:
            raise Declined("the loop around it turns as often as the data says")
    parent = ctx.parent(part)
    among = parent.elts if isinstance(parent, ast.Tuple) else [part]
    item = ctx.parent(parent) if isinstance(parent, ast.Tuple) else parent
    if not isinstance(item, ast.Subscript) or tensor_of(ctx.fact(item.value)) is None:
        raise Declined(f"`{shown(part)}` isn't an index of a tensor")
    others = [p for p in among if p is not part]
    if not all(isinstance(p, ast.Slice) or is_ellipsis(p) for p in others):
        raise Declined(f"`{shown(item)}` has other indices beside")
    place = among.index(part)
    if any(is_ellipsis(p) for p in among[:place]):
        place -= len(among)
    view_kept(item, ctx)
    changes.made[part] = index
    holder = ctx.parent(item)
    if isinstance(item.ctx, ast.Load):
        changes.made[item] = lambda: f"{changes.inner(item)}.squeeze({place})"
    elif isinstance(item.ctx, ast.Store):
        value = holder.value if isinstance(holder, (ast.Assign, ast.AugAssign)) else None
        if value is None or (place != 0 and not _is_scalar(ctx.fact(value))):
            raise Declined(f"`{shown(item)}` takes values of another shape")
    else:
        raise Declined(f"`{shown(item)}` is deleted")


def picked(index: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """`parts[int(i)]` of a list of tensors → `torch.stack(parts)[i.reshape(1)].squeeze(0)`."""
    item = ctx.parent(index)
    if not isinstance(item, ast.Subscript) or item.slice is not index:
        raise Declined("Python picks several, or writes")
    held = options(ctx.fact(item.value))
    if any(isinstance(o, Instance) for o in held):
        raise Declined("Python picks what runs: run them all and pick, or use `torch.cond`")
    lists = [o for o in held if isinstance(o, Sequence)]
    if len(lists) != len(held) or not all(isinstance(o.element(), Tensor) for o in lists):
        raise Declined("Python must pick it: what it picks from doesn't hold tensors only")
    source = read_from(index, ctx)
    if source is None or not isinstance(item.ctx, ast.Load):
        raise Declined(f"the tensor that `{shown(index)}` was read from isn't in sight")
    changes = Changes(ctx, code)
    stack = code.spell("torch.stack")
    place = f"[{receiver(code.text(source))}.reshape(1)].squeeze(0)"
    changes.made[item] = lambda: f"{stack}({code.text(item.value)}){place}"
    yield code.fix(f"stack `{shown(item.value, 40)}`, and gather from it", changes.edits())


def read_from(index: ast.expr, ctx: Context) -> ast.expr | None:
    """Return the tensor of one element that an index is, or that `int(t)`, `t.item()` read."""
    if tensor_of(ctx.fact(index)) is not None:
        return index
    if not isinstance(index, ast.Call):
        return None
    name, source = ctx.callee(index).name, None
    if name == "torch.Tensor.item" and isinstance(index.func, ast.Attribute) and not index.args:
        source = index.func.value
    elif name == "builtins.int" and len(index.args) == 1:
        (source,) = index.args
    return source if source is not None and tensor_of(ctx.fact(source)) is not None else None


def is_ellipsis(node: ast.expr) -> bool:
    """Say whether an index is `...`."""
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _is_scalar(fact: Fact) -> bool:
    return all(
        isinstance(o, (Const, Static, ShapeInt)) or (isinstance(o, Tensor) and o.rank == 0)
        for o in options(fact)
    )


def view_kept(item: ast.Subscript, ctx: Context) -> None:
    """Raise Declined where a view is named, and it or its tensor is written in place."""
    holder = ctx.parent(item)
    if isinstance(item.ctx, ast.Load) and isinstance(holder, ast.Assign):
        names = [root(item.value), *(root(target) for target in holder.targets)]
        for name in names:
            if written_in_place(name, item, ctx):
                raise Declined(f"`{shown(item)}` is a view, and `{name}` is written in place")
