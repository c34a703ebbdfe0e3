"""`try:` around an operator that may fail becomes an `if` on what the operator needs.

A product of matrices needs inner sizes that agree, `view` and `reshape` to constant sizes their
number of elements, a constant index a dimension that is long enough, an `assert` its own test.

Declined: several operators that may fail, operators whose needs no short test says (`cat`,
`einsum`, …) or that fail on values (`cholesky`), code before the operator that can't be run later,
handlers that read the error, `finally`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from math import prod

from ..base import Code, Const, Context, Declined, Fix, Tensor, options
from ..base.scopes import dotted

_PRODUCTS = frozenset({"matmul", "mm", "bmm", "mv", "dot"})
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def asked_first(
    node: ast.expr | ast.Assert, failing: Sequence[ast.AST], ctx: Context, code: Code
) -> Iterator[Fix]:
    """Yield the fix that tests what `node`, the one failing part of a `try`, needs.

    `failing` are all parts of the `try` body that its handlers wait for. Raises Declined.
    """
    guard = next((p for p in ctx.ancestors(node) if isinstance(p, ast.Try)), None)
    if guard is None or len(failing) != 1:
        raise Declined("several operators of the `try` may fail")
    if len(guard.handlers) != 1 or guard.finalbody:
        raise Declined("the `try` has several ways out")
    (handler,) = guard.handlers
    if handler.name and any(getattr(p, "id", "") == handler.name for p in ast.walk(guard)):
        raise Declined("the error is used")
    stmt = ctx.statement(node)
    if stmt not in guard.body:
        raise Declined("the operator is deeper inside of the `try`")
    before = guard.body[: guard.body.index(stmt)]
    _waits(before, handler, node, code)
    test = code.text(node.test) if isinstance(node, ast.Assert) else needs(node, ctx, code)
    body = [s for s in guard.body if s is not node]
    yield code.fix(
        f"test `{test}` in place of the `try`",
        [code.lines(guard, _tested(guard, test, [*body, *guard.orelse], code))],
    )


def _waits(
    before: Sequence[ast.stmt], handler: ast.ExceptHandler, node: ast.AST, code: Code
) -> None:
    """Raise Declined where code before the operator must have run when it fails."""
    if not before:
        return
    if not code.effects(before).pure:
        raise Declined("what the `try` does before the operator has effects")
    made = {n.id for s in before for n in ast.walk(s) if isinstance(n, ast.Name)}
    reads = code.boundary(handler.body).reads | {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name)
    }
    stored = {
        n.id
        for s in before
        for n in ast.walk(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    if made & stored & reads:
        raise Declined("what the `try` computes before the operator is needed")


def _tested(guard: ast.Try, test: str, body: Sequence[ast.stmt], code: Code) -> list[str]:
    indent = code.indent(guard)
    inner = indent + code.step
    failed = [s for s in guard.handlers[0].body if not isinstance(s, ast.Pass)]
    first = code.block(body, inner) if body else [f"{inner}pass"]
    lines = [f"{indent}if {test}:", *first]
    if not failed:
        return lines
    if body and isinstance(body[-1], _ENDS):
        return [*lines, *code.block(failed, indent)]
    return [*lines, f"{indent}else:", *code.block(failed, inner)]


def needs(node: ast.expr, ctx: Context, code: Code) -> str:
    """Return the source of a test for what an operator needs. Raises Declined."""
    if isinstance(node, ast.BinOp):
        return _inner_sizes(node.left, node.right, ctx, code)
    if isinstance(node, ast.Subscript):
        fact = ctx.fact(node.slice)
        assert isinstance(fact, Const)
        size = f"{_path(node.value, code)}.shape[0]"
        return f"{size} > {fact.value}" if fact.value >= 0 else f"{size} >= {-fact.value}"
    assert isinstance(node, ast.Call)
    method = ctx.callee(node).name.startswith("torch.Tensor.")
    last = ctx.callee(node).name.rpartition(".")[2]
    operands = list(node.args)
    if method and isinstance(node.func, ast.Attribute):
        operands.insert(0, node.func.value)
    if last in _PRODUCTS and len(operands) == 2:
        test = _inner_sizes(operands[0], operands[1], ctx, code)
        if last == "bmm":
            left, right = (_path(operand, code) for operand in operands)
            test = f"{left}.shape[0] == {right}.shape[0] and {test}"
        return test
    if last in ("view", "reshape") and len(operands) > 1:
        return _elements(operands, ctx, code)
    if last.startswith(("cholesky", "inv", "solve", "eigh")):
        raise Declined(f"`{last}` fails on values: see `torch.linalg.cholesky_ex` and its like")
    raise Declined(f"no short test says what `{last}` needs")


def _inner_sizes(left: ast.expr, right: ast.expr, ctx: Context, code: Code) -> str:
    ranks = [o.rank for o in options(ctx.fact(right)) if isinstance(o, Tensor)]
    place = "0" if ranks == [1] else "-2"
    return f"{_path(left, code)}.shape[-1] == {_path(right, code)}.shape[{place}]"


def _elements(operands: Sequence[ast.expr], ctx: Context, code: Code) -> str:
    sizes = operands[1:]
    if len(sizes) == 1 and isinstance(sizes[0], (ast.Tuple, ast.List)):
        sizes = sizes[0].elts
    facts = [ctx.fact(size) for size in sizes]
    values = [f.value for f in facts if isinstance(f, Const) and isinstance(f.value, int)]
    if len(values) != len(sizes) or values == [-1]:
        raise Declined("the sizes aren't constants")
    count = f"{_path(operands[0], code)}.numel()"
    if -1 in values:
        return f"{count} % {-prod(values)} == 0"
    return f"{count} == {prod(values)}"


def _path(node: ast.expr, code: Code) -> str:
    if not dotted(node):
        raise Declined(f"`{code.text(node)}` would be computed twice")
    return code.text(node)


__all__ = ["asked_first", "needs"]
