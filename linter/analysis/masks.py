"""Names that hold masks, told by how they are made: comparisons, and what joins comparisons."""

from __future__ import annotations

import ast

from ..index import FunctionInfo

_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def mask_names(info: FunctionInfo) -> frozenset[str]:
    """Return the names that a function assigns nothing but comparisons, or None before those.

    Nobody indexes with one bool: a value that such a name indexes is a tensor or an array.
    """
    if info.masks is None:
        info.masks = _mask_names(info)
    return info.masks


def _mask_names(info: FunctionInfo) -> frozenset[str]:
    made: dict[str, bool] = {}
    for node in info.nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and not _none(node.value):
                    made[target.id] = made.get(target.id, True) and is_mask(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            joins = isinstance(node.op, (ast.BitAnd, ast.BitOr))
            made[node.target.id] = made.get(node.target.id, True) and joins
        elif isinstance(node, (ast.For, ast.comprehension, ast.NamedExpr)):
            for name in ast.walk(node.target):
                if isinstance(name, ast.Name):
                    made[name.id] = False
    return frozenset(name for name, mask in made.items() if mask)


def is_mask(node: ast.expr) -> bool:
    """Say whether an expression is `a > b`, `(a > b) & ~(c == d)` and the like."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        return is_mask(node.left) or is_mask(node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return is_mask(node.operand)
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], _ORDER)


def indexes_as_mask(info: FunctionInfo, key: ast.expr) -> bool:
    """Say whether an index is a mask by its making."""
    return isinstance(key, ast.Name) and key.id in mask_names(info)


def _none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
