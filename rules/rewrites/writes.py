"""Statements that give one target a value: assignments, augmented ones, in-place methods."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from ..base.context import Context
from ..base.facts import Tensor, options
from ..base.rewriting import Code
from ..base.scopes import dotted
from .layout import SIGNS, flat

# in-place methods without an out-of-place twin of the same name
_NO_TWIN = frozenset(
    {"requires_grad_", "detach_", "resize_", "set_", "retain_grad", "share_memory_"}
)


@dataclass(frozen=True, slots=True)
class Write:
    """A statement that gives one target a value.

    `earlier` are the in-place calls before the last of a chain, `x.mul_(2)` in
    `x.mul_(2).add_(1)`, in the order in which they run.
    """

    key: str
    value: ast.expr
    stmt: ast.stmt
    operator: str = ""
    method: str = ""
    in_place: bool = False
    earlier: tuple[ast.Call, ...] = ()

    @property
    def given(self) -> list[ast.expr]:
        """What the write evaluates."""
        if not self.method:
            return [self.value]
        calls = [call for call in (*self.earlier, self.value) if isinstance(call, ast.Call)]
        return [a for c in calls for a in (*c.args, *(k.value for k in c.keywords))]


def write_of(
    stmt: ast.stmt, seen: Callable[[ast.expr], bool], ctx: Context, code: Code
) -> Write | None:
    """Return a statement as one write, None for other statements.

    `seen` says whether others see what is written to a target in place.
    """
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
        key = _key(stmt.targets[0], code)
        return Write(key, stmt.value, stmt) if key else None
    if isinstance(stmt, ast.AnnAssign) and stmt.value is not None:
        key = _key(stmt.target, code)
        return Write(key, stmt.value, stmt) if key else None
    if isinstance(stmt, ast.AugAssign):
        key = _key(stmt.target, code)
        sign = SIGNS[type(stmt.op)]
        return Write(key, stmt.value, stmt, sign, "", seen(stmt.target)) if key else None
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    calls: list[ast.Call] = []
    target: ast.expr | None = call
    while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute):
        calls.insert(0, target)
        target = target.func.value
    key = _key(target, code) if calls and target is not None else ""
    if not key or not all(_has_twin(one, ctx) for one in calls):
        return None
    assert target is not None
    name = calls[-1].func.attr[:-1]  # type: ignore[attr-defined]
    return Write(key, calls[-1], stmt, "", name, seen(target), tuple(calls[:-1]))


def _has_twin(call: ast.Call, ctx: Context) -> bool:
    """Say whether a call is an in-place method of a tensor that can be written out of place."""
    assert isinstance(call.func, ast.Attribute)
    name = call.func.attr
    tags = ctx.torch.tags(f"torch.Tensor.{name}")
    if "inplace" not in tags or name in _NO_TWIN:
        return False
    if not any(isinstance(o, Tensor) for o in options(ctx.fact(call.func.value))):
        return False
    known = ctx.torch.method(name[:-1]) is not None or name in ("zero_", "fill_", "copy_")
    return known and not any(isinstance(a, ast.Starred) for a in call.args)


def _key(target: ast.expr, code: Code) -> str:
    """Return the text that stands for a target, "" where it can't be read before it is written."""
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        return dotted(target)
    if isinstance(target, ast.Subscript) and dotted(target.value):
        return flat(code.text(target))
    return ""


def place_of(node: ast.AST) -> str:
    """Return the one spelling of a name, a chain of attributes or an item of a dict by a string.

    "" for other expressions.
    """
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        held = dotted(node.value)
        return f"{held}[{node.slice.value!r}]" if held and type(node.slice.value) is str else ""
    return dotted(node)


def stored(node: ast.AST) -> set[str]:
    """Return the names that a statement binds, comprehensions' own left out."""
    found = set()
    stack = [node]
    while stack:
        inner = stack.pop()
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Store, ast.Del)):
            found.add(inner.id)
        elif isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
            found.add(inner.name)
            continue
        elif isinstance(inner, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            continue
        stack.extend(ast.iter_child_nodes(inner))
    return found


def targets_of(node: ast.AST) -> list[ast.expr]:
    """Return what a statement assigns items or attributes of."""
    if not isinstance(node, ast.Assign):
        return []
    return [t.value for t in node.targets if isinstance(t, (ast.Subscript, ast.Attribute))]


def is_empty(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Pass) or (
        isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
    )
