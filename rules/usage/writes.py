"""What a function given to a control-flow operator writes outside itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context
from ..base.valueclass import valueclass
from .arms import Arm, body_nodes

_CONTAINER_WRITES = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "add"}
    | {"discard", "setdefault", "popitem", "appendleft", "popleft"}
)


@valueclass
class Write:
    """A write: the statement or call, what is written, and whether it is a tensor in place."""

    node: ast.AST
    target: str
    inplace: bool = False


def writes(arm: Arm, ctx: Context) -> Iterator[Write]:
    """Yield the writes of a function to operands, captured values, globals and attributes."""
    local = arm.assigned()
    declared = {
        name
        for node in body_nodes(arm.node)
        if isinstance(node, (ast.Nonlocal, ast.Global))
        for name in node.names
    }
    for node in body_nodes(arm.node):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from _assignment(arm, ctx, node, target, local, declared)
        elif isinstance(node, ast.Call):
            yield from _call(arm, ctx, node, local)


def _assignment(
    arm: Arm,
    ctx: Context,
    node: ast.stmt,
    target: ast.expr,
    local: dict[str, list[ast.expr | None]],
    declared: set[str],
) -> Iterator[Write]:
    if isinstance(target, ast.Name):
        if target.id in declared:
            yield Write(node, target.id)
        elif isinstance(node, ast.AugAssign) and target.id in arm.params:
            if len(local.get(target.id, ())) == 1:
                yield Write(node, target.id, True)
    elif isinstance(target, ast.Attribute):
        if not _is_local(target.value, local):
            yield Write(node, ast.unparse(target))
    elif isinstance(target, ast.Subscript):
        if arm.alias(target.value, ctx) is not None:
            yield Write(node, ast.unparse(target), True)
        elif not _is_local(target.value, local):
            yield Write(node, ast.unparse(target))


def _call(
    arm: Arm, ctx: Context, node: ast.Call, local: dict[str, list[ast.expr | None]]
) -> Iterator[Write]:
    if not isinstance(node.func, ast.Attribute):
        return
    name, owner = node.func.attr, node.func.value
    if "inplace" in ctx.torch.tags(f"torch.Tensor.{name}") and name != "requires_grad_":
        alias = arm.alias(owner, ctx)
        if alias is not None and alias.sure:
            yield Write(node, alias.root, True)
        elif isinstance(owner, ast.Attribute) and not _is_local(owner, local):
            yield Write(node, ast.unparse(owner), True)  # a buffer: self.count.add_(1)
    elif name in _CONTAINER_WRITES and isinstance(owner, (ast.Name, ast.Attribute)):
        if not _is_local(owner, local) and _root(owner) not in arm.params:
            yield Write(node, ast.unparse(owner))


def _is_local(node: ast.expr, local: dict[str, list[ast.expr | None]]) -> bool:
    return _root(node) in local


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
