"""Boolean-mask reads and writes → code of fixed shape: `torch.where` over the whole.

`x[m] *= v`, `x[m] = f(x[m])` → `torch.where(m, f(x), x)`; `x[m].sum()`, `.mean()`, `.max()`,
`F.mse_loss(a[m], b[m])`, `len(x[m])` → masked reductions; `out.index_add(0, i[m], v[m])` adds zeros
elsewhere. The tensor is rebound where it belongs to the function alone, else written in place.

Each comes in the forms that ranks allow (`m`, `m[..., None]`), and where a function is not defined
everywhere (`log`, `/`) its operands are made harmless outside of the mask, or gradients would be
NaN. Declined: selections that leave as they are, masks among other indices, code that mixes rows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base.context import Context
from ..base.facts import Const, Static, options
from ..base.finding import Fix
from ..base.reading import shown
from ..base.rewriting import Code, Declined
from .endings import Masking, key_of
from .layout import operand, receiver
from .selection import keyword, rank_of


def masked_read(read: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """Rewrite what is read by a mask, `x[mask]` or `masked_select`, with all that hangs on it."""
    if isinstance(read, ast.Subscript):
        mask = read.slice
    else:
        assert isinstance(read, ast.Call)
        given = [*read.args, *(k.value for k in read.keywords)]
        if not given:
            raise Declined(f"`{shown(read)}` has no mask in sight")
        mask = given[-1]
    if isinstance(mask, ast.Tuple):
        raise Declined("the mask stands among other indices")
    yield from Masking(mask, frozenset({key_of(mask)}), ctx, code).fixes([read])


def masked_update(target: ast.Subscript, ctx: Context, code: Code) -> Iterator[Fix]:
    """Rewrite `x[mask] op= value`."""
    if isinstance(target.slice, ast.Tuple):
        raise Declined("the mask stands among other indices")
    masking = Masking(target.slice, frozenset({key_of(target.slice)}), ctx, code)
    stmt = ctx.statement(target)
    assert isinstance(stmt, ast.AugAssign)
    reads = [n for n in ast.walk(stmt.value) if masking.selection.base(n) is not None]
    masking.selection.ends[stmt] = stmt.value
    masking.selection.read_named(stmt.value)
    yield from masking.fixes([n for n in reads if isinstance(n, ast.expr)])


def masked_indices(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Rewrite `idx = torch.where(mask)[0]` or `mask.nonzero()…` with all that is indexed by it."""
    mask = call.func.value if ctx.callee(call).receiver is not None else call.args[0]  # type: ignore[attr-defined]
    stmt, names = _indices(call, ctx)
    masking = Masking(mask, frozenset({", ".join(names)}), ctx, code)
    reads: list[ast.expr] = []
    inside = set(ctx.inside(ctx.function))
    for name in names:
        if sum(isinstance(n, ast.Name) and n.id == name for n in inside) == 1:
            raise Declined(f"`{name}` isn't used")
        for use in code.uses(name):
            holder = ctx.parent(use)
            if isinstance(holder, ast.Tuple):
                holder = ctx.parent(holder)
            if use not in inside:
                raise Declined(f"`{name}` is used by a function inside")
            if isinstance(holder, ast.Subscript) and masking.selection.keyed(holder.slice):
                if isinstance(holder.ctx, ast.Load):
                    reads.append(holder)
            elif not _adds_at(holder, use, ctx):
                raise Declined(f"`{name}` is more than an index, in `{shown(holder or use)}`")
    if not reads:
        raise Declined("the indices don't only read what is reduced or stored")
    masking.removed = stmt
    yield from masking.fixes(reads)


def masked_slice(item: ast.Subscript, part: ast.Slice, ctx: Context, code: Code) -> Iterator[Fix]:
    """Rewrite `x[:n]` or `x[n:]` of a tensor's first rows that are reduced or written."""
    parent = ctx.parent(part)
    among = parent.elts if isinstance(parent, ast.Tuple) else [part]
    place = among.index(part)
    plain = all(isinstance(p, ast.Slice) and not (p.lower or p.upper) for p in among[:place])
    if not plain or place != len(among) - 1 or (place and isinstance(item.ctx, ast.Load)):
        raise Declined(f"`{shown(item)}` has other indices beside")
    base = receiver(code.text(item.value))
    rows = f"{code.spell('torch.arange')}({base}.shape[{place}], device={base}.device)"
    bounds = [(b, op) for b, op in ((part.lower, ">="), (part.upper, "<")) if b is not None]
    if len(bounds) != 1:
        raise Declined(f"how long `{shown(item)}` is isn't in sight")
    bound, op = bounds[0]
    compared: ast.cmpop = ast.Lt() if op == "<" else ast.GtE()
    mask = ast.Compare(ast.Name("row", ast.Load()), [compared], [bound])
    masking = Masking(mask, frozenset({key_of(item.slice)}), ctx, code, mask_rank=place + 1)
    masking.mask_text = f"{rows} {op} {operand(code.text(bound))}"
    masking.behind = place == 0 and rank_of(item.value, ctx) is None
    if isinstance(item.ctx, ast.Load):
        yield from masking.fixes([item])
        return
    stmt = ctx.statement(item)
    if not isinstance(stmt, (ast.Assign, ast.AugAssign)):
        raise Declined(f"`{shown(item)}` is deleted")
    values = options(ctx.fact(stmt.value))
    if not all(isinstance(v, (Const, Static)) or getattr(v, "rank", 1) == 0 for v in values):
        raise Declined(f"`{shown(item)}` is given as many rows as the data says")
    masking.selection.ends[stmt] = stmt.value
    yield from masking.fixes([])


def _indices(call: ast.Call, ctx: Context) -> tuple[ast.Assign, list[str]]:
    """Return the statement that names the indices of a mask's true elements, and the names."""
    one_row = ctx.callee(call).name.rpartition(".")[2] == "where" or keyword(call, "as_tuple")
    node: ast.expr = call
    parent = ctx.parent(node)
    picked = False
    if isinstance(parent, ast.Subscript) and one_row and ast.unparse(parent.slice) == "0":
        node, picked = parent, True
    elif isinstance(parent, ast.Attribute) and parent.attr in ("squeeze", "flatten", "view"):
        outer = ctx.parent(parent)
        if isinstance(outer, ast.Call) and not one_row:
            node, picked = outer, True
    elif isinstance(parent, ast.Subscript) and not one_row:
        if ast.unparse(parent.slice).strip("()") == ":, 0":
            node, picked = parent, True
    stmt = ctx.parent(node)
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
        target = stmt.targets[0]
        if (picked or one_row) and isinstance(target, ast.Name):
            names = [target.id]  # of a tuple: all indices at once
        elif one_row and isinstance(target, ast.Tuple):
            names = [e.id for e in target.elts if isinstance(e, ast.Name)]
        else:
            names = []
        if names and all(_bound_once(name, stmt, ctx) for name in names):
            return stmt, names
    raise Declined("where the indices go isn't in sight")


def _bound_once(name: str, stmt: ast.Assign, ctx: Context) -> bool:
    stores = [
        node
        for node in ctx.inside(ctx.function)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    return len(stores) == 1 and ctx.statement(stores[0]) is stmt


def _adds_at(holder: ast.AST | None, use: ast.expr, ctx: Context) -> bool:
    """`out.index_add(0, idx, …)`: the index of an end that is found from its source."""
    name = ctx.callee(holder).name.rpartition(".")[2] if isinstance(holder, ast.Call) else ""
    return name in ("index_add", "index_add_") and len(holder.args) > 1 and holder.args[1] is use  # type: ignore[union-attr]
