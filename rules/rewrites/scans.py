"""Loops over rows whose results are stacked → the same over all rows, `cumsum`, or `scan`.

`out.append(row * 2)` and `torch.stack(out)` become `x * 2` where the body is elementwise (or ends
in a reduction of the row); a running sum becomes `cumsum`; what else goes from row to row is
carried by `torch._higher_order_ops.scan`, which keeps one copy of the body in the graph.

Declined: lists that are used otherwise, numbers and lists that are carried, bodies that do more
than compute values, and, without a carry, bodies that aren't elementwise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..base.context import Context
from ..base.facts import Const, Instance, options
from ..base.finding import Fix
from ..base.reading import tensor_of
from ..base.rewriting import Code, Declined
from .carries import Loop, assigned, carries
from .jumps import needs_space
from .layout import flat, operand, receiver, statement
from .loop_effects import check_body
from .rounds import Round

_ROWWISE = frozenset({"Linear", "LayerNorm", "ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Identity"})
_REDUCTIONS = {"sum": "sum", "mean": "mean", "norm": "norm", "max": "amax", "min": "amin"}


@dataclass(frozen=True, slots=True)
class _Stacked:
    """A loop that fills a list which is stacked behind it.

    made   `out = []`, `call`, the `torch.stack(out)`, and `value`, what every round appends
    row    the name of a row, and `rows`, the tensor
    """

    loop: ast.For
    made: ast.Assign
    call: ast.Call
    value: ast.expr
    row: str
    rows: ast.expr


def stack_fixes(node: ast.AST, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the rewrites of a loop or comprehension whose rows are stacked. Raises Declined."""
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        yield _comprehension(node, ctx, code)
        return
    if not isinstance(node, ast.For):
        raise Declined("the rows aren't looped over plainly")
    found = _stacked(node, ctx, code)
    body = tuple(node.body[:-1])
    loop = Loop(node, body)
    check_body(loop, ctx, code)
    inner = Loop(node, (*body, found.value))
    carried = carries(inner, ctx, code, frozenset({found.row}))
    if not carried:
        yield _at_once(found, ctx, code)
        return
    if any(carry.number for carry in carried):
        raise Declined("a number goes from row to row")
    sums = _running_sum(found, carried[0].name, ctx, code.anew()) if len(carried) == 1 else None
    if sums is not None:
        yield sums
    yield _scan(found, inner, [c.name for c in carried], ctx, code)


def _stacked(loop: ast.For, ctx: Context, code: Code) -> _Stacked:
    last = loop.body[-1]
    call = last.value if isinstance(last, ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        raise Declined("a round doesn't end with the row that it appends")
    held = call.func.value
    if call.func.attr != "append" or not isinstance(held, ast.Name) or len(call.args) != 1:
        raise Declined("a round doesn't end with the row that it appends")
    if not isinstance(loop.target, ast.Name) or loop.orelse:
        raise Declined("the rows aren't looped over plainly")
    if tensor_of(ctx.fact(loop.iter)) is None:
        raise Declined("what is looped over isn't one tensor")
    if loop.target.id in code.live_after(loop):
        raise Declined(f"`{loop.target.id}` is read behind the loop")
    uses = [use for use in code.uses(held.id) if use is not held]
    joins = [ctx.parent(use) for use in uses]
    join = joins[0] if len(joins) == 1 else None
    if not isinstance(join, ast.Call) or not _joins(join, ctx) or join.lineno < loop.lineno:
        raise Declined(f"`{held.id}` is used otherwise than stacked once")
    made = [
        node
        for node in code.block_of(loop)
        if isinstance(node, ast.Assign) and ast.unparse(node) == f"{held.id} = []"
    ]
    if len(made) != 1 or made[0].lineno > loop.lineno:
        raise Declined(f"`{held.id}` isn't empty before the loop")
    return _Stacked(loop, made[0], join, call.args[0], loop.target.id, loop.iter)


def _joins(call: ast.Call, ctx: Context) -> bool:
    """Say whether a call is `torch.stack(…)` along the first dimension."""
    dim = ctx.argument(call, 1, "dim")
    first = dim is None or (isinstance(ctx.fact(dim), Const) and ast.unparse(dim) == "0")
    return ctx.callee(call).name == "torch.stack" and first


# -- all rows at once ----------------------------------------------------------------------------


def _comprehension(node: ast.ListComp | ast.GeneratorExp, ctx: Context, code: Code) -> Fix:
    call = ctx.parent(node)
    loop = node.generators[0]
    if not (isinstance(call, ast.Call) and _joins(call, ctx) and isinstance(loop.target, ast.Name)):
        raise Declined("the rows aren't stacked along the first dimension")
    if tensor_of(ctx.fact(loop.iter)) is None or loop.ifs:
        raise Declined("what is looped over isn't one tensor")
    rows = flat(code.text(loop.iter))
    text = _Rows({loop.target.id: rows}, ctx, code).text(node.elt)
    return code.fix("compute all rows at once", [code.replace(call, _placed(text, call, ctx))])


def _placed(text: str, call: ast.Call, ctx: Context) -> str:
    parent = ctx.parent(call)
    if isinstance(parent, (ast.Attribute, ast.Subscript)):
        return receiver(text)
    return operand(text) if isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare)) else text


