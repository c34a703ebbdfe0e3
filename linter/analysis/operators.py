"""What Python's operators give for facts."""

from __future__ import annotations

import ast
import operator
from typing import Any

from ...rules.base.facts import (
    UNKNOWN,
    Array,
    BoundMethod,
    ClassRef,
    Const,
    Extern,
    Fact,
    FromTensor,
    Function,
    Instance,
    Mapping,
    ModuleRef,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    Union,
    Unknown,
    const,
    join_all,
    options,
)
from .frame import Frame

FOLD: dict[type[ast.AST], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_NUMBERS = (bool, int, float)
_RANK = {"bool": 0, "int": 1, "float": 2, "complex": 3}


def wider(a: str, b: str) -> str:
    """Return the dtype kind that two operands promote to ("" when either is unknown)."""
    if not a or not b:
        return ""
    return a if _RANK.get(a, 3) >= _RANK.get(b, 3) else b


def dtype_of(fact: Fact) -> str:
    """Return the dtype kind of a value that takes part in tensor arithmetic."""
    if isinstance(fact, (Tensor, Array)):
        return fact.dtype
    kind = getattr(fact, "kind", "")
    return kind if kind in _RANK else ""


def binary(frame: Frame, node: ast.AST, op: ast.operator, left: Fact, right: Fact) -> Fact:
    """Return what `left op right` gives."""
    lefts, rights = options(left), options(right)
    if len(lefts) * len(rights) > 1:
        # None and unknown sides of a union add nothing: the operator would raise, or isn't known
        pairs = [(a, b) for a in lefts for b in rights if not _is_none(a) and not _is_none(b)]
        return join_all(_binary(frame, node, op, a, b) for a, b in pairs)
    return _binary(frame, node, op, left, right)


def _is_none(fact: Fact) -> bool:
    return isinstance(fact, Const) and fact.value is None


def _binary(frame: Frame, node: ast.AST, op: ast.operator, left: Fact, right: Fact) -> Fact:
    pair, kinds = (left, right), (type(left), type(right))
    for kind in (Tensor, Array):
        if kind in kinds:
            return _tensor_binary(node, op, [fact for fact in pair if type(fact) is kind], pair)
    if kinds == (Unknown, Unknown):
        return UNKNOWN
    if isinstance(left, Instance) and left.cls == "pathlib.Path" and isinstance(op, ast.Div):
        return left
    read = [fact for fact in pair if isinstance(fact, FromTensor)]
    if read:
        kind = wider(dtype_of(left), dtype_of(right))
        if isinstance(op, ast.Div) and kind != "complex":
            kind = "float"
        sure = read[0].sure and not any(isinstance(fact, Unknown) for fact in pair)
        if any(isinstance(fact, (Sequence, Instance, Mapping)) for fact in pair):
            return UNKNOWN
        how = read[0].how
        if how == "random" and not any(isinstance(fact, Unknown) for fact in pair):
            how = "call"  # the operation breaks: its result is an ordinary number
        return FromTensor(kind, how, origin=read[0].origin, sure=sure)
    if isinstance(left, Sequence) and isinstance(right, Sequence) and isinstance(op, ast.Add):
        if left.items is not None and right.items is not None:
            return Sequence(left.kind, left.items + right.items)
        head = left.head if left.items is None else left.items
        rest = [side.element() for side in (left, right) if side.items != ()]
        return Sequence(left.kind, None, join_all(rest), head if left.kind == "tuple" else ())
    if isinstance(op, ast.Mult) and any(isinstance(fact, Sequence) for fact in pair):
        return _repeat(*pair)
    if isinstance(op, ast.BitOr) and isinstance(left, Mapping) and isinstance(right, Mapping):
        return Mapping("dict", left.items + right.items, left.key, join_all(pair), False)
    if isinstance(left, Const) and isinstance(right, Const):
        return fold(op, left.value, right.value)
    if all(getattr(fact, "kind", "") == "bool" for fact in pair):
        deciding = const(isinstance(op, ast.BitOr))
        if isinstance(op, (ast.BitOr, ast.BitAnd)) and deciding in pair:
            return deciding
    if isinstance(left, (Const, Static)) and left.kind == "str":
        return Static("str")
    if any(isinstance(fact, ShapeInt) for fact in pair):
        if all(isinstance(fact, (ShapeInt, Static, Const)) for fact in pair):
            kind = "float" if isinstance(op, ast.Div) else wider(dtype_of(left), dtype_of(right))
            return ShapeInt(kind or "int")
    if all(isinstance(fact, (Static, Const)) for fact in pair):
        kind = "float" if isinstance(op, ast.Div) else wider(dtype_of(left), dtype_of(right))
        return Static(kind)
    return UNKNOWN


def _tensor_binary(
    node: ast.AST, op: ast.operator, found: list[Any], pair: tuple[Fact, Fact]
) -> Fact:
    first = found[0]
    dtype = wider(dtype_of(pair[0]), dtype_of(pair[1]))
    if isinstance(op, ast.Div) and dtype in ("bool", "int"):
        dtype = "float"
    ranks = [_rank(fact) for fact in pair]
    rank = _broadcast(ranks)
    if isinstance(op, ast.MatMult) and rank is not None and 1 in ranks:
        rank -= 1  # a vector's dimension is summed over, with one of the other operand's
    sure = first.sure if len(found) == 1 else any(fact.sure for fact in found)
    if isinstance(first, Array):
        constant = all(fact.carried for fact in pair if isinstance(fact, Array))
        if any(isinstance(fact, FromTensor) for fact in pair):
            constant = False
        return Array(rank, dtype, constant, origin=first.origin, sure=sure, rare=first.rare)
    known = all(getattr(fact, "role", "constant") == "constant" for fact in pair)
    return Tensor(
        rank,
        dtype,
        all(fact.single for fact in found),
        any(fact.ragged for fact in found),
        "constant" if known and not any(isinstance(fact, FromTensor) for fact in pair) else "",
        origin=first.origin,
        sure=sure,
        rare=first.rare,
    )


def _repeat(left: Fact, right: Fact) -> Fact:
    seq, times = (left, right) if isinstance(left, Sequence) else (right, left)
    assert isinstance(seq, Sequence)
    if seq.items is not None and isinstance(times, Const) and isinstance(times.value, int):
        if 0 <= len(seq.items) * times.value <= 64:
            return Sequence(seq.kind, seq.items * times.value)
    return Sequence(seq.kind, None, seq.element())


def fold(op: ast.AST, left: Any, right: Any) -> Fact:
    """Fold an operator on small constants; the result's type where it isn't worth folding."""
    function = FOLD.get(type(op))
    numbers = isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)
    strings = isinstance(left, str) and isinstance(right, str)
    if function is None or not (numbers or strings):
        if isinstance(op, (ast.Eq, ast.NotEq)):
            return const(bool(FOLD[type(op)](left, right)))
        return Static("str" if isinstance(left, str) else "")
    try:
        value = function(left, right)
    except (ArithmeticError, TypeError, ValueError):
        return UNKNOWN
    if isinstance(value, str) and len(value) > 200:
        return Static("str")
    if isinstance(value, int) and abs(value) > 1 << 62:
        return Static("int")
    return const(value)


