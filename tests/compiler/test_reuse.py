"""Buffers that take over the memory of one that is read for the last time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.settings import Settings
from torch.nn import functional as F


def compiled(f: Callable, *args: torch.Tensor) -> str:
    """The host program of f, which must give what eager gives and leave its arguments alone."""
    torch._dynamo.reset()
    backend = Backend(Settings(interpret=True, cache=False))
    kept = [a.clone() for a in args]
    got = torch.compile(f, backend=backend, fullgraph=True)(*args)
    torch.testing.assert_close(got, f(*kept), rtol=1e-4, atol=1e-4)  # products amplify rounding
    for now, before in zip(args, kept, strict=True):
        assert torch.equal(now, before)
    return backend.graphs[0].source


@pytest.fixture
def square() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(16, 16), torch.randn(16, 16)


def allocations(source: str) -> int:
    return source.count("= empty(")


def test_an_activation_between_two_products_takes_the_firsts_memory(square) -> None:
    assert allocations(compiled(lambda x, w: F.gelu(x @ w) @ w, *square)) == 0


def test_a_row_normalized_takes_the_memory_of_the_row(square) -> None:
    assert allocations(compiled(lambda x, w: F.softmax(x @ w, -1) @ w, *square)) == 0


def test_of_two_results_each_takes_another_memory_or_its_own(square) -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x @ w
        return torch.sin(y) @ w, torch.cos(y) @ w

    assert allocations(compiled(f, *square)) == 1


def test_what_is_read_later_keeps_its_memory(square) -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = x @ w
        return (F.gelu(y) @ w) @ y

    assert allocations(compiled(f, *square)) == 1


def test_what_is_returned_keeps_its_memory(square) -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x @ w
        return y, F.gelu(y)

    assert allocations(compiled(f, *square)) == 1


def test_arguments_keep_their_memory(square) -> None:
    assert allocations(compiled(lambda x, w: F.gelu(x) @ w, *square)) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda y: y.t().contiguous() * 2,
        lambda y: y + y.t(),
        lambda y: y.flip(0) * 2,
        lambda y: y - y[:1],
        lambda y: torch.cumsum(y, 1) + y.roll(1, 1),
    ],
)
def test_what_is_read_elsewhere_keeps_its_memory(change: Callable, square) -> None:
    assert allocations(compiled(lambda x, w: change(x @ w) @ w, *square)) == 1


def test_what_is_narrower_keeps_its_memory(square) -> None:
    assert allocations(compiled(lambda x, w: (x @ w).half().float().double() @ w.double(), *square))


def test_a_window_on_memory_keeps_it(square) -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x @ w
        window = y[2:6]
        return F.gelu(y) @ w, window

    assert allocations(compiled(f, *square)) == 1


def test_gradients_are_those_of_eager(square) -> None:
    x, w = (t.requires_grad_() for t in square)

    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.gelu(F.silu(x @ w) @ w).sum()

    torch._dynamo.reset()
    run = torch.compile(f, backend=Backend(Settings(interpret=True, cache=False)))
    got = torch.autograd.grad(run(x, w), (x, w))
    torch.testing.assert_close(got, torch.autograd.grad(f(x, w), (x, w)))