def _at_once(found: _Stacked, ctx: Context, code: Code) -> Fix:
    indent = code.indent(found.loop)
    rows = _Rows({found.row: flat(code.text(found.rows))}, ctx, code)
    lines: list[str] = []
    for stmt in found.loop.body[:-1]:
        if not isinstance(stmt, ast.Assign) or not isinstance(stmt.targets[0], ast.Name):
            raise Declined("the body is more than assignments")
        name = stmt.targets[0].id
        if name in code.live_after(found.loop) or len(list(assigned(name, found.loop.body))) > 1:
            raise Declined(f"`{name}` is more than one row's value")
        lines += statement(f"{name} = ", rows.text(stmt.value), indent, code.width, code.step)
        rows.names[name] = name
    text = rows.text(found.value)
    edits = [code.lines(found.made, [])]
    if lines:
        edits.append(code.lines(found.loop, lines))
    else:
        edits.append(code.lines(found.loop, []))
    edits.append(code.replace(found.call, _placed(text, found.call, ctx)))
    return code.fix("compute all rows at once", edits)


@dataclass
class _Rows:
    """Writes expressions of one row for all rows. `names` maps what stands for a row."""

    names: dict[str, str]
    ctx: Context
    code: Code

    def text(self, node: ast.expr) -> str:
        """Return an expression of a row as one of all rows. Raises Declined."""
        if self._reduction(node):
            return self._reduced(node, "")
        changes: dict[ast.AST, str] = {}
        self._follow(node, changes)
        return flat(changes[node]) if node in changes else flat(self.code.text(node, changes))

    def _of_rows(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id in self.names for n in ast.walk(node))

    def _reduction(self, node: ast.AST) -> bool:
        """Say whether an expression reduces a row to a number, such as `row.sum()`."""
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if not called or node.args or node.keywords:  # type: ignore[union-attr]
            return False
        return node.func.attr in _REDUCTIONS and self._of_rows(node.func.value)  # type: ignore[union-attr]

    def _reduced(self, node: ast.expr, more: str) -> str:
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Attribute)
        held = receiver(self.text(node.func.value))
        return f"{held}.{_REDUCTIONS[node.func.attr]}(dim=-1{more})"

    def _follow(self, node: ast.AST, changes: dict[ast.AST, str]) -> None:
        if not self._of_rows(node):
            return
        if isinstance(node, ast.Name):
            text = self.names[node.id]
            if text != node.id:
                changes[node] = receiver(text)
            return
        if self._reduction(node):
            assert isinstance(node, ast.Call)
            changes[node] = self._reduced(node, ", keepdim=True")
            return
        if isinstance(node, ast.Call):
            self._elementwise(node)
        elif not isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Attribute)):
            raise Declined("the body isn't elementwise")
        for child in ast.iter_child_nodes(node):
            self._follow(child, changes)

    def _elementwise(self, call: ast.Call) -> None:
        fact = self.ctx.fact(call.func)
        classes = [o.cls for o in options(fact) if isinstance(o, Instance)]
        if classes and all(str(c).rpartition(".")[2] in _ROWWISE for c in classes):
            return
        name = self.ctx.callee(call).name
        last = name.rpartition(".")[2]
        tags = self.ctx.torch.tags(name) | self.ctx.torch.tags(f"torch.{last}")
        if "pointwise" not in tags:
            raise Declined(f"`{ast.unparse(call.func)}` isn't known to be elementwise")


