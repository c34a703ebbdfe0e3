"""Convolutions channels-last by kernels of ours: operands and results worked out inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.settings import Settings
from torch import nn
from torch.nn import functional as F


@pytest.fixture(autouse=True)
def tf32() -> Iterator[None]:
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=True):
        yield


class Layer(nn.Module):
    """A layer of a dense block: each of its convolutions reads batch norm and ReLU."""

    def __init__(self, channels: int, growth: int = 16) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(32)
        self.conv1 = nn.Conv2d(channels, 32, 1, bias=False)
        self.conv2 = nn.Conv2d(32, growth, 3, padding=1, bias=False)

    def forward(self, parts: list[torch.Tensor]) -> torch.Tensor:
        x = self.conv1(F.relu(self.norm1(torch.cat(parts, 1))))
        return self.conv2(F.relu(self.norm2(x)))


class Dense(nn.Module):
    """A dense block between two transitions."""

    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, padding=1)
        self.layers = nn.ModuleList(Layer(32 + 16 * k) for k in range(depth))
        self.out = nn.Conv2d(32 + 16 * depth, 16, 1)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.uniform_(-1, 1)
                module.running_var.uniform_(0.5, 2)
                nn.init.uniform_(module.weight, 0.5, 2)
                nn.init.uniform_(module.bias, -1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [F.max_pool2d(F.relu(self.stem(x)), 2)]
        for layer in self.layers:
            parts.append(layer(parts))
        return F.avg_pool2d(self.out(F.relu(torch.cat(parts, 1))), 2)


def compiled(function: Callable, *inputs: torch.Tensor, tolerance: float = 2e-3) -> Backend:
    """Assert that results equal eager's in TF32; the backend that compiled the function."""
    torch._dynamo.reset()
    backend = Backend(Settings(interpret=True, cache=False))
    run = torch.compile(function, backend=backend, fullgraph=True)
    with torch.no_grad():
        expected, got = function(*inputs), run(*inputs)
    for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (expected, got)), strict=True):
        assert float((a - b).norm() / a.norm()) < tolerance
        assert a.stride() == b.stride()
    return backend


def source(backend: Backend) -> str:
    return backend.graphs[0].source


def test_a_dense_block_lies_in_one_buffer() -> None:
    torch.manual_seed(0)
    backend = compiled(Dense().eval(), torch.randn(2, 3, 16, 16))
    text = source(backend)
    assert text.count(", 640, 80)") == 1  # its memory, asked for once
    kernels = [k for k in backend.graphs[0].kernels if "tl.dot" not in k.source]
    assert len(kernels) == 5  # images and weights laid out, the stem's pool, the last pool
    assert backend.graphs[0].fallbacks == ("aten.convolution.default",)  # the stem
