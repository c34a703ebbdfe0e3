"""How the results of two functions differ: arms of a cond, a carry before and after a step."""

from __future__ import annotations

import ast

from ..base import Certainty, Const, Context, Fact, Mapping, Sequence, Static, Tensor
from .arms import Arm, arm_of, parts

_CASTS = {
    "half": "float16",
    "bfloat16": "bfloat16",
    "double": "float64",
    "int": "int32",
    "long": "int64",
    "bool": "bool",
    "float": "float32",
    "short": "int16",
    "byte": "uint8",
}


def difference(left: Fact, right: Fact) -> str | None:
    """Say how two results surely differ, None when they may agree."""
    for fact in (left, right):
        if isinstance(fact, (Const, Static)) and fact.kind not in ("int", "bool", ""):
            return f"a value that is no tensor ({fact.kind.replace('NoneType', 'None')})"
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        if left.dtype and right.dtype and left.dtype != right.dtype:
            return f"tensors of different dtype ({left.dtype} and {right.dtype})"
        if left.rank is not None and right.rank is not None and left.rank != right.rank:
            return f"tensors of {left.rank} and of {right.rank} dimensions"
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        if left.items is None or right.items is None:
            return None
        if len(left.items) != len(right.items):
            return f"{len(left.items)} and {len(right.items)} values"
        return next(filter(None, map(difference, left.items, right.items)), None)
    if isinstance(left, Mapping) and isinstance(right, Mapping) and left.exact and right.exact:
        keys = [{key for key, _ in fact.items} for fact in (left, right)]
        return None if keys[0] == keys[1] else "dicts with different keys"
    pair = {type(left), type(right)}
    items = left if isinstance(left, Sequence) else right
    if pair == {Tensor, Sequence} and isinstance(items, Sequence) and len(items.items or ()) > 1:
        return "one tensor and several"
    return None


def unlike_arms(given: list[ast.expr], left: Fact, right: Fact, ctx: Context) -> str | None:
    """Say how the expressions of two arms tell that their results differ, where facts don't.

    A cast that ends one arm only tells that the dtype was another before; a sum over everything
    beside an elementwise result, that the rank was.
    """
    arms = [arm for arm in (arm_of(expr, ctx) for expr in given) if arm is not None]
    if len(arms) < 2 or not (isinstance(left, Tensor) and isinstance(right, Tensor)):
        return None
    return _cast_in_one(arms, left, right) or _reduced_in_one(arms, left, right, ctx)


def _cast_in_one(arms: list[Arm], left: Tensor, right: Tensor) -> str | None:
    casts = [{_cast(value) for value in arm.returned()} for arm in arms]
    if len(casts[0]) != 1 or len(casts[1]) != 1 or casts[0] == casts[1]:
        return None
    (a,), (b,) = casts
    if a and b:
        return f"tensors of different dtype ({a} and {b})"
    other = right if a else left
    may_be = ("", "float") if (a or b) in ("float16", "bfloat16", "float64") else ("",)
    if (a or b) == "float32" or other.dtype not in may_be:
        return None
    return f"tensors of different dtype (one casts to {a or b})"


def _reduced_in_one(arms: list[Arm], left: Tensor, right: Tensor, ctx: Context) -> str | None:
    if {left.rank, right.rank} != {0, None}:
        return None
    other = arms[0] if left.rank is None else arms[1]
    if all(_elementwise(other, value, ctx) for value in other.returned()):
        return "a single number and a tensor of the operand's size"
    return None


def _elementwise(arm: Arm, node: ast.expr, ctx: Context) -> bool:
    """Say whether an expression has the shape of an operand: arithmetic on it, pointwise calls."""
    if isinstance(node, ast.Name):
        return node.id in arm.params and node.id not in arm.assigned()
    if isinstance(node, ast.UnaryOp):
        return _elementwise(arm, node.operand, ctx)
    if isinstance(node, ast.BinOp):
        return _elementwise(arm, node.left, ctx) or _elementwise(arm, node.right, ctx)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        pointwise = "pointwise" in ctx.torch.tags(f"torch.Tensor.{node.func.attr}")
        return pointwise and _elementwise(arm, node.func.value, ctx)
    return False


def _cast(value: ast.expr) -> str:
    """The dtype that an expression's last operation casts to, "" when it doesn't cast."""
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)):
        return ""
    if value.func.attr == "to" and value.args:
        text = ast.unparse(value.args[0])
        return text.rpartition(".")[2] if text.startswith("torch.") else ""
    return _CASTS.get(value.func.attr, "") if not value.args else ""


_RESIZING = frozenset({"cat", "concat", "concatenate", "hstack", "vstack", "stack", "dstack"})


def grown(node: ast.expr, carry: str) -> str | None:
    """Return the source of an expression that joins a carry with more, so that its size grows.

    `cat([carry[1:], new])` keeps the size, so only a carry that is joined whole counts.
    """
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    if node.func.attr not in _RESIZING or not node.args:
        return None
    joined = node.args[0]
    if not isinstance(joined, (ast.List, ast.Tuple)) or len(joined.elts) < 2:
        return None
    whole = any(isinstance(part, ast.Name) and part.id == carry for part in joined.elts)
    return ast.unparse(node) if whole else None


def shared(arm: Arm, ctx: Context) -> tuple[str, Certainty | None] | None:
    """Say what a function returns that shares memory with an operand or another result."""
    for value in arm.returned():
        names: set[str] = set()
        for part in parts(value):
            alias = arm.alias(part, ctx)
            if alias is not None:
                text = ast.unparse(part)
                what = f"`{text}`" if text == alias.root else f"`{text}`, a view of `{alias.root}`"
                return what, None if alias.sure else Certainty.LIKELY
            if isinstance(part, ast.Name) and part.id in names:
                return f"`{part.id}` twice", None
            if isinstance(part, ast.Name):
                names.add(part.id)
    return None


def repeated(arm: Arm, ctx: Context) -> list[ast.expr]:
    """Return the parts of a function's results that share memory with an operand or each other."""
    found: list[ast.expr] = []
    for value in arm.returned():
        names: set[str] = set()
        for part in parts(value):
            name = part.id if isinstance(part, ast.Name) else ""
            if arm.alias(part, ctx) is not None or name in names:
                found.append(part)
            names.update({name} - {""})
    return found


def odd_result(arm: Arm, ctx: Context) -> ast.expr | None:
    """Return the result of an arm that ends with a cast or is a number, None for other results."""
    values = arm.returned()
    if len(values) != 1:
        return None
    value = values[0]
    number = isinstance(value, ast.Constant) and isinstance(value.value, (int, float))
    cast = _cast(value)
    own = isinstance(value, ast.Call) and cast and isinstance(value.func, ast.Attribute)
    return value if number or own else None