# -- from row to row -----------------------------------------------------------------------------


def _running_sum(found: _Stacked, name: str, ctx: Context, code: Code) -> Fix | None:
    """Return the fix that makes `h = h + f(row); out.append(h)` a `cumsum`, None for others."""
    body = found.loop.body
    if len(body) != 2 or ast.unparse(found.value) != name or name in code.live_after(found.loop):
        return None
    added = _added(body[0], name)
    if added is None or any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(added)):
        return None
    try:
        rows = _Rows({found.row: flat(code.text(found.rows))}, ctx, code).text(added)
    except Declined:
        return None
    text = f"{name} + {receiver(rows)}.cumsum(0)"
    edits = [code.lines(found.made, []), code.lines(found.loop, [])]
    edits.append(code.replace(found.call, _placed(text, found.call, ctx)))
    return code.fix("sum up with `cumsum`", edits)


def _added(stmt: ast.stmt, name: str) -> ast.expr | None:
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.op, ast.Add):
        plain = isinstance(stmt.target, ast.Name) and stmt.target.id == name
        return stmt.value if plain else None
    if isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.BinOp):
        value = stmt.value
        if isinstance(value.op, ast.Add) and ast.unparse(stmt.targets[0]) == name:
            for one, other in ((value.left, value.right), (value.right, value.left)):
                if isinstance(one, ast.Name) and one.id == name:
                    return other
    return None


def _scan(found: _Stacked, loop: Loop, names: list[str], ctx: Context, code: Code) -> Fix:
    """Return the fix that carries values from row to row through `scan`."""
    indent = code.indent(found.loop)
    inner = indent + code.step
    step = code.fresh("step")
    round_ = Round(ctx, code, loop, tuple(names), frozenset(), frozenset())
    lines = round_.lines(found.loop.body[:-1], inner)
    kept = [f"{n}.clone()" if round_.old.get(n, True) else n for n in names]
    value = flat(code.text(found.value))
    if isinstance(found.value, (ast.Name, ast.Subscript, ast.Attribute)):
        value += ".clone()"
    stacked = code.fresh("rows")
    rows = flat(code.text(found.rows))
    starts = [f"{n}.clone()" if code.may_alias(n, rows) else n for n in names]
    one = len(names) == 1
    carry = names[0] if one else code.fresh("carry")
    opened = [] if one else [f"{inner}{', '.join(names)} = {carry}"]
    returned = f"{kept[0]}, {value}" if one else f"({', '.join(kept)}), {value}"
    start = starts[0] if one else f"({', '.join(starts)})"
    alive = code.live_after(found.loop)
    last = [name if name in alive else "_" for name in names]
    left = last[0] if one else f"({', '.join(last)})" if set(last) != {"_"} else "_"
    call = f"{code.spell('torch._higher_order_ops.scan')}({step}, {start}, {rows})"
    text = [
        *([""] if needs_space(found.loop, code.block_of(found.loop)) else []),
        f"{indent}def {step}({carry}, {found.row}):",
        *opened,
        *lines,
        *statement("return ", returned, inner, code.width, code.step),
        "",
        *statement(f"{left}, {stacked} = ", call, indent, code.width, code.step),
    ]
    edits = [code.lines(found.made, []), code.lines(found.loop, text)]
    edits.append(code.replace(found.call, stacked))
    return code.fix("carry values from row to row through `scan`", edits)
