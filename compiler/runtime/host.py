"""What host programs call by name.

A call of a few kernels costs what its host program costs: so torch's own shortcuts are used for
memory, for windows on it and for operators, where this build of torch has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch._C._dynamo import guards

# Bindings that check arguments faster than the operators' own calls do.
_BINDINGS: dict[str, Callable] = {
    "aten::mm": torch.mm,
    "aten::bmm": torch.bmm,
    "aten::addmm": torch.addmm,
    "aten::cat": torch.cat,
    "aten::convolution": torch.convolution,
}


def operator(overload: torch._ops.OpOverload) -> Callable:
    """What runs an operator, without Python in between."""
    if overload._overloadname == "default" and overload.name() in _BINDINGS:
        return _BINDINGS[overload.name()]
    return getattr(overload, "_op", overload)


def empty(
    size: Sequence[int], stride: Sequence[int], dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """Memory for a buffer."""
    return torch.empty_strided(size, stride, dtype=dtype, device=device)


def _empty_cuda(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


def _reinterpret(
    tensor: torch.Tensor, size: Sequence[int], stride: Sequence[int], offset: int
) -> torch.Tensor:
    return torch.as_strided(tensor, size, stride, tensor.storage_offset() + offset)


# Memory for a buffer on the current GPU, which is the program's: (size, stride, dtype).
empty_cuda = getattr(guards, "_empty_strided_cuda", _empty_cuda)
# A window on a tensor's memory: (tensor, size, stride, elements after the tensor's first).
reinterpret = getattr(guards, "_reinterpret_tensor", _reinterpret)


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
