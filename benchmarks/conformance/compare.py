"""Copies of inputs that keep every stride, and the comparison of two results."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map


@dataclass(frozen=True, slots=True)
class Result:
    """What a function gave: its output leaves, gradients by input, and the inputs afterwards."""

    outputs: tuple[Any, ...]
    gradients: tuple[torch.Tensor | None, ...]
    inputs: tuple[torch.Tensor, ...]


@dataclass(frozen=True, slots=True)
class Checks:
    """What to compare, beyond shapes and dtypes.

    `rtol` and `atol` are None for torch.testing's defaults; `values` is False for operators that
    return memory as they found it.
    """

    values: bool = True
    strides: bool = True
    rtol: float | None = None
    atol: float | None = None


def fresh(value: Any) -> Any:
    """A copy of nested inputs: same values, sizes, strides and offsets, no shared memory.

    A tensor that appears twice appears twice in the copy; tensors that need gradients are leaves.
    """
    seen: dict[int, torch.Tensor] = {}

    def copied(x: Any) -> Any:
        if isinstance(x, torch.Generator):
            twin = torch.Generator(x.device)
            twin.set_state(x.get_state())
            return twin
        if not isinstance(x, torch.Tensor):
            return x
        if id(x) not in seen:
            seen[id(x)] = _copied(x)
        return seen[id(x)]

    return tree_map(copied, value)


def widened(value: Any) -> Any:
    """A copy of nested inputs as by `fresh`, float32 as float64 and complex64 as complex128."""
    wider = {torch.float32: torch.float64, torch.complex64: torch.complex128}
    seen: dict[int, Any] = {}

    def wide(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        if id(x) not in seen:
            made = x.detach().to(wider.get(x.dtype, x.dtype))
            seen[id(x)] = made.requires_grad_(x.requires_grad)
        return seen[id(x)]

    return tree_map(wide, fresh(value))


def _copied(x: torch.Tensor) -> torch.Tensor:
    plain = x.layout is torch.strided and type(x) in (torch.Tensor, torch.nn.Parameter)
    if not plain or x.is_conj() or x.is_neg() or x.is_quantized:
        twin = copy.deepcopy(x) if x.is_leaf and type(x) is not torch.Tensor else x.detach().clone()
    else:
        bare = x.detach()
        storage = bare.untyped_storage().clone()
        twin = torch.empty(0, dtype=x.dtype, device=x.device)
        twin.set_(storage, bare.storage_offset(), bare.size(), bare.stride())
    return twin.requires_grad_(x.requires_grad)


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in a nested value, each once."""
    found: dict[int, torch.Tensor] = {}
    for leaf in tree_flatten(value)[0]:
        if isinstance(leaf, torch.Tensor):
            found.setdefault(id(leaf), leaf)
    return list(found.values())


def differences(wanted: Result, got: Result, checks: Checks) -> str:
    """The first thing in which `got` differs from `wanted`, in one line; empty when equal."""
    if len(wanted.outputs) != len(got.outputs):
        return f"{len(got.outputs)} outputs instead of {len(wanted.outputs)}"
    for number, (want, have) in enumerate(zip(wanted.outputs, got.outputs)):
        if text := _leaf(want, have, checks):
            return f"output {number}: {text}"
    for number, (want, have) in enumerate(zip(wanted.inputs, got.inputs)):
        if text := _leaf(want, have, checks):
            return f"input {number} afterwards: {text}"
    for number, (want, have) in enumerate(zip(wanted.gradients, got.gradients)):
        if text := _gradient(want, have, checks):
            return f"gradient {number}: {text}"
    return ""


def _leaf(want: Any, have: Any, checks: Checks) -> str:
    if not isinstance(want, torch.Tensor):
        return "" if _same(want, have) else f"{have!r} instead of {want!r}"
    if not isinstance(have, torch.Tensor):
        return f"{type(have).__name__} instead of a tensor"
    if want.requires_grad != have.requires_grad:
        return f"requires_grad is {have.requires_grad} instead of {want.requires_grad}"
    if checks.strides and (text := _strides(want, have)):
        return text
    return _close(want.detach(), have.detach(), checks)


def _same(want: Any, have: Any) -> bool:
    if isinstance(want, float) and isinstance(have, float):
        return math.isclose(want, have, rel_tol=1e-6, abs_tol=1e-5) or want != want != have != have
    return type(want) is type(have) and bool(want == have)


def _gradient(want: torch.Tensor | None, have: torch.Tensor | None, checks: Checks) -> str:
    """A gradient that isn't there stands for zeros."""
    if want is None and have is None:
        return ""
    if want is None or have is None:
        other = want if have is None else have
        assert other is not None
        zero = bool((other == 0).all())
        return "" if zero else f"{'none' if have is None else 'one'} where eager differs"
    return _close(want, have, checks)


def _strides(want: torch.Tensor, have: torch.Tensor) -> str:
    """Strides of dense outputs, where they matter: in dimensions of more than one item."""
    if want.layout is not torch.strided or have.layout is not torch.strided:
        return ""
    if want.shape != have.shape or want.numel() == 0 or not dense(want):
        return ""
    matters = [dim for dim, size in enumerate(want.shape) if size > 1]
    if [want.stride(dim) for dim in matters] == [have.stride(dim) for dim in matters]:
        return ""
    return f"strides {have.stride()} instead of {want.stride()}, shape {tuple(want.shape)}"


def dense(x: torch.Tensor) -> bool:
    """Whether the items fill their memory with no gap and no overlap."""
    expected = 1
    for stride, size in sorted((x.stride(d), x.shape[d]) for d in range(x.dim())):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def _close(want: torch.Tensor, have: torch.Tensor, checks: Checks) -> str:
    if not checks.values:
        want, have = torch.zeros_like(want), torch.zeros_like(have)
    try:
        torch.testing.assert_close(
            have, want, rtol=checks.rtol, atol=checks.atol, equal_nan=True, check_stride=False
        )
    except AssertionError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return "; ".join(lines[:4])
    except (RuntimeError, NotImplementedError, TypeError) as error:
        return f"can't be compared: {first_line(error)}"
    return ""


def first_line(error: BaseException) -> str:
    """The first line of an error, or of the one that it wraps; at most 200 characters."""
    error = getattr(error, "inner_exception", error)
    lines: Sequence[str] = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:200]
