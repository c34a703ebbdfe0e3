"""Two results that differ by rounding: which of them is nearer to float64's."""

from __future__ import annotations

import torch

from .compare import Checks, Result, differences

# How many times eager's own distance from float64 a compiled function may have.
FACTOR = 2.0
# Where eager itself is further off than this part of the largest value, float64 judges nothing:
# it may have drawn other random numbers, or taken another branch.
USELESS = 1e-2
RTOL, ATOL = 1.3e-6, 1e-5  # torch.testing's for float32


def as_exact(exact: Result, wanted: Result, got: Result, checks: Checks) -> bool:
    """Whether each tensor of `got` is as near to `exact` as it must be.

    The distance of a tensor is that of its worst element, in units of the tolerance at the exact
    value. `got` may have one tolerance, or `FACTOR` times the distance of eager's, `wanted`. All
    that isn't float32's values (dtypes, strides, integers) must be equal as ever.
    """
    if not checks.values or _shape(exact) != _shape(wanted):
        return False
    if differences(wanted, got, Checks(False, checks.strides)):
        return False
    sides = zip(_tensors(exact), _tensors(wanted), _tensors(got), strict=True)
    return all(_near(*three) for three in sides)


def _tensors(result: Result) -> list[torch.Tensor | None]:
    found = [*result.outputs, *result.inputs, *result.gradients]
    return [x.detach() if isinstance(x, torch.Tensor) else None for x in found]


def _shape(result: Result) -> list[tuple[int, ...] | None]:
    return [None if x is None else tuple(x.shape) for x in _tensors(result)]


def _near(
    exact: torch.Tensor | None, wanted: torch.Tensor | None, got: torch.Tensor | None
) -> bool:
    if wanted is None or got is None or exact is None:
        return True  # compared already
    if wanted.dtype not in (torch.float32, torch.complex64):
        return bool(torch.equal(wanted, got))
    if not wanted.numel():
        return True
    finite = exact.isfinite()
    if not torch.equal(finite, wanted.isfinite()) or not torch.equal(finite, got.isfinite()):
        return False
    strange = ~finite
    if not torch.allclose(wanted[strange], got[strange], equal_nan=True):
        return False
    if not finite.any():
        return True
    exact, wanted, got = exact[finite], wanted[finite], got[finite]
    largest = max(1.0, float(exact.abs().max()))
    if float((wanted - exact).abs().max()) > USELESS * largest:
        return False
    unit = ATOL + RTOL * exact.abs()
    own = float(((wanted - exact).abs() / unit).max())
    return float(((got - exact).abs() / unit).max()) <= max(1.0, FACTOR * own)
