"""The registry of targets: what gets measured, and of which package."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Import name -> distribution name, of every package whose lines the truth may hold.
PACKAGES = {
    "deepctr_torch": "deepctr-torch",
    "denoising_diffusion_pytorch": "denoising-diffusion-pytorch",
    "e3nn": "e3nn",
    "egnn_pytorch": "egnn-pytorch",
    "ema_pytorch": "ema-pytorch",
    "encodec": "encodec",
    "entmax": "entmax",
    "facenet_pytorch": "facenet-pytorch",
    "julius": "julius",
    "lightly": "lightly",
    "lion_pytorch": "lion-pytorch",
    "local_attention": "local-attention",
    "lpips": "lpips",
    "nflows": "nflows",
    "normflows": "normflows",
    "open_clip": "open-clip-torch",
    "performer_pytorch": "performer-pytorch",
    "pytorch_optimizer": "pytorch-optimizer",
    "pytorch_tabnet": "pytorch-tabnet",
    "roma": "roma",
    "rotary_embedding_torch": "rotary-embedding-torch",
    "snntorch": "snntorch",
    "spikingjelly": "spikingjelly",
    "tab_transformer_pytorch": "tab-transformer-pytorch",
    "timm": "timm",
    "torch_audiomentations": "torch-audiomentations",
    "torch_geometric": "torch-geometric",
    "torch_harmonics": "torch-harmonics",
    "torchani": "torchani",
    "torchaudio": "torchaudio",
    "torchcde": "torchcde",
    "torchcrf": "pytorch-crf",
    "torchmetrics": "torchmetrics",
    "torchsde": "torchsde",
    "torchvision": "torchvision",
    "vector_quantize_pytorch": "vector-quantize-pytorch",
    "vit_pytorch": "vit-pytorch",
    "x_transformers": "x-transformers",
    "zuko": "zuko",
}


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to run. `build()` returns (callable, args) or (callable, args, kwargs).

    A module is run in each of `modes`; any other callable once, as "eval". `grad` leaves
    gradients on in eval mode, as a loss or an optimizer's step needs.
    """

    package: str
    name: str
    build: Callable[[], tuple]
    modes: tuple[str, ...]
    grad: bool

    @property
    def id(self) -> str:
        return f"{self.package}::{self.name}"


TARGETS: dict[str, Target] = {}


def add(
    package: str,
    name: str,
    build: Callable[[], tuple],
    *,
    modes: tuple[str, ...] = ("eval", "train"),
    grad: bool = False,
) -> None:
    """Register a target; a second one of the same id is a mistake."""
    if package not in PACKAGES:
        raise ValueError(f"{package} is not in PACKAGES")
    target = Target(package, name, build, modes, grad)
    if target.id in TARGETS:
        raise ValueError(f"two targets named {target.id}")
    TARGETS[target.id] = target


def load_targets() -> None:
    """Import every targets_*.py beside this file. A target imports its package when built."""
    for file in sorted(Path(__file__).parent.glob("targets_*.py")):
        importlib.import_module(file.stem)