def compare(frame: Frame, node: ast.Compare, left: Fact, facts: list[Fact]) -> Fact:
    """Return what a comparison, possibly chained, gives."""
    results = []
    for op, right in zip(node.ops, facts):
        results.append(_compare(node, op, left, right))
        left = right
    if len(results) == 1:
        return results[0]
    if all(isinstance(fact, Const) for fact in results):
        return const(all(fact.value for fact in results))  # type: ignore[attr-defined]
    data = [f for f in results for o in options(f) if isinstance(o, (Tensor, Array, FromTensor))]
    if data:
        return data[0]
    return ShapeInt("bool") if any(isinstance(f, ShapeInt) for f in results) else Static("bool")


def _compare(node: ast.AST, op: ast.cmpop, left: Fact, right: Fact) -> Fact:
    if isinstance(op, (ast.Is, ast.IsNot)):
        same = identity(left, right)
        if same is None:
            return Static("bool")
        return const(same is isinstance(op, ast.Is))
    if isinstance(op, (ast.In, ast.NotIn)):
        return _contains(op, left, right)
    results = [_compare_values(node, op, a, b) for a in options(left) for b in options(right)]
    return join_all(results)


def _compare_values(node: ast.AST, op: ast.cmpop, left: Fact, right: Fact) -> Fact:
    pair = (left, right)
    if _is_none(left) or _is_none(right):
        if isinstance(op, (ast.Eq, ast.NotEq)) and not any(
            isinstance(fact, (Unknown, Static)) for fact in pair
        ):
            both = _is_none(left) and _is_none(right)
            return const(both is isinstance(op, ast.Eq))
        return Static("bool")
    for kind in (Tensor, Array):
        found = [fact for fact in pair if isinstance(fact, kind)]
        if found:
            other = right if found[0] is left else left
            if isinstance(other, (Sequence, Mapping)) or (
                isinstance(other, (Const, Static)) and other.kind in ("str", "dtype", "device")
            ):
                return Static("bool")
            return _tensor_binary(node, ast.Add(), found, pair).__class__(
                *_bool_like(found, pair),
                origin=found[0].origin,
                sure=found[0].sure,
                rare=found[0].rare,
            )
    for fact in pair:
        if isinstance(fact, FromTensor):
            if any(isinstance(other, (Unknown, Instance)) for other in pair):
                return FromTensor("bool", fact.how, origin=fact.origin, sure=False)
            return FromTensor("bool", fact.how, origin=fact.origin, sure=fact.sure)
    if isinstance(left, Const) and isinstance(right, Const):
        return fold(op, left.value, right.value)
    if any(isinstance(fact, ShapeInt) for fact in pair):
        return ShapeInt("bool")
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        if left.kind == right.kind == "size":
            return Static("bool")  # also of data-dependent sizes: Dynamo compares the symbols
        for fact in (left.element(), right.element()):
            for option in options(fact):
                if isinstance(option, FromTensor):
                    return FromTensor("bool", option.how, origin=option.origin, sure=option.sure)
        if any(isinstance(o, ShapeInt) for o in options(left.element())):
            return ShapeInt("bool")
    if any(isinstance(fact, Const) and fact.kind == "str" for fact in pair):
        return Static("bool")  # tensors aren't compared with words
    if any(isinstance(fact, Unknown) for fact in pair):
        return UNKNOWN
    return Static("bool")


