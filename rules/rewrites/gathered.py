"""Rows that `slot, tok = torch.where(mask)` gathers, weighed and added up: the same over all rows.

`out.index_add_(0, tok, f(x[tok]) * w[tok, slot, None])`, or `out[tok] += …`, adds `f(x)` times the
weight that the mask leaves of `w`. The names are those of a mixture of experts: `mask` says for
every slot which rows chose it (or, with `tok, slot = torch.where(mask)`, for every row which
slots), and a row chooses an expert in one slot at most.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from ..base.context import Context
from ..base.finding import Fix
from ..base.reading import tensor_of
from ..base.rewriting import Code
from .layout import flat, receiver, statement


@dataclass(frozen=True, slots=True)
class Gathered:
    """A round that gathers rows.

    made     the statement that makes the indices, and `mask`, what it reads; `across` says that
             rows are its second dimension
    weight   what is read by both indices
    rows     reads `x[tok]` and `w[tok, slot]`, and `sums`, the statements that add up
    """

    body: tuple[ast.stmt, ...]
    made: ast.stmt
    mask: ast.expr
    across: bool
    weight: ast.expr
    rows: tuple[ast.Subscript, ...]
    weights: tuple[ast.Subscript, ...]
    sums: tuple[tuple[ast.stmt, str, ast.expr], ...]
    ctx: Context

    def lines(self, indent: str, changes: Mapping[ast.AST, str], code: Code) -> list[str]:
        """Return the lines of the round over all rows."""
        inner = {n: text for n, text in changes.items() if any(n is m for m in ast.walk(self.mask))}
        mask = inner.get(self.mask) or flat(code.text(self.mask, inner))
        gate = code.fresh("gate")
        weight = flat(code.text(self.weight))
        where = code.spell("torch.where")
        chosen = f"{receiver(mask)}.t()" if self.across else mask
        if not isinstance(self.mask, ast.Compare):
            chosen = f"{chosen if self.across else receiver(mask)} > 0"
        text = f"{where}({chosen}, {weight}, 0).sum(-1, keepdim=True)"
        mine = {n: t for n, t in changes.items() if n not in inner}
        for read in self.rows:
            base = receiver(flat(code.text(read.value)))
            mine[read] = f"{base}[None]" if isinstance(read.slice, ast.Tuple) else base
        for read in self.weights:
            kept = isinstance(read.slice, ast.Tuple) and len(read.slice.elts) == 3
            grown = _unsqueezed(read, self.ctx)
            mine[grown or read] = gate if kept or grown else f"{gate}.squeeze(-1)"
        for stmt, target, value in self.sums:
            within = {n: t for n, t in mine.items() if any(n is m for m in ast.walk(value))}
            mine = {n: t for n, t in mine.items() if n not in within}
            added = within.get(value) or flat(code.text(value, within))
            mine[stmt] = f"{target} += {added}"
        place = self.body.index(self.made)
        lines = code.block(self.body[:place], indent, _of(self.body[:place], mine)) if place else []
        lines += statement(f"{gate} = ", text, indent, code.width, code.step)
        rest = self.body[place + 1 :]
        return [*lines, *code.block(rest, indent, _of(rest, mine))]


def _of(body: tuple[ast.stmt, ...], changes: Mapping[ast.AST, str]) -> dict[ast.AST, str]:
    nodes = {node for stmt in body for node in ast.walk(stmt)}
    return {node: text for node, text in changes.items() if node in nodes}


def gathered(loop: ast.For, ctx: Context, code: Code) -> Gathered | None:
    """Return how a round gathers rows, None where it does something else."""
    for stmt in loop.body:
        names = _indices(stmt, ctx)
        if names is None:
            continue
        assert isinstance(stmt, ast.Assign)
        assert isinstance(stmt.value, ast.Call)
        mask, (one, two) = stmt.value.args[0], names
        return _read(loop, stmt, mask, names, True, ctx, code) or _read(
            loop, stmt, mask, (two, one), False, ctx, code
        )
    return None


def gathered_fix(call: ast.Call, ctx: Context, code: Code) -> Fix | None:
    """Return the fix for a `for` loop whose rounds gather rows, None for other uses of indices."""
    loop = ctx.loop(call)
    if not isinstance(loop, ast.For) or ctx.parent(ctx.statement(call)) is not loop:
        return None
    if tensor_of(ctx.fact(loop.iter)) is not None:
        return None  # how often it turns depends on data, too: that comes first
    dense = gathered(loop, ctx, code)
    if dense is None or dense.made is not ctx.statement(call):
        return None
    first, last = loop.body[0], loop.body[-1]
    lines = dense.lines(code.indent(first), {}, code)
    title = "compute every row, with a weight of zero for those not chosen"
    return code.fix(title, [code.lines(first, lines, last)])


def _unsqueezed(read: ast.expr, ctx: Context) -> ast.Call | None:
    """Return the `read.unsqueeze(-1)` around an expression, None where there is none."""
    outer = ctx.parent(read)
    call = ctx.parent(outer) if isinstance(outer, ast.Attribute) else None
    if isinstance(call, ast.Call) and isinstance(outer, ast.Attribute) and call.func is outer:
        if outer.attr == "unsqueeze" and [ast.unparse(a) for a in call.args] == ["-1"]:
            return call
    return None


def _indices(stmt: ast.stmt, ctx: Context) -> tuple[str, str] | None:
    """Return (slot, tok) of `slot, tok = torch.where(mask)`."""
    if not (isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Call)):
        return None
    target = stmt.targets[0]
    if ctx.callee(stmt.value).name != "torch.where" or len(stmt.value.args) != 1:
        return None
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        slot, tok = target.elts
        if isinstance(slot, ast.Name) and isinstance(tok, ast.Name):
            return slot.id, tok.id
    return None


def _read(
    loop: ast.For,
    made: ast.stmt,
    mask: ast.expr,
    names: tuple[str, str],
    across: bool,
    ctx: Context,
    code: Code,
) -> Gathered | None:
    slot, tok = names
    rows: list[ast.Subscript] = []
    weights: list[ast.Subscript] = []
    sums: list[tuple[ast.stmt, str, ast.expr]] = []
    for stmt in loop.body:
        for node in ast.walk(stmt):
            if stmt is made or not isinstance(node, ast.Name) or node.id not in names:
                continue
            parent = ctx.parent(node)
            holder = ctx.parent(parent) if isinstance(parent, ast.Tuple) else parent
            if isinstance(holder, ast.Subscript) and isinstance(holder.ctx, ast.Load):
                index = holder.slice
                text = [ast.unparse(part) for part in getattr(index, "elts", [index])]
                if text in ([tok], ["None", tok]):
                    rows.append(holder)
                elif text in ([tok, slot], [tok, slot, "None"]):
                    if holder not in weights:
                        weights.append(holder)
                else:
                    return None
                continue
            added = _added(stmt, node, ctx, code)
            if added is None:
                return None
            sums.append(added)
    held = {ast.unparse(read.value) for read in weights}
    if len(held) != 1 or not rows or len(sums) != 1 or slot in code.live_after(loop):
        return None
    body = tuple(loop.body)
    weight = weights[0].value
    reads = (tuple(rows), tuple(weights), tuple(sums))
    return Gathered(body, made, mask, across, weight, *reads, ctx)


def _added(
    stmt: ast.stmt, index: ast.Name, ctx: Context, code: Code
) -> tuple[ast.stmt, str, ast.expr] | None:
    """Return (statement, target, what is added) of `out.index_add_(0, tok, y)`, `out[tok] += y`."""
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.op, ast.Add):
        target = stmt.target
        if isinstance(target, ast.Subscript) and target.slice is index:
            return stmt, flat(code.text(target.value)), stmt.value
    if not (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call)):
        return None
    call = stmt.value
    dim, value = ctx.argument(call, 0, "dim"), ctx.argument(call, 2, "source")
    plain = isinstance(call.func, ast.Attribute) and call.func.attr == "index_add_"
    if not plain or dim is None or ast.unparse(dim) != "0" or value is None or len(call.args) != 3:
        return None
    if call.args[1] is not index or not isinstance(call.func, ast.Attribute):
        return None
    return stmt, flat(code.text(call.func.value)), value
