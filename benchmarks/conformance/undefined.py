"""Samples of torch's operator database whose result eager itself doesn't define."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

BY_ZERO = (
    "an integer remainder by zero: what a GPU gives depends on how the compiler wrote the division"
)
LEFT = "in eval mode eager returns memory as it found it for the saved mean on a GPU"


def undefined(name: str, sample: Sequence[Any], device: str) -> str:
    """Why eager's result of a sample (input, args, kwargs) means nothing; empty if it does."""
    if not device.startswith("cuda"):
        return ""
    value, args, _ = sample
    if name in ("__rmod__", "remainder", "fmod"):
        divisor = value if name == "__rmod__" else args[0]
        whole = isinstance(divisor, int) or (
            isinstance(divisor, torch.Tensor) and not divisor.is_floating_point()
        )
        return BY_ZERO if whole and bool((torch.as_tensor(divisor) == 0).any()) else ""
    if name == "native_batch_norm" and not args[4]:
        return LEFT
    return ""
