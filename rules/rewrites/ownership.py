"""Who else sees a tensor: may a name be rebound where its tensor was written in place?"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..base.context import Context
from ..base.facts import Tensor, Unknown, options
from ..base.reading import place
from ..base.rewriting import Code
from ..base.scopes import own, root

_FRESH = frozenset(
    "clone zeros ones empty full rand randn arange zeros_like ones_like empty_like full_like "
    "rand_like randn_like new_zeros new_ones new_empty new_full cat stack".split()
)
_SHARING = frozenset({"view", "maybe_view", "inplace", "maybe_inplace", "inplace_view"})


@dataclass(frozen=True, slots=True)
class Clone:
    """`name = source.clone()` directly before a write."""

    stmt: ast.Assign
    source: str


def owned(name: str, stmt: ast.stmt, ctx: Context, code: Code) -> bool:
    """Say whether the tensor of a local name was made by the function and has no other name.

    True only where its last assignment before `stmt` stands in a block around `stmt`, makes a new
    tensor, and nothing in between hands it on.
    """
    made = _last(name, stmt, ctx, code)
    if made is None or not _fresh(made.value, ctx):
        return False
    inside = set(ctx.inside(ctx.function))
    for use in code.uses(name):
        if use not in inside:
            return False
        if made.lineno < use.lineno < stmt.lineno and _hands_on(use, ctx):
            return False
    return ctx.loop(stmt) is ctx.loop(made) or not _handed_on_in_loop(name, stmt, ctx, code)


def cloned_before(name: str, stmt: ast.stmt, ctx: Context, code: Code) -> Clone | None:
    """Return the clone that a name is, where it is made by the statement directly before."""
    block = list(code.block_of(stmt))
    place = block.index(stmt)
    made = block[place - 1] if place else None
    if not isinstance(made, ast.Assign) or len(made.targets) != 1:
        return None
    target, value = made.targets[0], made.value
    if not isinstance(target, ast.Name) or target.id != name or not isinstance(value, ast.Call):
        return None
    plain = isinstance(value.func, ast.Attribute) and not value.args and not value.keywords
    if plain and value.func.attr == "clone" and isinstance(value.func.value, ast.Name):  # type: ignore[attr-defined]
        if ctx.callee(value).name == "torch.Tensor.clone":
            return Clone(made, value.func.value.id)  # type: ignore[attr-defined]
    return None


def _last(name: str, stmt: ast.stmt, ctx: Context, code: Code) -> ast.Assign | None:
    """Return the last assignment of a name before a statement, in a block around it."""
    stores = [
        node
        for node in own(ctx.function)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    before = [node for node in stores if ctx.statement(node).lineno < stmt.lineno]
    if not before:
        return None
    made = ctx.statement(max(before, key=place))
    around = {stmt, *(a for a in ctx.ancestors(stmt) if isinstance(a, ast.stmt))}
    if isinstance(made, ast.Assign) and around & set(code.block_of(made)):
        plain = len(made.targets) == 1 and isinstance(made.targets[0], ast.Name)
        return made if plain else None
    return None


def _fresh(value: ast.expr, ctx: Context) -> bool:
    if isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return True
    if not isinstance(value, ast.Call):
        return False
    name = ctx.callee(value).name
    tags = ctx.torch.tags(name)
    if not name.startswith("torch.") or tags & _SHARING:
        return False
    return name.rpartition(".")[2] in _FRESH or "pointwise" in tags


def _hands_on(use: ast.Name, ctx: Context) -> bool:
    """Say whether a use may give the tensor another name."""
    parent = ctx.parent(use)
    if isinstance(parent, ast.Subscript) and parent.value is use:
        if not isinstance(parent.ctx, ast.Load):
            return False
        return isinstance(ctx.parent(parent), (ast.Assign, ast.NamedExpr, ast.Return, ast.For))
    if isinstance(parent, (ast.BinOp, ast.Compare, ast.UnaryOp)):
        return False
    if isinstance(parent, ast.Attribute):
        call = ctx.parent(parent)
        if isinstance(call, ast.Call) and call.func is parent:
            return bool(ctx.torch.tags(ctx.callee(call).name) & _SHARING) and not isinstance(
                ctx.parent(call), ast.Expr
            )
        return parent.attr not in ("shape", "dtype", "device", "ndim")
    if isinstance(parent, ast.Call):
        name = ctx.callee(parent).name
        return not name.startswith("torch.") or bool(ctx.torch.tags(name) & _SHARING)
    return True


def _handed_on_in_loop(name: str, stmt: ast.stmt, ctx: Context, code: Code) -> bool:
    loop = ctx.loop(stmt)
    if loop is None:
        return False
    within = set(ctx.inside(loop))
    return any(use in within and _hands_on(use, ctx) for use in code.uses(name))


def written_behind(name: str, stmt: ast.stmt, ctx: Context, code: Code) -> bool:
    """Say whether a name's tensor may be written in place behind a statement, and others see that.

    Behind is all that follows in the text, and the whole of a loop around; not what stands behind
    an assignment of the name in the statement's own block.
    """
    if not code.shared(name):
        return False
    block = list(code.block_of(stmt))
    loop = ctx.loop(stmt)
    within = set(ctx.inside(loop)) if loop is not None else set()
    end = stmt.end_lineno or stmt.lineno
    bound = [
        later.lineno
        for later in block[block.index(stmt) + 1 :]
        if isinstance(later, ast.Assign)
        and any(isinstance(n, ast.Name) and n.id == name for n in later.targets)
    ]
    until = min(bound, default=10**9)
    skipped = set(ctx.inside(stmt))
    return any(
        node not in skipped and (node in within or end < node.lineno < until)  # type: ignore[attr-defined]
        for node in own(ctx.function)
        if _writes(node, name, ctx)
    )


def written_at(node: ast.AST) -> str | None:
    """Return the name at which what a node writes in place starts: items, and `x.add_()`."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return root(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr.endswith("_") and not node.func.attr.endswith("__"):
            return root(node.func.value)
    return None


def _writes(node: ast.AST, name: str, ctx: Context) -> bool:
    if isinstance(node, ast.AugAssign):
        return root(node.target) == name and _is_tensor(node.target, ctx)
    return written_at(node) == name


def _is_tensor(node: ast.expr, ctx: Context) -> bool:
    """Say whether `x += 1` may write a tensor: numbers are bound anew."""
    known = options(ctx.fact(node))
    return not known or any(isinstance(fact, (Tensor, Unknown)) for fact in known)
