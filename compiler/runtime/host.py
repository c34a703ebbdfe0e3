"""What host programs call by name."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def empty(
    size: Sequence[int], stride: Sequence[int], dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """Memory for a buffer."""
    return torch.empty_strided(size, stride, dtype=dtype, device=device)


def reinterpret(
    tensor: torch.Tensor, size: Sequence[int], stride: Sequence[int], offset: int
) -> torch.Tensor:
    """A window on a tensor's memory, `offset` elements after its first."""
    return torch.as_strided(tensor, size, stride, tensor.storage_offset() + offset)


def laid_out(tensor: torch.Tensor, stride: tuple[int, ...]) -> torch.Tensor:
    """The tensor with the strides that its kernels were written for."""
    if tensor.stride() == stride or tensor.numel() == 0:
        return tensor
    if all(n == 1 or a == b for n, a, b in zip(tensor.shape, tensor.stride(), stride)):
        return tensor
    copy = torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype, device=tensor.device)
    return copy.copy_(tensor)


def tf32_convolutions() -> bool:
    """Whether the user allows convolutions in TF32, as cuDNN's would be now."""
    return torch.backends.cudnn.allow_tf32
