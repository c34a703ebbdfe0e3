"""Divisions that a kernel does by multiplying: to the last bit what eager gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.settings import Settings

ENDS = torch.tensor(
    [0.0, 1e-42, 3e-39, 1e-38, 1e30, 3e38, float("inf"), float("nan"), -0.0, -1e-42, 1.0, 5.0]
)


def compiled(function: Callable, x: torch.Tensor) -> tuple[torch.Tensor, str]:
    torch._dynamo.reset()
    backend = Backend(Settings(interpret=True, cache=False))
    result = torch.compile(function, backend=backend, fullgraph=True)(x)
    return result, "".join(kernel.source for kernel in backend.graphs[0].kernels)


def assert_bits(function: Callable, x: torch.Tensor) -> str:
    got, source = compiled(function, x)
    torch.testing.assert_close(got, function(x), rtol=0, atol=0, equal_nan=True)
    return source


@pytest.mark.parametrize("columns", [300, 1_000])
def test_a_row_is_divided_by_its_largest(columns: int) -> None:
    torch.manual_seed(0)
    source = assert_bits(lambda x: x / x.amax(-1, keepdim=True), torch.randn(37, columns))
    assert "library.quotient" in source
    assert "div_rn" not in source


def test_a_row_is_divided_by_a_number_at_an_end_of_the_range() -> None:
    rows = torch.stack([torch.cat([ENDS, by[None]]) for by in ENDS])
    last = torch.arange(len(ENDS) + 1) == len(ENDS)
    source = assert_bits(lambda x: x / torch.where(last, x, 0.0).sum(-1, keepdim=True), rows)
    assert "library.quotient" in source


def test_both_of_two_divisors_of_a_row() -> None:
    torch.manual_seed(1)
    x = ENDS.repeat(3, 2)
    assert_bits(lambda x: x / x.amax(-1, keepdim=True) / x.amin(-1, keepdim=True), x)


def test_powers_of_two() -> None:
    x = torch.cat([ENDS, -ENDS])
    source = assert_bits(lambda x: torch.stack([x / 2, x / -0.25, x / 2.0**60]), x)
    assert "div_rn" not in source


def test_other_constants_and_powers_whose_inverse_is_out_of_range() -> None:
    x = torch.cat([ENDS, -ENDS, torch.linspace(-3, 3, 50)])
    assert "div_rn" in assert_bits(lambda x: torch.stack([x / 3, x / 255, x / 2.0**-130]), x)
