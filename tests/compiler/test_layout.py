"""Networks of convolutions whose images are kept channels-last."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.settings import Settings
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    """Every way that images meet: sums, joins, pools, a convolution that is a matrix product."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.one = nn.Conv2d(16, 32, 1)
        self.three = nn.Conv2d(32, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.last = nn.Conv2d(32, 16, 3, stride=2, bias=False)
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        x = F.max_pool2d(F.relu(self.stem(x)), 2)
        y = F.relu(self.norm(self.three(F.gelu(self.one(x)))))
        z = self.last(torch.cat([x + y, y], 1))
        return z, self.head(z.mean((2, 3))), y.flatten(1).cumsum(1)


def compiled(function: Callable) -> tuple[Callable, Backend]:
    torch._dynamo.reset()
    backend = Backend(Settings(interpret=True, cache=False))
    return torch.compile(function, backend=backend, fullgraph=True), backend


@pytest.fixture
def network() -> nn.Module:
    torch.manual_seed(0)
    return Residual().eval()


def assert_same(function: Callable, *inputs: torch.Tensor) -> str:
    run, backend = compiled(function)
    with torch.no_grad(), torch.backends.cudnn.flags(enabled=True, allow_tf32=True):
        expected, got = function(*inputs), run(*inputs)
    for a, b in zip(expected, got, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-3)  # in TF32
        assert a.stride() == b.stride()
    return backend.graphs[0].source


def test_results_have_the_layout_of_eager(network: nn.Module) -> None:
    source = assert_same(network, torch.randn(2, 3, 12, 12))
    assert "(576, 1, 96, 16)" in source  # [2, 16, 6, 6], its channels last
    assert "aten_convolution_default(buf" in source


def test_images_given_channels_last(network: nn.Module) -> None:
    images = torch.randn(2, 3, 12, 12).to(memory_format=torch.channels_last)
    run, _ = compiled(network)
    with torch.no_grad():
        for a, b in zip(network(images), run(images), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-3)  # in TF32


def test_training_keeps_the_layout_that_was_traced(network: nn.Module) -> None:
    run, backend = compiled(network.train())
    x = torch.randn(2, 3, 12, 12)
    state = {k: v.clone() for k, v in network.state_dict().items()}
    network(x)[1].square().sum().backward()
    wanted = torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])
    network.zero_grad()
    network.load_state_dict(state)
    run(x)[1].square().sum().backward()
    got = torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])
    assert float((got - wanted).norm() / wanted.norm()) < 0.02  # in TF32
    assert "(576, 1, 96, 16)" not in backend.graphs[0].source


def test_memory_that_is_asked_for_by_place(network: nn.Module) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        z, head, tail = network(x)
        return torch.as_strided(z.clone(), (2, 3), (3, 1), 5), head, tail

    source = assert_same(function, torch.randn(2, 3, 12, 12))
    assert "(576, 1, 96, 16)" not in source


def test_few_convolutions_are_left_alone() -> None:
    torch.manual_seed(0)
    pair = nn.Sequential(nn.Conv2d(16, 32, 3), nn.Conv2d(32, 16, 3)).eval()
    source = assert_same(lambda x: (pair(x),), torch.randn(2, 16, 8, 8))
    assert ", 1, " not in source.replace(", 1)", "")


def test_without_tf32_only_kernels_of_ours_want_channels_last(network: nn.Module) -> None:
    torch.manual_seed(0)
    wide = nn.Sequential(*(nn.Conv2d(16, 16, 5, padding=2) for _ in range(4))).eval()  # cuDNN's
    for net, images, turned in ((network, (2, 3, 12, 12), True), (wide, (2, 16, 6, 6), False)):
        run, backend = compiled(net)
        with torch.no_grad(), torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            run(torch.randn(images))
        assert ("(576, 1, 96, 16)" in backend.graphs[0].source) == turned
