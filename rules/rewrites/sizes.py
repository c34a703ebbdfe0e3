"""Sizes and places that only the data knows → operators of fixed shape.

`x[i]` with a 0-dim tensor gathers one row; `x[s : s + 3]` gathers three; `x[n:] = 0` becomes a
masked write, `x[:n].sum()` a masked reduction; `bincount(minlength=n)` adds ones into n bins;
`new_full` with a tensor is filled in place; `repeat_interleave` gets its `output_size` where a
tensor in sight has as many rows.

Declined: sizes of what is made, since no fixed one is in sight; classes and bins that are counted
from the largest value; `unique`; counts that nothing else tells; picks from Python lists.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base.context import Context
from ..base.facts import Const, ShapeInt, Static, Tensor, options
from ..base.finding import Fix
from ..base.reading import shown, tensor_of
from ..base.rewriting import Code, Declined
from .editing import Changes
from .gathering import is_ellipsis, view_kept
from .layout import operand, receiver
from .masking import masked_slice
from .scalars import cut_off
from .selection import definition, rank_of

_INTEGERS = (Const, Static, ShapeInt)


def filled(given: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """`x.new_full(size, t)` → `x.new_empty(size).fill_(t)`; so for `full_like`."""
    call = ctx.parent(given)
    call = ctx.parent(call) if isinstance(call, ast.keyword) else call
    last = ctx.callee(call).name.rpartition(".")[2] if isinstance(call, ast.Call) else ""
    if last == "select":
        assert isinstance(call, ast.Call)
        yield from _selected(call, given, ctx, code)
        return
    if last not in ("new_full", "full_like") or not isinstance(call, ast.Call):
        raise Declined(f"`{shown(given)}` must be a number there")
    others = [code.text(a) for a in call.args if a is not given]
    others += [f"{k.arg}={code.text(k.value)}" for k in call.keywords if k.value is not given]
    if any(isinstance(arg, ast.Starred) for arg in call.args) or not others:
        raise Declined(f"the size in `{shown(call)}` isn't in sight")
    if last == "new_full":
        if ctx.callee(call).receiver is None or not isinstance(call.func, ast.Attribute):
            raise Declined(f"`{shown(call)}` isn't called on a tensor")
        made = f"{receiver(code.text(call.func.value))}.new_empty"
    else:
        made = code.spell("torch.empty_like")
    fact = tensor_of(ctx.fact(given)) or Tensor()
    cut = cut_off(given, fact, ctx)
    flat = "" if fact.rank == 0 or fact.role else ".reshape(())"
    for suffix in dict.fromkeys((cut,) if fact.role == "" else ("", cut)):
        value = code.text(given)
        value = receiver(value) + flat + suffix if flat or suffix else value
        changes = Changes(ctx, code)
        changes.made[call] = lambda value=value: f"{made}({', '.join(others)}).fill_({value})"
        yield code.fix("fill it with the tensor", changes.edits())


def _selected(call: ast.Call, given: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """`x.select(dim, t)` → one row, gathered."""
    if ctx.callee(call).receiver is None or not isinstance(call.func, ast.Attribute):
        raise Declined(f"`{shown(given)}` must be a number there")
    dim = ctx.argument(call, 0, "dim")
    if dim is None:
        raise Declined(f"the dimension of `{shown(call)}` isn't in sight")
    row = f"{receiver(code.text(given))}.reshape(1)"
    text = f"{receiver(code.text(call.func.value))}.index_select({code.text(dim)}, {row})"
    yield code.fix("gather the one row", [code.replace(call, f"{text}.squeeze({code.text(dim)})")])


def bounded(bound: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """`x[s : s + 3]` → `x[s + torch.arange(3)]`; `x[:n]` → a mask, where that is all the same."""
    part = ctx.parent(bound)
    if not isinstance(part, ast.Slice) or part.step is not None:
        raise Declined(f"`{shown(bound)}` is a step")
    parent = ctx.parent(part)
    item = ctx.parent(parent) if isinstance(parent, ast.Tuple) else parent
    if not isinstance(item, ast.Subscript) or tensor_of(ctx.fact(item.value)) is None:
        raise Declined("a Python sequence is sliced")
    length = _length(part, ctx)
    if length is None:
        yield from masked_slice(item, part, ctx, code)
        return
    others = parent.elts if isinstance(parent, ast.Tuple) else []
    if not all(isinstance(p, ast.Slice) or is_ellipsis(p) for p in others):
        raise Declined(f"`{shown(item)}` has other indices beside")
    view_kept(item, ctx)
    assert part.lower is not None
    arange = code.spell("torch.arange")
    device = f"device={receiver(code.text(item.value))}.device"
    rows = f"{operand(code.text(part.lower))} + {arange}({code.text(length)}, {device})"
    changes = Changes(ctx, code)
    changes.made[part] = lambda: rows
    yield code.fix(f"gather the {shown(length)} rows", changes.edits())


def _length(part: ast.Slice, ctx: Context) -> ast.expr | None:
    """Return c of `s : s + c`, a number that is known while capturing."""
    upper, lower = part.upper, part.lower
    if lower is None or not isinstance(upper, ast.BinOp) or not isinstance(upper.op, ast.Add):
        return None
    for start, length in ((upper.left, upper.right), (upper.right, upper.left)):
        if ast.unparse(start) == ast.unparse(lower):
            if all(isinstance(option, _INTEGERS) for option in options(ctx.fact(length))):
                return length
    return None


def counted(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """`bincount(x, minlength=n)` → ones added into n bins."""
    callee = ctx.callee(call)
    method = callee.receiver is not None and isinstance(call.func, ast.Attribute)
    shift = 1 if method else 0
    size = ctx.argument(call, 2 - shift, "minlength")
    weights = ctx.argument(call, 1 - shift, "weights")
    values = call.func.value if method else ctx.argument(call, 0, "input")  # type: ignore[attr-defined]
    fact = None if size is None else ctx.fact(size)
    if not callee.name.startswith("torch.") or values is None or fact is None:
        raise Declined("the number of bins isn't in sight: pass `minlength=`")
    if not all(isinstance(o, _INTEGERS) and getattr(o, "value", 1) for o in options(fact)):
        raise Declined("the number of bins isn't known while capturing")
    text = receiver(code.text(values))
    if weights is None:
        dtype, ones = code.spell("torch.long"), f"{code.spell('torch.ones_like')}({text})"
    else:
        known = tensor_of(ctx.fact(weights))
        if known is None or known.dtype != "float":
            raise Declined("the dtype of the weights isn't known")
        ones = code.text(weights)
        dtype = f"{receiver(ones)}.dtype"
    assert size is not None
    zeros = f"{code.spell('torch.zeros')}({code.text(size)}, dtype={dtype}, device={text}.device)"
    changes = Changes(ctx, code)
    changes.made[call] = lambda: f"{zeros}.scatter_add_(0, {text}, {ones})"
    yield code.fix(f"add ones into {shown(size, 30)} bins", changes.edits())


def repeated(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """`repeat_interleave(x, counts)` → with `output_size=`, where something has as many rows."""
    if not ctx.callee(call).name.startswith("torch."):
        raise Declined("NumPy's `repeat` has no parameter for the total")
    dim = ctx.argument(call, 1 if ctx.callee(call).receiver is not None else 2, "dim")
    if dim is not None and ast.unparse(dim) != "0":
        raise Declined("what else has as many rows isn't in sight")
    other = next(iter(_as_long(call, ctx)), None)
    if other is None:
        raise Declined("how many rows the counts add up to isn't in sight: pass `output_size=`")
    names = {n.id for n in ast.walk(other) if isinstance(n, ast.Name)}
    if not names <= code.bound_before(ctx.statement(call)):
        raise Declined(f"`{shown(other)}`, which has as many rows, isn't there yet")
    last = call.args[-1] if not call.keywords else call.keywords[-1].value
    text = f"{code.text(last)}, output_size={receiver(code.text(other))}.shape[0]"
    changes = Changes(ctx, code)
    changes.made[last] = lambda: text
    yield code.fix(f"as many rows as `{shown(other, 40)}` has", changes.edits())


def _as_long(node: ast.expr, ctx: Context, depth: int = 0) -> Iterator[ast.expr]:
    """Yield tensors that stand beside an expression where both have as many rows."""
    parent = ctx.parent(node)
    if depth > 4:
        return
    if isinstance(parent, ast.BinOp) and not isinstance(parent.op, ast.MatMult):
        other = parent.right if parent.left is node else parent.left
        fact = tensor_of(ctx.fact(other))
        if fact is not None and fact.rank != 0 and not fact.ragged and _plain(other):
            yield other
    elif isinstance(parent, ast.Subscript) and parent.slice is node:
        yield from _as_long(parent, ctx, depth + 1)
    elif isinstance(parent, ast.Call) and node in parent.args[1:]:
        name = ctx.callee(parent).name.rpartition(".")[2]
        if name in ("index_add", "index_add_", "scatter_add", "scatter_add_", "index_copy"):
            if _plain(parent.args[-1]) and rank_of(parent.args[-1], ctx) != 0:
                yield parent.args[-1]
    elif isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        if isinstance(target, ast.Name) and definition(target.id, ctx) is parent:
            for use in ctx.inside(ctx.function):
                if isinstance(use, ast.Name) and use.id == target.id and use is not target:
                    yield from _as_long(use, ctx, depth + 1)


def _plain(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute))