def _rank(fact: Fact) -> int | None:
    """Return an operand's rank, 0 of a number; what isn't known may be a tensor of any rank."""
    if isinstance(fact, (Tensor, Array)):
        return fact.rank
    return 0 if isinstance(fact, (Const, Static, ShapeInt, FromTensor)) else None


def _broadcast(ranks: list[int | None]) -> int | None:
    known = [rank for rank in ranks if rank is not None]
    return max(known) if len(known) == len(ranks) else None


def _bool_like(found: list[Any], pair: tuple[Fact, Fact]) -> tuple[Any, ...]:
    rank = _broadcast([_rank(fact) for fact in pair])
    if isinstance(found[0], Array):
        return (rank, "bool", all(fact.constant for fact in found))
    return (
        rank,
        "bool",
        all(fact.single for fact in found),
        any(fact.ragged for fact in found),
    )


def _contains(op: ast.cmpop, left: Fact, right: Fact) -> Fact:
    for fact in options(right):
        if isinstance(fact, (Tensor, Array)) and not getattr(fact, "constant", False):
            return FromTensor("bool", "call", origin=fact.origin, sure=fact.sure)
    for fact in options(left):
        if isinstance(fact, (Tensor, Array)) and not getattr(fact, "constant", False):
            if not isinstance(right, Sequence):
                return Static("bool")  # dict keys are compared by identity first
            if isinstance(op, ast.NotIn):  # negates, which reads the tensor
                return FromTensor("bool", "call", origin=fact.origin, sure=fact.sure)
            return Tensor(0, "bool", True, origin=fact.origin, sure=fact.sure)
        if isinstance(fact, FromTensor):
            how = "call" if isinstance(op, ast.NotIn) else fact.how
            return FromTensor("bool", how, origin=fact.origin, sure=fact.sure)
    if isinstance(right, Sequence) and not _is_none(left):
        for option in options(right.element()):
            if isinstance(option, FromTensor):
                return FromTensor("bool", option.how, origin=option.origin, sure=option.sure)
    if isinstance(left, Const) and isinstance(right, Sequence) and right.items is not None:
        if all(isinstance(item, Const) for item in right.items):
            found = any(item.value == left.value for item in right.items)  # type: ignore[attr-defined]
            return const(found is isinstance(op, ast.In))
    if isinstance(left, Const) and isinstance(right, Const) and isinstance(right.value, str):
        if isinstance(left.value, str):
            return const((left.value in right.value) is isinstance(op, ast.In))
    if isinstance(left, Const) and isinstance(right, Mapping) and right.exact:
        return const((right.get(left.value) is not None) is isinstance(op, ast.In))
    return Static("bool")


