"""`for` loops whose number of rounds depends on a tensor → `torch.while_loop`.

`for i in range(n)` counts in a tensor beside what the loop carries; `int(n)` and `n.item()` in the
bounds are dropped.

Declined: what `carries` and `rounds` decline; bounds that are sizes or random draws; steps that
aren't positive constants; a loop variable that is read behind the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base.context import Context
from ..base.facts import Const, FromTensor, ShapeInt, Static, options
from ..base.finding import Fix
from ..base.reading import data_in, tensor_of
from ..base.rewriting import Code, Declined
from .layout import flat, operand, receiver, statement
from .readings import Readings
from .while_loop import Counter, as_while_loop


def range_fixes(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the rewrites of a loop over `range(t)`. Raises Declined."""
    loop = ctx.parent(call)
    if not isinstance(loop, ast.For) or loop.iter is not call:
        raise Declined("the range isn't what a `for` loop runs over")
    yield as_while_loop(loop, ctx, code, counted(loop, ctx, code))


def counted(loop: ast.For, ctx: Context, code: Code) -> Counter:
    """Return the index of a loop over `range(…)` as a carried tensor. Raises Declined."""
    call = loop.iter
    if not isinstance(call, ast.Call) or ctx.callee(call).name != "builtins.range":
        raise Declined("the loop isn't one over `range(…)`")
    if not 1 <= len(call.args) <= 3 or call.keywords:
        raise Declined("the bounds of the range aren't known")
    if not isinstance(loop.target, ast.Name):
        raise Declined("the loop's target isn't a name")
    start = call.args[0] if len(call.args) > 1 else None
    stop = call.args[1] if len(call.args) > 1 else call.args[0]
    step = _step(call, ctx)
    name = loop.target.id
    if name in code.live_after(loop):
        raise Declined(f"`{name}` is read behind the loop")
    if name == "_" or not any(n.id == name for n in _read(loop)):
        name = code.fresh("turn")
    bound, before = _bound(stop, loop, ctx, code)
    tensor = _is_data(stop, ctx)
    if start is None or _is_zero(start, ctx):
        begin = "0"
        if tensor:
            begin = f"{code.spell('torch.zeros_like')}({bound})"
    elif not _is_data(start, ctx) and all(
        isinstance(o, (Const, Static, ShapeInt)) for o in options(ctx.fact(start))
    ):
        begin = f"{code.spell('torch.tensor')}({flat(code.text(start))})"
        if tensor:
            begin = f"{code.spell('torch.full_like')}({bound}, {flat(code.text(start))})"
    else:
        begin = _integer(start, ctx, code)
    return Counter(name, begin, bound, step, before)


def _is_data(bound: ast.expr, ctx: Context) -> bool:
    """Say whether a bound is a tensor, or was read out of one."""
    source = bound.args[0] if isinstance(bound, ast.Call) and len(bound.args) == 1 else bound
    if source is not bound and ctx.callee(bound).name == "builtins.int":  # type: ignore[arg-type]
        return tensor_of(ctx.fact(source)) is not None or data_in(ctx.fact(bound)) is not None
    return data_in(ctx.fact(bound)) is not None


def _read(loop: ast.For) -> Iterator[ast.Name]:
    for stmt in loop.body:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name):
                yield node


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _is_zero(node: ast.expr, ctx: Context) -> bool:
    fact = ctx.fact(node)
    return isinstance(fact, Const) and fact.value == 0


def _step(call: ast.Call, ctx: Context) -> str:
    if len(call.args) < 3:
        return "1"
    fact = ctx.fact(call.args[2])
    if isinstance(fact, Const) and isinstance(fact.value, int) and fact.value > 0:
        return str(fact.value)
    raise Declined("the step of the range isn't a positive constant")


def _bound(stop: ast.expr, loop: ast.For, ctx: Context, code: Code) -> tuple[str, tuple[str, ...]]:
    """Return the name or number that the index stays below, and the lines that compute it."""
    if not _is_data(stop, ctx):
        text = flat(code.text(stop))
        names = {n.id for n in ast.walk(stop) if isinstance(n, ast.Name)}
        bound = {n.id for n in _read(loop) if _is_stored(n)}
        if any(isinstance(n, ast.Call) for n in ast.walk(stop)) or names & bound:
            name = code.fresh("turns")
            return name, (f"{name} = {text}",)
        return operand(text) if not isinstance(stop, ast.Constant) else text, ()
    text = _integer(stop, ctx, code)
    if text.isidentifier() and not any(n.id == text for n in _read(loop) if _is_stored(n)):
        return text, ()
    name = code.fresh("turns")
    return name, tuple(statement(f"{name} = ", text, "", code.width, code.step))


def _integer(node: ast.expr, ctx: Context, code: Code) -> str:
    """Return a Python integer that was read out of a tensor as a 0-dim integer tensor."""
    fact = data_in(ctx.fact(node))
    if isinstance(fact, FromTensor) and fact.how != "item":
        raise Declined("how often the loop turns is a size or a draw, not a tensor's value")
    source = node
    if isinstance(node, ast.Call):
        name = ctx.callee(node).name
        if name == "builtins.int" and len(node.args) == 1:
            source = node.args[0]
        elif name == "torch.Tensor.item" and isinstance(node.func, ast.Attribute):
            source = node.func.value
    if source is not node and isinstance(source, ast.Call):
        if ctx.callee(source).name == "torch.Tensor.item":
            assert isinstance(source.func, ast.Attribute)
            source = source.func.value
    tensor = tensor_of(ctx.fact(source))
    if tensor is None:
        return Readings(ctx, code).value(source)
    text = flat(code.text(source))
    if tensor.dtype != "int":
        text = f"{receiver(text)}.long()"
    if tensor.rank != 0:
        text = f"{receiver(text)}.reshape(())"
    return text
