"""A sequence that grows by `torch.cat` until a tensor says stop → a buffer of its largest size.

Greedy decoding and the like: `tokens = torch.cat([tokens, new], dim=1)` until all sequences are
done or `tokens.shape[1] >= limit`. The loop carries the buffer and how much of it is filled; a
round sees the filled part under the old name.

Declined: growth without a bound that Python knows, by more than one a round, or in another than the
last dimension; floating-point values, since a carried size has no gradients.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.context import Context
from ..base.facts import Const
from ..base.finding import Fix
from ..base.reading import tensor_of
from ..base.rewriting import Code, Declined
from .carries import carries, loop_of
from .jumps import jump_of, leaves
from .layout import flat, operand, receiver, statement
from .loop_effects import check_body
from .rounds import Round, not_done, test_text

_JOINS = frozenset({"torch.cat", "torch.concat", "torch.concatenate"})


@dataclass(frozen=True, slots=True)
class _Growth:
    """`name = torch.cat([name, piece], dim)` in a loop that ends at a size at the latest.

    place  of the statement in the loop's body
    limit  the size, and `others`, the operands of the test that reads it; `first` says that the
           loop tests before it grows
    """

    name: str
    piece: ast.expr
    place: int
    limit: ast.expr
    others: tuple[ast.expr, ...]
    first: bool


def growing(loop: ast.While | ast.For, ctx: Context) -> bool:
    """Say whether a loop joins a tensor with more in every round."""
    return any(_joined(stmt, ctx) is not None for stmt in loop.body)


def _joined(stmt: ast.stmt, ctx: Context) -> tuple[str, ast.expr, ast.expr | None] | None:
    """Return (name, piece, dim) of `name = torch.cat([name, piece], dim)`."""
    if not (isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Call)):
        return None
    target, call = stmt.targets[0], stmt.value
    if not isinstance(target, ast.Name) or ctx.callee(call).name not in _JOINS or not call.args:
        return None
    parts = call.args[0]
    if not isinstance(parts, (ast.List, ast.Tuple)) or len(parts.elts) != 2:
        return None
    first, piece = parts.elts
    if not isinstance(first, ast.Name) or first.id != target.id:
        return None
    return target.id, piece, ctx.argument(call, 1, "dim")


def grown_fix(stmt: ast.While, ctx: Context, code: Code) -> Fix:
    """Return the fix that lets a loop fill a buffer. Raises Declined."""
    loop = loop_of(stmt)
    check_body(loop, ctx, code)
    found = _growth(stmt, ctx)
    others = [c for c in carries(loop, ctx, code, frozenset({found.name})) if c.name != found.name]
    piece = tensor_of(ctx.fact(found.piece))
    if piece is None or piece.dtype not in ("int", "bool") or any(c.real for c in others):
        raise Declined("a carried size has no gradients, which floating-point values may need")
    name = found.name
    indent, inner = code.indent(stmt), code.indent(stmt) + code.step
    size, buffer = code.fresh("size"), code.fresh("buffer")
    names = (size, buffer, *(c.name for c in others))
    numbers = frozenset(c.name for c in others if c.number)
    round_ = Round(ctx, code, loop, names, numbers, frozenset())
    before, behind = stmt.body[: found.place], stmt.body[found.place + 1 :]
    if not found.first:
        behind = behind[:-1]
    if leaves([*before, *behind]):
        raise Declined("the loop is left in several places")
    filled = f"{name} = {buffer}[:, :{size}]"
    text = receiver(flat(code.text(found.piece)))
    lines = [inner + filled]
    lines += round_.lines(before, inner) if before else []
    put = f"{buffer}.slice_scatter({text}, 1, {size}, {size} + 1)"
    lines += statement(f"{buffer} = ", put, inner, code.width, code.step)
    lines.append(f"{inner}{size} = {size} + 1")
    if any(isinstance(n, ast.Name) and n.id == name for s in behind for n in ast.walk(s)):
        lines.append(inner + filled)
    lines += round_.lines(behind, inner) if behind else []
    limit = flat(code.text(found.limit))
    tests = [operand(test_text(test, ctx, code)) for test in found.others]
    full = f"{code.spell('torch.full')}((), {size}, device={buffer}.device)"
    returned = [size, buffer]
    returned += [f"{c.name}.clone()" if round_.old.get(c.name, True) else c.name for c in others]
    starts = [f"{name}.shape[1]", buffer, *(c.start for c in others)]
    given = names
    if found.first:
        test = " & ".join([*tests, f"({full} < {limit})"])
        room = f"max({limit} - {name}.shape[1], 0)"
    else:
        done = code.fresh("done")
        test = f"~{done}"
        room = f"max({limit} - {name}.shape[1], 1)"
        reached = code.fresh("full")
        lines += statement(f"{reached} = ", f"{full} >= {limit}", inner, code.width, code.step)
        lines += statement(
            f"{done} = ", " | ".join([*tests, reached]), inner, code.width, code.step
        )
        given, returned = (done, *given), [done, *returned]
        starts = [not_done(others, code), *starts]
    more, step = code.fresh("more"), code.fresh("step")
    pad = f"{code.spell('torch.nn.functional.pad')}({name}, (0, {room}))"
    after = [("" if found.first else "_"), size, buffer]
    after += [c.name if c.after else "_" for c in others]
    left = ", ".join(part for part in after if part)
    call = f"{code.spell('torch.while_loop')}({more}, {step}, ({', '.join(starts)}))"
    out = [
        *statement(f"{buffer} = ", pad, indent, code.width, code.step),
        "",
        f"{indent}def {more}({', '.join(given)}):",
        *statement("return ", test, inner, code.width, code.step),
        "",
        f"{indent}def {step}({', '.join(given)}):",
        *lines,
        *statement("return ", ", ".join(returned), inner, code.width, code.step),
        "",
        f"{indent}with {code.spell('torch.no_grad')}():  # a carried size has no gradients",
        *statement(f"{left} = ", call, inner, code.width, code.step),
        indent + filled,
    ]
    title = "fill a buffer of the largest size in `torch.while_loop`"
    return code.fix(title, [code.lines(stmt, out)])


def _growth(stmt: ast.While, ctx: Context) -> _Growth:
    joins = [(k, j) for k, s in enumerate(stmt.body) if (j := _joined(s, ctx)) is not None]
    if len(joins) != 1 or stmt.orelse:
        raise Declined("the loop joins several tensors")
    place, (name, piece, dim) = joins[0]
    fact = None if dim is None else ctx.fact(dim)
    if not isinstance(fact, Const) or fact.value not in (1, -1) or not _column(piece, ctx):
        raise Declined(f"`{name}` doesn't grow by one column a round")
    last = jump_of(stmt.body[-1])
    forever = isinstance(stmt.test, ast.Constant)
    if forever and last is not None and not (last.before or last.other or last.inverse):
        if isinstance(last.kind, ast.Break):
            limit, others = _limited(last.test, name, (ast.GtE,), ast.Or)
            return _Growth(name, piece, place, limit, others, False)
    if not forever:
        limit, others = _limited(stmt.test, name, (ast.Lt,), ast.And)
        return _Growth(name, piece, place, limit, others, True)
    raise Declined(f"`{name}` grows without a bound that is known")


def _column(piece: ast.expr, ctx: Context) -> bool:
    """Say whether an expression is surely one column: `x[:, None]`, `x.unsqueeze(1)`."""
    if isinstance(piece, ast.Subscript) and isinstance(piece.slice, ast.Tuple):
        parts = piece.slice.elts
        plain = isinstance(parts[0], ast.Slice) and len(parts) == 2
        return plain and isinstance(parts[1], ast.Constant) and parts[1].value is None
    if isinstance(piece, ast.Call) and isinstance(piece.func, ast.Attribute):
        if piece.func.attr == "unsqueeze" and len(piece.args) == 1:
            fact = ctx.fact(piece.args[0])
            return isinstance(fact, Const) and fact.value in (1, -1)
        kept = next((k.value for k in piece.keywords if k.arg == "keepdim"), None)
        return isinstance(kept, ast.Constant) and kept.value is True
    return False


def _limited(
    test: ast.expr, name: str, signs: tuple[type[ast.cmpop], ...], joint: type[ast.boolop]
) -> tuple[ast.expr, tuple[ast.expr, ...]]:
    """Return the limit of `name.shape[1]` in a test, and the other operands."""
    parts: Sequence[ast.expr] = [test]
    if isinstance(test, ast.BoolOp):
        if not isinstance(test.op, joint):
            raise Declined(f"`{name}` grows without a bound that is known")
        parts = test.values
    for part in parts:
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], signs):
            if _size(part.left, name):
                others = tuple(other for other in parts if other is not part)
                return part.comparators[0], others
    raise Declined(f"`{name}` grows without a bound that is known")


def _size(node: ast.expr, name: str) -> bool:
    text = ast.unparse(node)
    return text in {f"{name}.{how}" for how in ("shape[1]", "shape[-1]", "size(1)", "size(-1)")}
