"""How many dimensions the tensors have that operations give, where the arguments tell."""

from __future__ import annotations

from ...rules.base.facts import Const, Fact, FromTensor, Sequence, ShapeInt, Static, Tensor

_SAME = frozenset(
    "softmax log_softmax cumsum cumprod flip roll sort argsort topk normalize dropout pad "
    "index_select gather masked_fill masked_fill_ permute transpose swapaxes contiguous "
    "repeat_interleave narrow tril triu zeros_like ones_like empty_like rand_like randn_like "
    "full_like relu gelu silu layer_norm batch_norm group_norm interpolate cat concat "
    "concatenate scatter scatter_ scatter_add scatter_add_ index_add index_add_ index_fill "
    "fft ifft rfft irfft chunk split".split()
)
_FIXED = {
    "cartesian_prod": 2,
    "combinations": 2,
    "tril_indices": 2,
    "triu_indices": 2,
    "eye": 2,
    "outer": 2,
    "mm": 2,
    "bmm": 3,
}
_SIZED = frozenset("zeros ones empty rand randn".split())  # torch.zeros(2, 3)
_NEW = frozenset("new_zeros new_ones new_empty view reshape expand repeat".split())
_KNOWN = frozenset(
    {*_SAME, *_FIXED, *_SIZED, *_NEW, "stack", "one_hot", "einsum", "reshape", "full"}
)
_INTS = (Const, Static, ShapeInt, FromTensor)


def rank_of(stem: str, method: bool, inputs: list[Tensor], args: list[Fact]) -> int | None:
    """Return the rank of what a torch function or Tensor method gives, None where unknown.

    `args` are the positional arguments, without the receiver of a method.
    """
    if stem not in _KNOWN:  # most of them
        return None
    fixed = _FIXED.get(stem)
    if fixed is not None:
        return fixed
    primary = inputs[0] if inputs else None
    if stem in _SAME:
        return None if primary is None else primary.rank
    if stem == "stack":
        return None if primary is None or primary.rank is None else primary.rank + 1
    if stem == "one_hot":
        return None if primary is None or primary.rank is None else primary.rank + 1
    if stem == "einsum":
        return _of_equation(args[0]) if args else None
    if stem in _SIZED and not method:
        return _given(args)
    if stem in _NEW and method:
        return _given(args)
    if stem == "reshape" or stem == "full":
        return _given(args[1:] if stem == "reshape" else args[:1])
    return None


def _of_equation(equation: Fact) -> int | None:
    """Return how many axes an equation of einsum leaves: 2 of "bij,pij->bp"."""
    text = equation.value if isinstance(equation, Const) else None
    if not isinstance(text, str) or "->" not in text or "..." in text:
        return None
    return sum(c.isalpha() for c in text.rpartition("->")[2])


def of_pattern(pattern: Fact) -> int | None:
    """Return how many axes a pattern of einops leaves: 3 of "b n (h d) -> b h (n d)"."""
    text = pattern.value if isinstance(pattern, Const) else None
    if not isinstance(text, str) or "->" not in text or "..." in text or "…" in text:
        return None
    inside, axes = 0, 0
    for part in text.rpartition("->")[2].replace("(", " ( ").replace(")", " ) ").split():
        axes += inside == 0 and part != ")"
        inside += (part == "(") - (part == ")")
    return axes


def _given(sizes: list[Fact]) -> int | None:
    """Return how many sizes are given, one by one or as one tuple."""
    if not sizes:
        return None
    first = sizes[0]
    if len(sizes) == 1 and isinstance(first, Sequence):
        return None if first.items is None else len(first.items)
    return len(sizes) if all(isinstance(size, _INTS) and _int(size) for size in sizes) else None


def _int(fact: Fact) -> bool:
    return getattr(fact, "kind", "") == "int"