def identity(left: Fact, right: Fact) -> bool | None:
    """Say whether two facts are surely the same object, surely not, or None."""
    if _is_none(left) and _is_none(right):
        return True
    for one, other in ((left, right), (right, left)):
        if _is_none(one):
            if any(_is_none(o) or isinstance(o, (Unknown, Static)) for o in options(other)):
                return None
            if not other.sure and isinstance(other, Tensor) and other.role == "input":
                return None
            return False
    if isinstance(left, Const) and isinstance(right, Const):
        if isinstance(left.value, (bool, type(None))) or isinstance(right.value, bool):
            return left.value is right.value
    if isinstance(left, Extern) and isinstance(right, Extern):
        return True if left.name == right.name else None
    if isinstance(left, ClassRef) and isinstance(right, ClassRef):
        return left.cls is right.cls
    return None


# A method says nothing: `t.batch` of what is taken for a tensor may be a flag of it.
_UNDECIDED = frozenset({Unknown, Static, Tensor, Union, ShapeInt, BoundMethod})
_TRUE = frozenset({Function, ClassRef, ModuleRef, Extern})


def boolean(fact: Fact) -> bool | None:
    """Return what bool(fact) surely is, None where it depends."""
    kind = type(fact)
    if kind in _UNDECIDED:
        return None
    if isinstance(fact, Const):
        return bool(fact.value)
    if kind in _TRUE:
        return True
    if isinstance(fact, Sequence) and fact.kind == "tuple" and fact.items is not None:
        return bool(fact.items)
    if isinstance(fact, Instance) and fact.module and fact.sure:
        name = fact.cls if isinstance(fact.cls, str) else ""
        return None if name in ("torch.nn.ModuleList", "torch.nn.ModuleDict", "") else True
    return None


def negate(fact: Fact) -> Fact:
    """Return what `not fact` gives."""
    verdict = boolean(fact)
    if verdict is not None:
        return const(not verdict)
    for option in options(fact):
        if isinstance(option, (Tensor, Array, FromTensor)):
            # `not` itself breaks: its result is an ordinary bool
            return FromTensor("bool", "call", origin=option.origin, sure=option.sure)
    return ShapeInt("bool") if isinstance(fact, ShapeInt) else Static("bool")


def unary(op: ast.unaryop, fact: Fact) -> Fact:
    """Return what `op fact` gives."""
    if isinstance(op, ast.Not):
        return negate(fact)
    if isinstance(fact, Const) and isinstance(fact.value, (bool, int, float)):
        if isinstance(op, ast.USub):
            return const(-fact.value)
        if isinstance(op, ast.Invert) and isinstance(fact.value, int):
            return const(-fact.value - 1)
        return const(+fact.value)
    if isinstance(fact, Array) and fact.stored:
        return Array(fact.rank, fact.dtype, origin=fact.origin, sure=fact.sure)
    return fact


__all__ = ["binary", "boolean", "compare", "dtype_of", "identity", "negate", "unary"]
