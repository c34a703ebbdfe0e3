"""What the parts of a test are: known to Python, boolean, a number; and how they are negated."""

from __future__ import annotations

import ast

from ..base.context import Context
from ..base.facts import Const, Fact, FromTensor, ShapeInt, Static, Tensor, options
from ..base.reading import data_in, tensor_of
from .layout import receiver

_KNOWN = (Const, Static)


def is_static(node: ast.expr, ctx: Context) -> bool:
    """Say whether Python knows the truth of an expression while Dynamo captures."""
    if isinstance(node, ast.BoolOp):
        return all(is_static(value, ctx) for value in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return is_static(node.operand, ctx)
    if isinstance(node, ast.NamedExpr):
        return is_static(node.value, ctx)
    return ctx.truth(node) is None


def negated(text: str, node: ast.expr | None = None) -> str:
    """Return a boolean tensor expression negated."""
    if text.startswith("~") and receiver(text[1:]) == text[1:]:
        return text[1:]
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for old, new in ((ast.Eq, " != "), (ast.NotEq, " == ")):
            word = " == " if old is ast.Eq else " != "
            if isinstance(node.ops[0], old) and text.count(word) == 1:
                return text.replace(word, new)
    return "~" + receiver(text)


def python_not(node: ast.expr, text: str) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = ast.unparse(node.operand)
        return inner if text == f"not {inner}" else f"not ({text})"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for old, word, other in (
            (ast.Is, " is ", " is not "),
            (ast.IsNot, " is not ", " is "),
        ):
            if isinstance(node.ops[0], old) and text.count(word) == 1:
                return text.replace(word, other)
    return f"not {text}" if not isinstance(node, (ast.BoolOp, ast.Compare)) else f"not ({text})"


def surely(fact: Fact) -> bool:
    """Say whether a value is a tensor whenever it is a number at all."""
    kinds = options(fact)
    return any(isinstance(o, (Tensor, FromTensor)) for o in kinds) and not number_kinds(fact)


def number_kinds(fact: Fact) -> set[str]:
    """Return the kinds of Python number that a value may be, "" for one that isn't known."""
    numbers = [o for o in options(fact) if isinstance(o, (Const, Static, ShapeInt))]
    return {o.kind for o in numbers if getattr(o, "value", 0) is not None}


def is_number_test(node: ast.expr, ctx: Context) -> bool:
    """Say whether the truth of an expression is that of a tensor that isn't known to be bool."""
    fact = tensor_of(ctx.fact(node))
    plain = not isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.NamedExpr, ast.IfExp))
    return plain and fact is not None and fact.dtype != "bool" and not _reduction(node, ctx)


def _reduction(node: ast.expr, ctx: Context) -> bool:
    return isinstance(node, ast.Call) and ctx.callee(node).name in ("builtins.any", "builtins.all")


def is_bool(node: ast.expr, ctx: Context) -> bool:
    if isinstance(node, ast.Compare):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    kinds = [
        option.kind if isinstance(option, (*_KNOWN, FromTensor)) else getattr(option, "dtype", "")
        for option in options(ctx.fact(node))
    ]
    return bool(kinds) and all(kind == "bool" for kind in kinds)


def plain_number(node: ast.expr, ctx: Context) -> bool:
    number = isinstance(node, (ast.Constant, ast.UnaryOp, ast.Name, ast.Attribute))
    kinds = [getattr(option, "kind", "") for option in options(ctx.fact(node))]
    return number and not any(kind in ("str", "NoneType", "bytes") for kind in kinds)


def is_loose(node: ast.expr) -> bool:
    """Say whether an expression binds looser than a comparison's operand."""
    return isinstance(node, (ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda)) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def pointwise(node: ast.expr, name: str, ctx: Context) -> bool:
    """Say whether an expression of a 0-dim element works alike on all elements at once."""
    if isinstance(node, ast.Name):
        return node.id == name or not isinstance(data_in(ctx.fact(node)), Tensor)
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and all(
            pointwise(side, name, ctx) for side in (node.left, *node.comparators)
        )
    if isinstance(node, ast.BinOp):
        return pointwise(node.left, name, ctx) and pointwise(node.right, name, ctx)
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not) and pointwise(node.operand, name, ctx)
    if isinstance(node, ast.Call) and not node.keywords:
        tags = ctx.torch.tags(ctx.callee(node).name)
        args = list(node.args)
        if isinstance(node.func, ast.Attribute):
            args.append(node.func.value)
        named = [a for a in args if not _module_name(a, ctx)]
        return "pointwise" in tags and all(pointwise(a, name, ctx) for a in named)
    return False


def _module_name(node: ast.expr, ctx: Context) -> bool:
    return isinstance(node, ast.Name) and ctx.is_global(node.id)
