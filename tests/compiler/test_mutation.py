"""Writes in place: what was read before keeps its value, and no copy shares memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.settings import Settings


def read_before(x: torch.Tensor, y: torch.Tensor) -> list:
    before = x + 1
    x.mul_(2)
    return [before]


def a_chain(x: torch.Tensor, y: torch.Tensor) -> list:
    before = (x + y).sin()
    window = x[1:]
    x.masked_fill_(x > 0, 3)
    return [before + window.sum(), window * 2, x.unsqueeze(0)]


def exchanged(x: torch.Tensor, y: torch.Tensor) -> list:
    old = x.clone()
    x.copy_(y)
    y.copy_(old)
    return [old * 2]


def shifted(x: torch.Tensor, y: torch.Tensor) -> list:
    total = x.cumsum(0)
    x[1:].add_(x[:-1].clone())
    y.t().sub_(total.sum())
    return [total, y.flip(0)]


def indexed(x: torch.Tensor, y: torch.Tensor) -> list:
    picked = y[x.argsort()]
    y.zero_()
    return [picked]


PROGRAMS = [read_before, a_chain, exchanged, shifted, indexed]


@pytest.mark.parametrize("f", PROGRAMS)
def test_what_was_read_before_a_write_keeps_its_value(f: Callable) -> None:
    torch.manual_seed(1)
    x, y = torch.randn(7), torch.randn(7)
    mine, theirs = (x.clone(), y.clone()), (x, y)
    torch._dynamo.reset()
    got = torch.compile(f, backend=Backend(Settings(interpret=True)), fullgraph=True)(*mine)
    torch.testing.assert_close(got, f(*theirs))
    torch.testing.assert_close(mine, theirs)


COPIES: list[Callable[[torch.Tensor], torch.Tensor]] = [
    torch.clone,
    torch.diagonal_copy,
    lambda x: torch.slice_copy(x, 0, 1, 3),
    lambda x: torch.permute_copy(x, (1, 0)),
    lambda x: torch.expand_copy(x[:, :1], (4, 4)),
    lambda x: torch.unsqueeze_copy(x, 0),
    lambda x: x.repeat(1, 1),
    lambda x: x + 0,
]


@pytest.mark.parametrize("number", range(len(COPIES)))
def test_a_copy_shares_no_memory_with_what_it_copies(number: int) -> None:
    f = COPIES[number]
    x = torch.randn(4, 4)
    torch._dynamo.reset()
    got = torch.compile(f, backend=Backend(Settings(interpret=True)), fullgraph=True)(x)
    torch.testing.assert_close(got, f(x))
    assert got.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


def test_softmax_of_no_whole_numbers() -> None:
    """torch's own way to spell it out fills whole numbers with minus infinity."""
    x = torch.empty(0, dtype=torch.int64)
    f = torch.compile(
        lambda x: x.softmax(0), backend=Backend(Settings(interpret=True)), fullgraph=True
    )
    assert torch.equal(f(x), x.softmax(0))


def test_a_negative_number_beside_unsigned_ones() -> None:
    x = torch.tensor([0, 1, 2, 200], dtype=torch.uint8)

    def f(x: torch.Tensor) -> list:
        return [x.clamp(-1, 1), x * -1, x + -3, torch.where(x > 1, x, -1), x.clamp(-1, 2.5)]

    torch._dynamo.reset()
    got = torch.compile(f, backend=Backend(Settings(interpret=True)), fullgraph=True)(x)
    for have, want in zip(got, f(x), strict=True):
        assert have.dtype == want.dtype
        torch.testing.assert_close(have, want)
