"""The kind of dtype that an operation gives."""

from __future__ import annotations

from ...rules.base.facts import (
    Const,
    Extern,
    Fact,
    FromTensor,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    options,
)
from .operators import dtype_of, wider

BOOL = frozenset(
    "any all eq ne lt le gt ge isnan isinf isfinite isposinf isneginf isclose isreal signbit "
    "logical_and logical_or logical_not logical_xor less less_equal greater greater_equal "
    "not_equal isin bool".split()
)


_INT = frozenset("argmax argmin argsort nonzero argwhere bincount long int count_nonzero".split())


_FLOAT = frozenset(
    "float half double bfloat16 mean std var norm softmax log_softmax rand randn "
    "sigmoid exp log sqrt rsqrt sin cos tanh linspace rand_like randn_like".split()
)


# Of bools, these make ints.
_COUNTS = frozenset("sum nansum prod cumsum cumprod".split())


def result_dtype(
    stem: str, inputs: list[Tensor], values: list[Fact], kwargs: dict[str, Fact]
) -> str:
    named = kwargs.get("dtype")
    if named is not None:
        return named_dtype(named)
    for value in values:
        if type(value) is Extern:
            known = named_dtype(value)
            if known:
                return known
    if stem in ("tensor", "as_tensor", "full", "full_like") and values and not inputs:
        return _literal_dtype(
            values[1] if stem.startswith("full") and len(values) > 1 else values[0]
        )
    if stem in BOOL:
        return "bool"
    if stem in _INT:
        return "int"
    if stem in _FLOAT:
        return "float"
    if stem in ("arange", "randint", "randperm") and all(
        isinstance(v, (ShapeInt, Const, Static, FromTensor)) and getattr(v, "kind", "") == "int"
        for v in values
    ):
        return "int"
    if stem == "where":  # indices, or what is chosen between
        chosen = [dtype_of(value) for value in values[1:]]
        return "int" if not chosen else wider(*chosen) if len(chosen) == 2 else ""
    if stem in _COUNTS and inputs and inputs[0].dtype in ("bool", "int"):
        return "int"
    if not inputs:
        return "float" if stem in ("zeros", "ones", "empty", "eye") else ""
    dtype = inputs[0].dtype
    for other in inputs[1:]:
        dtype = wider(dtype, other.dtype)
    if stem in ("to", "type", "view") and not all(_keeps_dtype(v, stem) for v in values[1:]):
        return ""
    return dtype


def _keeps_dtype(fact: Fact, stem: str) -> bool:
    """Say whether an argument of `to` or `view` is surely no dtype: a device, a size, a flag."""
    if isinstance(fact, (Const, Static, ShapeInt)):
        return fact.kind in ("int", "bool", "device") or (stem == "to" and fact.kind == "str")
    return isinstance(fact, Sequence) and fact.kind in ("tuple", "list", "size")


def _literal_dtype(fact: Fact) -> str:
    """The dtype kind that torch.tensor() infers from Python numbers, "" where unknown."""
    while isinstance(fact, Sequence):
        fact = fact.element()
    kinds = {getattr(option, "kind", "") for option in options(fact)}
    if kinds <= {"bool"}:
        return "bool"
    if kinds <= {"bool", "int"}:
        return "int"
    return "float" if kinds <= {"bool", "int", "float"} else ""


def named_dtype(fact: Fact) -> str:
    if type(fact) is Extern and fact.name.startswith("torch."):
        last = fact.name[6:]
        if last == "bool":
            return "bool"
        if last.startswith(("int", "uint", "long", "short")):
            return "int"
        if last.startswith(("float", "bfloat", "half", "double")):
            return "float"
        if last.startswith(("complex", "cfloat")):
            return "complex"
    return ""
