"""Convolutions by kernels of ours: chosen where they win, equal to ATen's, in every precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.runtime.build import build_kernels
from compile_lint.compiler.settings import Settings
from torch.nn import functional as F

KERNELS = Settings(interpret=True, cache=False)


@pytest.fixture(autouse=True)
def full_precision() -> Iterator[None]:
    with torch.backends.cudnn.flags(allow_tf32=False):
        yield


def compiled(
    function: Any, *inputs: torch.Tensor, grad: bool = False, tolerance: float = 1e-4
) -> Backend:
    """Assert that results and gradients equal eager's; the backend that compiled the function."""
    torch._dynamo.reset()
    backend = Backend(KERNELS)
    results = []
    for f in (function, torch.compile(function, backend=backend, fullgraph=True)):
        given = [x.detach().clone().requires_grad_(grad) for x in inputs]
        out = f(*given)
        found = [out]
        if grad:
            tangent = torch.linspace(-1, 1, out.numel()).reshape(out.shape)
            (out * tangent).sum().backward()
            found += [x.grad for x in given]
        results.append(found)
    for expected, actual in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)
    return backend


def dots(backend: Backend) -> list[str]:
    return [k.source for graph in backend.graphs for k in graph.kernels if "tl.dot" in k.source]


def images(*size: int) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(sum(size)))


@pytest.mark.parametrize(
    ("x", "weight"),
    [
        ((2, 32, 5, 7), (48, 32, 1, 1)),  # sizes that no block divides
        ((16, 256, 4, 4), (128, 256, 1, 1)),  # few pixels, a long sum: added up in parts
        ((2, 40, 6, 6), (24, 40, 3, 3)),
        ((4, 16, 4, 4), (16, 16, 3, 3)),
    ],
)
def test_gradients_too(x: tuple[int, ...], weight: tuple[int, ...]) -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.relu(F.conv2d(F.relu(x), w, padding=w.shape[-1] // 2))

    backend = compiled(f, images(*x), images(*weight) / 10, grad=True)
    assert len(dots(backend)) >= 2


def test_the_bias_is_added_by_what_reads_the_product() -> None:
    def f(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.tanh(F.conv2d(x, w, b))

    backend = compiled(f, images(8, 64, 4, 4), images(32, 64, 1, 1), images(32))
    (graph,) = backend.graphs
    assert len(graph.kernels) == 2
    assert not graph.fallbacks


@pytest.mark.parametrize(
    ("x", "weight", "options"),
    [
        ((2, 32, 8, 8), (32, 32, 1, 1), {"stride": 2}),
        ((2, 32, 8, 8), (32, 16, 1, 1), {"groups": 2}),
        ((2, 32, 8, 8), (32, 32, 3, 3), {"padding": 2, "dilation": 2}),
        ((2, 32, 8, 8), (32, 32, 5, 5), {"padding": 2}),
        ((2, 3, 8, 8), (32, 3, 1, 1), {}),
        ((2, 32, 64, 64), (32, 32, 3, 3), {"padding": 1}),
    ],
)
def test_aten_has_the_others(x: Any, weight: Any, options: dict[str, Any]) -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, w, **options) * 2

    backend = compiled(f, images(*x), images(*weight))
    assert not dots(backend)
    assert backend.graphs[0].fallbacks == ("aten.convolution.default",)


def test_channels_last_stays_with_aten() -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, w) + 1

    x = images(2, 32, 8, 8).to(memory_format=torch.channels_last)
    assert not dots(compiled(f, x, images(32, 32, 1, 1)))


def test_float64_and_half_stay_with_aten() -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, w) + 1

    for dtype in (torch.float64, torch.bfloat16):
        x, w = images(2, 32, 8, 8).to(dtype), images(32, 32, 1, 1).to(dtype)
        assert not dots(compiled(f, x, w))


def test_one_pass_only_while_tf32_is_allowed() -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, w)

    x, w = images(2, 32, 8, 8), images(32, 32, 1, 1)
    (text,) = dots(compiled(f, x, w))
    assert "input_precision='tf32x3'" in text
    with torch.backends.cudnn.flags(allow_tf32=True):
        backend = compiled(f, x, w, tolerance=1e-2)  # operands are rounded to ten bits
    one, three = dots(backend)
    assert "input_precision='tf32'" in one
    assert "input_precision='tf32x3'" in three
    assert "if tf32_convolutions() else" in backend.graphs[0].source


def test_layers_share_kernels_and_they_build() -> None:
    def f(x: torch.Tensor, w: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        y = F.conv2d(x, w).sin()
        return F.conv2d(y, v)

    inputs = images(2, 32, 8, 8), images(64, 32, 1, 1), images(32, 64, 1, 1)
    (graph,) = compiled(f, *inputs).graphs
    products = [k for k in graph.kernels if "tl.dot" in k.source]
    assert graph.source.count("pixels") == 0  # sizes are passed as numbers
    assert len({k.source for k in products}) == 1
    for built in build_kernels([(products[0], c) for c in products[0].configs], "cuda:90"):
        assert not isinstance(built, Exception), built
        assert built.spills == 0
