"""Kernels of a microsecond each that become a few."""

from __future__ import annotations

import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.settings import Settings


def test_counters_and_weights_laid_out_anew_share_launches() -> None:
    def step(weights: list[torch.Tensor], counters: list[torch.Tensor]) -> list[torch.Tensor]:
        for counter in counters:
            counter.add_(1)
        return [w.permute(0, 2, 3, 1).contiguous() * 2 for w in weights] + [
            c.float() for c in counters
        ]

    torch.manual_seed(0)
    weights = [torch.randn(8, 4, 3, 3) for _ in range(30)]
    counters = [torch.tensor(k) for k in range(60)]
    counted = [c.clone() for c in counters]
    torch._dynamo.reset()
    backend = Backend(Settings(interpret=True, cache=False))
    run = torch.compile(step, backend=backend, fullgraph=True)
    for got, wanted in zip(run(weights, counted), step(weights, counters), strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=0)
        assert got.stride() == wanted.stride()
    assert counted == counters
    assert backend.graphs[0].source.count("\n    kernel_") < 10


def test_what_waits_for_something_stays_where_it_is() -> None:
    def step(x: torch.Tensor, counter: torch.Tensor) -> tuple[torch.Tensor, ...]:
        before = x.index_select(0, counter)
        counter.add_(1)
        return before, x.index_select(0, counter), x @ x

    x, counter = torch.randn(4, 4), torch.tensor([0])
    torch._dynamo.reset()
    run = torch.compile(
        step, backend=Backend(Settings(interpret=True, cache=False)), fullgraph=True
    )
    first, second, _ = run(x, counter)
    torch.testing.assert_close(first, x[:1])
    torch.testing.assert_close(second, x[1:2])
    assert counter == 1
