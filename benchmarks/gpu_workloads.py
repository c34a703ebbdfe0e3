"""The workloads of `benchmarks/gpu.py`: a name, a module or function, and fresh inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Inputs = Callable[[], tuple]


@dataclass(frozen=True, slots=True)
class Work:
    """One row of the table.

    Attributes:
        make: Gives the callable to compile; called once for each way.
        inputs: Fresh random inputs.
        train: Forward and backward count, not the forward alone.
        bytes: What must be read and written at least; 0 where arithmetic is the floor.
        tf32: The precision of float32 matrix products.
        tolerance: Relative error (Frobenius norm) against float64 that is always right; more is
            where eager, in the same precision, errs as much.
    """

    name: str
    make: Callable[[], Callable]
    inputs: Inputs
    train: bool = False
    bytes: int = 0
    tf32: bool = False
    tolerance: float = 1e-5
    facts: dict[str, Any] = field(default_factory=dict)


def workloads(device: str, tiny: bool) -> dict[str, list[Work]]:
    """Sections of works, by name."""
    n = 64 if tiny else 4096

    def square() -> tuple:
        return (torch.randn(n, n, device=device),)

    def two() -> tuple:
        return (torch.randn(n, n, device=device), torch.randn(n, n, device=device))

    item = 4 * n * n
    pointwise = [
        Work(
            "sin(x)+cos(y)", lambda: lambda x, y: torch.sin(x) + torch.cos(y), two, bytes=3 * item
        ),
        Work("relu(x+1)*2", lambda: lambda x: F.relu(x + 1) * 2, square, bytes=2 * item),
    ]
    norms = [
        Work(
            "gelu(softmax(x/2)+x)",
            lambda: lambda x: F.gelu(F.softmax(x / 2, -1) + x),
            square,
            bytes=2 * item,
        ),
        Work("layer_norm", lambda: nn.LayerNorm(n, device=device), square, bytes=2 * item),
        Work(
            "gelu(softmax(x/2)+x), backward",
            lambda: lambda x: F.gelu(F.softmax(x / 2, -1) + x),
            _grads(square),
            train=True,
        ),
        Work(
            "layer_norm, backward",
            lambda: nn.LayerNorm(n, device=device),
            _grads(square),
            train=True,
        ),
    ]
    b, d, h = (8, 32, 64) if tiny else (8192, 4096, 16384)
    half = torch.float32 if device == "cpu" else torch.bfloat16

    def perceptron() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(d, h), nn.GELU(), nn.Linear(h, d)).to(device, half)

    mlp = [
        Work(
            "mlp bf16",
            perceptron,
            lambda: (torch.randn(b, d, device=device, dtype=half),),
        )
    ]
    small = [
        Work(
            "small call, 64 elements",
            lambda: lambda x, y: torch.sin(x) + torch.cos(y),
            lambda: (torch.randn(64, device=device), torch.randn(64, device=device)),
            facts={"host": True},
        )
    ]
    side, batch = (32, 2) if tiny else (128, 16)

    def image() -> tuple:
        return (torch.randn(batch, 3, side, side, device=device),)

    def dense(train: bool) -> Callable:
        def make() -> nn.Module:
            torch.manual_seed(0)
            return DenseNet(tiny).to(device).train(train)

        return make

    densenet = [
        Work("densenet121 inference, TF32 off", dense(False), image),
        Work("densenet121 inference, TF32 on", dense(False), image, tf32=True),
    ]
    densenet_train = [
        Work("densenet121 training, TF32 off", dense(True), image, train=True),
        Work("densenet121 training, TF32 on", dense(True), image, True, 0, True),
    ]
    rows = 64 if not tiny else 8
    width = 1024 if not tiny else 32

    def branch() -> Callable:
        torch.manual_seed(0)
        w = torch.randn(width, width, device=device) / width**0.5
        v = torch.randn(width, width, device=device) / width**0.5

        def f(x: torch.Tensor) -> torch.Tensor:
            y = F.gelu(x @ w.to(x.dtype))  # no copy, but where float64 asks for the truth
            y = torch.cond(
                torch.isfinite(y).all(), lambda y: y.clone(), lambda y: torch.nan_to_num(y), (y,)
            )
            return y @ v.to(y.dtype)

        return f

    def loop() -> Callable:
        def f(x: torch.Tensor) -> torch.Tensor:
            i = torch.zeros((), dtype=torch.int64, device=x.device)
            return torch.while_loop(
                lambda i, x: i < 50, lambda i, x: (i + 1, torch.sin(x) * 0.9 + 0.1), (i, x)
            )[1]

        return f

    control = [
        Work(
            "cond on isfinite, 64x1024", branch, lambda: (torch.randn(rows, width, device=device),)
        ),
        Work("while_loop, 50 x 1024", loop, lambda: (torch.randn(width, device=device),)),
    ]
    shape = (2, 16, 64, 2) if tiny else (8, 2048, 1024, 16)

    def block(train: bool) -> Callable:
        def make() -> nn.Module:
            torch.manual_seed(0)
            return LlamaBlock(shape[2], shape[3]).to(device, half).train(train)

        return make

    def tokens() -> tuple:
        return (torch.randn(shape[0], shape[1], shape[2], device=device, dtype=half),)

    llama = [
        Work("llama block b8x2048 bf16, forward", block(False), tokens),
        Work("llama block b8x2048 bf16, training", block(True), tokens, train=True),
    ]
    return {
        "pointwise": pointwise,
        "norms": norms,
        "mlp": mlp,
        "small": small,
        "control": control,
        "densenet": densenet,
        "densenet_train": densenet_train,
        "llama": llama,
    }


def _grads(inputs: Inputs) -> Inputs:
    return lambda: tuple(x.requires_grad_() for x in inputs())


class DenseLayer(nn.Module):
    """BN, ReLU, 1×1, BN, ReLU, 3×3; its input is the concatenation of all before."""

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, parts: list[torch.Tensor]) -> torch.Tensor:
        x = self.conv1(F.relu(self.norm1(torch.cat(parts, 1))))
        return self.conv2(F.relu(self.norm2(x)))


class DenseNet(nn.Module):
    """DenseNet-121 (Huang et al., 2017)."""

    def __init__(self, tiny: bool = False) -> None:
        super().__init__()
        growth, first = (4, 8) if tiny else (32, 64)
        blocks = (2, 2) if tiny else (6, 12, 24, 16)
        self.stem = nn.Sequential(
            nn.Conv2d(3, first, 7, 2, 3, bias=False),
            nn.BatchNorm2d(first),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        channels = first
        self.blocks = nn.ModuleList()
        self.transitions = nn.ModuleList()
        for k, length in enumerate(blocks):
            layers = [DenseLayer(channels + i * growth, growth) for i in range(length)]
            self.blocks.append(nn.ModuleList(layers))
            channels += length * growth
            if k < len(blocks) - 1:
                self.transitions.append(
                    nn.Sequential(
                        nn.BatchNorm2d(channels),
                        nn.ReLU(),
                        nn.Conv2d(channels, channels // 2, 1, bias=False),
                        nn.AvgPool2d(2, 2),
                    )
                )
                channels //= 2
        self.norm = nn.BatchNorm2d(channels)
        self.head = nn.Linear(channels, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for k, layers in enumerate(self.blocks):
            parts = [x]
            for layer in layers:  # type: ignore[union-attr]
                parts.append(layer(parts))
            x = torch.cat(parts, 1)
            if k < len(self.transitions):
                x = self.transitions[k](x)
        x = F.relu(self.norm(x))
        return self.head(x.mean((2, 3)))


class LlamaBlock(nn.Module):
    """RMSNorm, rotary attention, RMSNorm, SwiGLU."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.RMSNorm(width)
        self.norm2 = nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 4 * width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).unbind(2)
        q, k = self.rotate(q), self.rotate(k)
        y = F.scaled_dot_product_attention(
            q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True
        )
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        half = x.shape[-1] // 2
        at = torch.arange(x.shape[1], device=x.device, dtype=torch.float32)
        rate = 10000 ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
        angle = at[:, None, None] * rate
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
