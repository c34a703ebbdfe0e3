"""Convolutions channels-last by kernels of ours: operands and results worked out inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.runtime.build import build_kernels
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


def compiled(function: Callable, *inputs: torch.Tensor, tolerance: float = 5e-3) -> Backend:
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


class Chain(nn.Module):
    """Enough convolutions for channels-last; `function` makes something of them and an image."""

    def __init__(self, function: Callable, *sizes: tuple[int, int, int]) -> None:
        super().__init__()
        self.function = function
        self.convs = nn.ModuleList(
            nn.Conv2d(a, b, side, padding=side // 2, bias=False) for a, b, side in sizes
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        return self.function(x, *self.convs)


def dots(backend: Backend) -> list[str]:
    return [k.source for k in backend.graphs[0].kernels if "tl.dot" in k.source]


@pytest.mark.parametrize("size", [(2, 40, 5, 7), (1, 48, 1, 19), (3, 16, 8, 3)])
def test_sizes_that_no_block_divides(size: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    channels = size[1]

    def f(x: torch.Tensor, a: nn.Module, b: nn.Module, c: nn.Module, d: nn.Module):
        y = b(1 / (2 + a(x).abs()))  # what isn't there must not become 1 / 2
        return d(c(F.relu(y) + 3))

    net = Chain(f, (channels, 24, 1), (24, 40, 3), (40, 24, 1), (24, 24, 3)).eval()
    backend = compiled(net, torch.randn(size))
    assert backend.graphs[0].fallbacks == ()


@pytest.mark.parametrize(
    ("size", "first", "tile"),
    [
        ((4, 32, 32, 32), (32, 128, 1), "[PIXELS, ROWS]"),
        ((16, 64, 32, 32), (64, 32, 3), "[PIXELS, ROWS]"),
        ((4, 64, 32, 32), (64, 32, 3), "[SPLIT, PIXELS, ROWS]"),
    ],
)
def test_every_tile(size: tuple[int, ...], first: tuple[int, int, int], tile: str) -> None:
    torch.manual_seed(2)
    rest = [(first[1], 16, 1), (16, 16, 1), (16, 16, 1)]
    net = Chain(lambda x, a, *others: [x := conv(x) for conv in (a, *others)][-1], first, *rest)
    backend = compiled(net.eval(), torch.randn(size))
    assert f"total = tl.zeros({tile}, tl.float32)" in dots(backend)[0]


def test_a_residual_sum_is_written_by_the_convolution() -> None:
    torch.manual_seed(3)
    norm = nn.BatchNorm2d(32).eval()
    norm.running_mean.uniform_(-1, 1)

    def f(x: torch.Tensor, a: nn.Module, b: nn.Module, c: nn.Module, d: nn.Module):
        y = F.relu(a(x))
        return d(c(F.relu(norm(b(y)) + y)))

    backend = compiled(Chain(f, *[(32, 32, 1), (32, 32, 3)] * 2).eval(), torch.randn(2, 32, 6, 6))
    # Only images and weights are laid out; no kernel of its own adds or norms.
    others = [k.source for k in backend.graphs[0].kernels if "tl.dot" not in k.source]
    assert not any("rsqrt" in text or "v2" in text for text in others)
    assert sum("rsqrt" in text for text in dots(backend)) == 2  # in TF32, and without


def test_a_result_that_is_read_twice_stays_as_it_is() -> None:
    torch.manual_seed(4)

    def f(x: torch.Tensor, a: nn.Module, b: nn.Module, c: nn.Module, d: nn.Module):
        y = a(x)
        z = b(F.relu(y))
        return d(c(z + y)), F.relu(z).sum((2, 3))

    compiled(Chain(f, *[(16, 16, 1)] * 4).eval(), torch.randn(2, 16, 4, 4))


def test_a_result_that_is_read_through_copies() -> None:
    torch.manual_seed(4)

    def f(x: torch.Tensor, a: nn.Module, b: nn.Module, c: nn.Module, d: nn.Module):
        y = a(x).clone()  # two readers of a copy, which is no work of its own
        z = b(F.relu(y)).clone()
        return d(c(y * 2)), F.relu(z).sum((2, 3)), z.clone()

    compiled(Chain(f, *[(16, 16, 1)] * 4).eval(), torch.randn(2, 16, 4, 4))


def test_an_operand_that_is_written_after_the_convolution() -> None:
    torch.manual_seed(4)
    net = Chain(lambda x, *convs: convs[0](x), *[(16, 16, 1)] * 4).eval()

    def f(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a, b, c, d = net.convs
        y = d(c(b(x.relu())))
        z = F.relu(a(x))
        x.mul_(2)
        return z, y

    torch._dynamo.reset()
    run = torch.compile(f, backend=Backend(Settings(interpret=True, cache=False)), fullgraph=True)
    x = torch.randn(2, 16, 4, 4).to(memory_format=torch.channels_last)
    first, second = x.clone(), x.clone()
    with torch.no_grad():
        for got, wanted in zip(run(first), f(second), strict=True):
            torch.testing.assert_close(got, wanted, rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(first, second)


def test_a_bias_and_an_operand_of_another_shape() -> None:
    torch.manual_seed(5)
    bias = nn.Conv2d(16, 16, 1)

    def f(x: torch.Tensor, a: nn.Module, b: nn.Module, c: nn.Module):
        gates = torch.sigmoid(a(x.mean((2, 3), keepdim=True)))
        return c(b(bias(x) * gates) * x.flip(3))

    compiled(Chain(f, *[(16, 16, 1)] * 3).eval(), torch.randn(2, 16, 4, 6))


def test_precision_that_is_forbidden_after_compiling() -> None:
    torch.manual_seed(6)
    net, x = Dense().eval(), torch.randn(2, 3, 16, 16)
    torch._dynamo.reset()
    run = torch.compile(net, backend=Backend(Settings(interpret=True, cache=False)))
    with torch.no_grad():
        run(x)
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            torch.testing.assert_close(run(x), net(x), rtol=1e-5, atol=1e-5)


def joins(function: Callable) -> str:
    torch.manual_seed(7)
    net = Chain(function, *[(16, 16, 1)] * 4, *[(32, 16, 1), (48, 16, 1)]).eval()
    return source(compiled(net, torch.randn(2, 16, 4, 4)))


def home(channels: int) -> str:
    """The strides of images [2, channels, 4, 4] with their channels last."""
    return f"({16 * channels}, 1, {4 * channels}, {channels})"


def test_joins_that_grow_are_windows_on_one_buffer() -> None:
    def f(x: torch.Tensor, a: nn.Module, b: nn.Module, c: nn.Module, _: nn.Module, *joined):
        y, z, w = a(x), b(x), c(x)
        two, three = torch.cat([y, z], 1), torch.cat([y, z, w], 1)
        return joined[0](two), joined[1](three), F.relu(three).amax((2, 3)), three

    text = joins(f)
    assert text.count(f"(2, 48, 4, 4), {home(48)}") == 1
    assert home(32) not in text


@pytest.mark.parametrize("kind", ["order", "twice", "read", "alone", "input", "same"])
def test_joins_that_are_no_windows(kind: str) -> None:
    def f(x: torch.Tensor, a: nn.Module, b: nn.Module, c: nn.Module, d: nn.Module, *joined):
        y, z, w = a(x), b(x), d(c(x))
        small, large = {
            "order": ([y, z], [y, w, z]),
            "twice": ([y, y], [y, y, w]),
            "read": ([y, z], [y, z, w]),
            "alone": ([z, w], [y, z, w]),
            "input": ([x, z], [x, z, w]),
            "same": ([y, z], [y, z]),
        }[kind]
        read = joined[0](torch.cat(small, 1))
        if kind == "same":
            return read, torch.cat(large, 1), torch.cat(small, 1) + w.mean()
        return read, joined[1](torch.cat(large, 1)), (z if kind == "read" else w.sum())

    joins(f)


def test_kernels_build_for_a_gpu() -> None:
    torch.manual_seed(8)
    backend = compiled(Dense(4).eval(), torch.randn(2, 3, 16, 16))
    kernels = [k for k in backend.graphs[0].kernels if "tl.dot" in k.source]
    built = build_kernels([(k, config) for k in kernels for config in k.configs], "cuda:90")
    assert not [error for error in built if isinstance(error, Exception)]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: not run on one")
def test_a_dense_block_on_a_gpu() -> None:
    torch.manual_seed(9)
    net, x = Dense(4).eval().cuda(), torch.randn(16, 3, 64, 64, device="cuda")
    exact = Dense(4).eval().double().cuda()
    exact.load_state_dict({k: v.double() for k, v in net.state_dict().items()})
    for allowed, tolerance in ((True, 3e-3), (False, 2e-6)):
        torch._dynamo.reset()
        run = torch.compile(net, backend=Backend(Settings(cache=False)), fullgraph=True)
        with torch.no_grad(), torch.backends.cudnn.flags(enabled=True, allow_tf32=allowed):
            wanted, got = exact(x.double()), run(x).double()
        assert float((got - wanted).norm() / wanted.norm()) < tolerance
