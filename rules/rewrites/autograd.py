"""Code about autograd that isn't captured, said in forms that are.

`y.grad_fn is not None` asks for `y.requires_grad`; `y.data = new` becomes a value with the
gradient of `y`; flags of tensors made inside, whose gradient nobody reads, are dropped; a hook that
is removed before anything runs backward isn't registered at all; an explicit graph break goes.

Declined: flags of inputs and parameters, which the caller sees; leaves whose `.grad` is read;
handles that leave the function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..base import Code, Context, Declined, Edit, Fix, Safety
from ..base.scopes import own
from .guards import around, guard
from .moved import call_text
from .replacements import operand


def gone(stmt: ast.stmt, code: Code) -> Edit:
    """Return the edit that removes a statement, with `pass` where a block would be empty."""
    alone = len(code.block_of(stmt)) == 1
    return code.lines(stmt, [f"{code.indent(stmt)}pass"] if alone else [])


def requires_grad(node: ast.Attribute, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that asks for `requires_grad` where `grad_fn` is only tested."""
    parent = ctx.parent(node)
    asked = f"{operand(node.value, code)}.requires_grad"
    place: ast.AST = node
    if isinstance(parent, ast.Compare) and len(parent.ops) == 1:
        other = parent.comparators[0]
        if isinstance(other, ast.Constant) and other.value is None:
            if isinstance(parent.ops[0], ast.Is):
                asked, place = f"not {asked}", parent
            elif isinstance(parent.ops[0], ast.IsNot):
                place = parent
    tested = isinstance(parent, (ast.If, ast.IfExp, ast.While)) and parent.test is node
    if place is node and not tested:
        raise Declined("the autograd graph itself is used")
    yield code.fix(f"ask for `{asked}`", [code.replace(place, asked)])


def valued(stmt: ast.Assign, target: ast.Attribute, code: Code) -> Iterator[Fix]:
    """Yield ways to give a computed tensor new values by what autograd knows of."""
    if len(stmt.targets) != 1 or not isinstance(target.value, ast.Name):
        raise Declined("the tensor isn't a variable of its own")
    name, new = target.value.id, operand(stmt.value, code)
    indent = code.indent(stmt)
    text = f"{name} = {name} + ({new} - {name}).detach()"
    yield code.fix(f"give `{name}` its values, and keep its gradient", [code.replace(stmt, text)])
    lines = [
        f"{indent}with {code.spell('torch.no_grad')}():",
        f"{indent}{code.step}{name}.copy_({code.text(stmt.value)})",
    ]
    yield code.fix(f"copy into `{name}` without gradients", [code.lines(stmt, lines)])


def unflagged(node: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that leaves a tensor made inside without a `requires_grad` of its own.

    The node is a call of `requires_grad_`, a factory with `requires_grad=True`, or the target of
    an assignment to the flag.
    """
    if any(isinstance(p, ast.Attribute) and p.attr == "grad" for p in own(ctx.function)):
        raise Declined("its gradient is read: make the leaf outside and pass it in")
    stmt = ctx.statement(node)
    alone = isinstance(stmt, ast.Expr) and stmt.value is node
    if isinstance(node, ast.Attribute) or alone:
        edit = guard([around(stmt, ctx)], code)  # eager runs may need it, as checkpointing does
    elif isinstance(node, ast.Call) and _flagging(node):
        assert isinstance(node.func, ast.Attribute)
        edit = code.replace(node, code.text(node.func.value))
    else:
        assert isinstance(node, ast.Call)
        edit = code.replace(node, call_text(node, code, without=("requires_grad",)))
    yield code.fix("make no autograd leaf inside", [edit])


def _flagging(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_"


def unhooked(remove: ast.AST, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that doesn't register a hook which is removed before it can run."""
    stmt = ctx.statement(remove)
    if not isinstance(stmt, ast.Expr) or not isinstance(remove, ast.Call):
        raise Declined("the handle leaves the function: hook what the function returns")
    assert isinstance(remove.func, ast.Attribute)
    name = ast.unparse(remove.func.value)
    calls = [part for part in own(ctx.function) if isinstance(part, ast.Call)]
    if any(ctx.callee(c).name.rpartition(".")[2] in ("backward", "grad") for c in calls):
        raise Declined("the hook may run before it is removed")
    block = list(code.block_of(stmt))
    made = _assigned(name, block[: block.index(stmt)])
    if made is None or len(code.uses(name)) != 1:
        raise Declined("the hook isn't registered once, in the same block")
    if len(block) == 2:
        raise Declined("the block would be empty")
    yield code.fix("register no hook that never runs", [gone(made, code), gone(stmt, code)])


def _assigned(name: str, block: Sequence[ast.stmt]) -> ast.stmt | None:
    found = [
        stmt
        for stmt in block
        if isinstance(stmt, ast.Assign) and [ast.unparse(t) for t in stmt.targets] == [name]
    ]
    return found[0] if len(found) == 1 else None


def removed(node: ast.AST, ctx: Context, code: Code, title: str) -> Iterator[Fix]:
    """Yield the fix that removes a call which computes nothing."""
    stmt = ctx.statement(node)
    if not isinstance(stmt, ast.Expr) or stmt.value is not node:
        raise Declined("the call is part of a larger statement")
    yield code.fix(title, [gone(stmt, code)], Safety.SAFE)


__all__ = ["gone", "removed", "requires_grad", "unflagged", "unhooked", "valued"]
