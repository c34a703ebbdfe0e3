"""The workloads of `benchmarks/gpu.py`: a name, a module or function, and fresh inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from gpu_models import Bert, DenseNet, LlamaBlock, ResNet
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
    words = (2, 16, 32, 2, 2) if tiny else (16, 512, 768, 12, 12)

    def encoder() -> nn.Module:
        torch.manual_seed(0)
        return Bert(*words[2:]).to(device, half).eval()

    def sentences() -> tuple:
        return (torch.randint(1000, (words[0], words[1]), device=device),)

    bert = [Work("bert-base b16x512 bf16, inference", encoder, sentences)]
    pixels, pictures = (32, 2) if tiny else (224, 32)

    def residual(kind: torch.dtype) -> Callable:
        def make() -> nn.Module:
            torch.manual_seed(0)
            return ResNet(tiny).to(device, kind).eval()

        return make

    def photos(kind: torch.dtype) -> Inputs:
        return lambda: (torch.randn(pictures, 3, pixels, pixels, device=device, dtype=kind),)

    resnet = [
        Work(
            "resnet50 inference b32 224, TF32 off", residual(torch.float32), photos(torch.float32)
        ),
        Work(
            "resnet50 inference b32 224, TF32 on",
            residual(torch.float32),
            photos(torch.float32),
            tf32=True,
        ),
        Work("resnet50 inference b32 224, bf16", residual(half), photos(half)),
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
        "bert": bert,
        "resnet": resnet,
    }


def _grads(inputs: Inputs) -> Inputs:
    return lambda: tuple(x.requires_grad_() for x in inputs())
