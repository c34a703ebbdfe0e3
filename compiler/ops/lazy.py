"""A tensor that isn't computed yet: a function from an index to the value there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from sympy import Expr, Integer

from ..ir.nodes import View
from ..ir.values import Value

HELD_AS_FLOAT = (torch.float16, torch.bfloat16)
SUPPORTED = frozenset(
    {
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
    }
)


def held(dtype: torch.dtype) -> torch.dtype:
    """What a kernel computes this dtype in."""
    return torch.float32 if dtype in HELD_AS_FLOAT else dtype


@dataclass(frozen=True, slots=True)
class Lazy:
    """A tensor as a function of its index.

    Attributes:
        size, dtype, device: As torch has them.
        at: The value at an index (one expression a dimension), in the dtype `held(dtype)`.
        view: Where it lies in memory, if it does.
    """

    size: tuple[Expr, ...]
    dtype: torch.dtype
    device: torch.device
    at: Callable[[Sequence[Expr]], Value]
    view: View | None = None


def broadcast_index(
    size: Sequence[Expr], index: Sequence[Expr], target: Sequence[Expr]
) -> tuple[Expr, ...]:
    """The index into a tensor of `size` that is broadcast to `target`, at the target's index."""
    skipped = len(target) - len(size)
    return tuple(
        Integer(0) if n == 1 and target[skipped + d] != 1 else index[skipped + d]
        for d, n in enumerate(size)
    )


def reduced_size(size: Sequence[Expr], dims: Sequence[int], keepdim: bool) -> tuple[Expr, ...]:
    """The size that is left when `dims` are reduced."""
    if keepdim:
        return tuple(Integer(1) if d in dims else n for d, n in enumerate(size))
    return tuple(n for d, n in enumerate(size) if d not in dims)
