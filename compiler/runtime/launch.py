"""Kernels launched on a GPU, with as little Python in between as there can be.

A launcher is a function written for one kernel and one config: it works out the grid, takes the
tensors' addresses and calls PyTorch's own C++ launcher, or the CUDA driver where PyTorch has none.

A kernel may have been promised that addresses and sizes are multiples of 16. Each launch checks
what it's given; where a promise doesn't hold it launches the same kernel built without promises.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import struct
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..errors import BuildError
from ..triton.kernel import Config, Kernel
from .build import Built, build_kernel, build_kernels
from .cuda_driver import check, library, load_function, make_current, primary_context
from .grid import grid_sources
from .versions import device_target

_log = logging.getLogger(__name__)
# How PyTorch's launcher names types, and how `struct` lays them out in slots of 8 bytes.
_TORCH_CODES = {
    "i1": "i", "i8": "b", "i16": "h", "i32": "i", "i64": "l",
    "u8": "B", "u16": "H", "u32": "I", "u64": "K", "fp32": "f", "fp64": "d",
}  # fmt: skip
_STRUCT_CODES = {
    "i1": "i4x", "i8": "b7x", "i16": "h6x", "i32": "i4x", "i64": "q",
    "u8": "B7x", "u16": "H6x", "u32": "I4x", "u64": "Q", "fp32": "f4x", "fp64": "d",
}  # fmt: skip
_MOST_PROGRAMS = 2**31 - 1
WAYS = ("static", "driver")


def target_of(device: torch.device | str | int) -> str:
    """The build target of a GPU here: "cuda:90", "hip:gfx942"."""
    return device_target(torch.device("cuda", _index(device)))


def broken_promises(kernel: Kernel, args: Sequence[Any]) -> tuple[str, ...]:
    """Names of the arguments that were promised to be multiples of 16 and aren't."""
    return tuple(
        argument.name
        for argument, value in zip(kernel.arguments, args)
        if argument.divisible
        and (value.data_ptr() if isinstance(value, torch.Tensor) else value) % 16
    )


def launcher(
    kernel: Kernel,
    config: Config,
    device: torch.device | str | int,
    built: Built | None = None,
    way: str | None = None,
) -> Callable[..., None]:
    """A function that launches `kernel` with its arguments in order, on the current stream.

    It may be called from any thread and under CUDA graph capture. The caller has made `device`
    the current device: that is for a whole host program to do, not for each kernel.

    Args:
        kernel: The kernel.
        config: How to launch it.
        device: The GPU; an index or a device with or without one.
        built: The kernel, if it was built before; it's built here otherwise.
        way: One of WAYS; the cheapest that there is by default.

    Raises:
        BuildError: The kernel can't be built, or not be loaded on this device.
    """
    index = _index(device)
    if built is None:
        built = build_kernel(kernel, config, target_of(index))
    if way is None:
        way = "static" if _static() is not None else "driver"
    try:
        with torch.cuda.device(index):
            namespace = _PREPARE[way](built, index)
    except RuntimeError as failure:
        raise BuildError(f"kernel {kernel.name} can't be loaded: {failure}") from failure
    spare = functools.cache(
        lambda: launcher(_unpromised(kernel), config, index, way=way)  # built by need, once
    )

    def unpromised(*args: Any) -> None:
        spare()(*args)

    namespace.update(
        _stream=_stream_of(),
        _device=index,
        _unpromised=unpromised,
        # PyTorch's launcher multiplies the grid's sizes as C ints.
        _large=_lazily(kernel, config, index, built),
    )
    text = _source(kernel, config, way, built.metadata["extra_pointers"])
    exec(compile(text, f"<launcher of {kernel.name}>", "exec"), namespace)
    return namespace["launch"]


def measure(
    kernel: Kernel,
    configs: Sequence[Config],
    args: Sequence[Any],
    device: torch.device | str | int | None = None,
) -> Config:
    """The fastest of `configs` on these arguments, whose tensors stay as they are.

    Raises:
        BuildError: None of them can be built and launched.
    """
    return min(timings(kernel, configs, args, device), key=lambda pair: pair[1])[0]


def timings(
    kernel: Kernel,
    configs: Sequence[Config],
    args: Sequence[Any],
    device: torch.device | str | int | None = None,
) -> list[tuple[Config, float]]:
    """Each config that can be built and launched, with its median time in milliseconds.

    Raises:
        BuildError: None of them can.
    """
    from triton.testing import do_bench

    if device is None:
        device = next(arg.device for arg in args if isinstance(arg, torch.Tensor))
    index = _index(device)
    # Repeated runs would change what the kernel writes.
    trial = [
        _copied(value) if argument.written else value
        for argument, value in zip(kernel.arguments, args)
    ]
    found: list[tuple[Config, float]] = []
    failure: Exception | None = None
    all_built = build_kernels([(kernel, config) for config in configs], target_of(index))
    for config, built in zip(configs, all_built):
        if isinstance(built, BuildError):
            failure = built
            continue
        try:
            launch = launcher(kernel, config, index, built)
            with torch.cuda.device(index):
                time: Any = do_bench(
                    functools.partial(launch, *trial), warmup=5, rep=25, return_mode="median"
                )
        except RuntimeError as error:  # a BuildError too: too much shared memory, say
            failure = error
            continue
        found.append((config, float(time)))
    if not found:
        raise BuildError(f"no config of kernel {kernel.name} can be launched") from failure
    return found


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    copy = torch.empty_strided(
        tensor.size(), tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    return copy.copy_(tensor)


def _source(kernel: Kernel, config: Config, way: str, extra_pointers: int) -> str:
    """The launcher's text."""
    arguments = kernel.arguments
    names = [argument.name for argument in arguments]
    pointer = [argument.type[0] == "*" for argument in arguments]
    lines = [f"def launch({', '.join(names)}):"]
    sizes = list(grid_sources(kernel, config))
    addresses = [f"_p{i}" if pointer[i] else name for i, name in enumerate(names)]
    lines += [f"    _p{i} = {name}.data_ptr()" for i, name in enumerate(names) if pointer[i]]
    promised = [addresses[i] for i, argument in enumerate(arguments) if argument.divisible]
    if promised:
        lines += [
            f"    if ({' | '.join(promised)}) & 15:",
            f"        return _unpromised({', '.join(names)})",
        ]
    for axis, size in zip("xyz", sizes):
        lines.append(f"    _{axis} = {size}")
    grid = "_x, _y, _z"
    values = [*addresses, *["0"] * extra_pointers]
    if way == "static":
        if len(kernel.grid) > 1:
            lines += [
                f"    if _x * _y * _z > {_MOST_PROGRAMS}:",
                f"        return _large({', '.join(names)})",
            ]
        packed = "".join(f"{value}, " for value in values)
        call = f"_function, {grid}, _warps, _shared, _types, ({packed}), _stream(_device)"
        lines.append(f"    _launch({call})")
    else:
        lines += [
            "    if not (_x and _y and _z):",
            "        return",
            "    with _lock:",  # one buffer: no other thread may fill it before the driver read it
            "        _ask(_at)",
            "        if _held.value != _context:",  # a thread that CUDA's runtime doesn't know
            "            _enter(_context)",
            f"        _pack(_buffer, 0, {', '.join(values)})" if values else "        pass",
            f"        code = _launch(_function, {grid}, _threads, 1, 1, _shared,"
            " _stream(_device), _parameters, None)",
            "    if code:",
            "        _check(code)",
        ]
    return "\n".join(lines) + "\n"


def _static() -> Any:
    """PyTorch's C++ launcher of Triton kernels, where this build has one."""
    return getattr(torch._C, "_StaticCudaLauncher", None)


def _by_static(built: Built, device: int) -> dict[str, Any]:
    static = _static()
    types = "".join(_code(kind, _TORCH_CODES, "O") for kind in built.metadata["types"])
    fd, path = tempfile.mkstemp(suffix=".bin", prefix="compile_lint_")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(built.binary)
        # PyTorch 2.11: (function, registers, spills); later the module comes first.
        loaded = static._load_kernel(path, built.name, built.shared, device)
    finally:
        os.unlink(path)
    return {
        "_launch": static._launch_kernel,
        "_function": loaded[-3],
        "_warps": built.num_warps,
        "_shared": built.shared,
        "_types": types + "O" * built.metadata["extra_pointers"],
    }


def _by_driver(built: Built, device: int) -> dict[str, Any]:
    kinds = [_code(kind, _STRUCT_CODES, "Q") for kind in built.metadata["types"]]
    slots = struct.Struct("=" + "".join(kinds) + "Q" * built.metadata["extra_pointers"])
    buffer = ctypes.create_string_buffer(max(8, slots.size))
    start = ctypes.addressof(buffer)
    count = slots.size // 8
    held = ctypes.c_void_p()
    parameters = (ctypes.c_void_p * max(1, count))(*(start + 8 * i for i in range(count)))
    return {
        "_launch": library().cuLaunchKernel,
        "_function": load_function(built.binary, built.name, built.shared, device),
        "_context": primary_context(device),
        "_held": held,
        "_at": ctypes.byref(held),
        "_ask": library().cuCtxGetCurrent,
        "_enter": make_current,
        "_threads": built.num_warps * built.metadata["warp_size"],
        "_shared": built.shared,
        "_pack": slots.pack_into,
        "_buffer": buffer,
        "_parameters": parameters,
        "_lock": threading.Lock(),
        "_check": check,
    }


_PREPARE = {"static": _by_static, "driver": _by_driver}


def _code(kind: str, codes: dict[str, str], pointer: str) -> str:
    if kind[0] == "*":
        return pointer
    if kind not in codes:
        raise BuildError(f"an argument of type {kind} can't be passed")
    return codes[kind]


def _lazily(kernel: Kernel, config: Config, index: int, built: Built) -> Callable[..., None]:
    """A launcher by the driver that is made when it is first called."""
    made = functools.cache(lambda: launcher(kernel, config, index, built, way="driver"))
    return lambda *args: made()(*args)


def _unpromised(kernel: Kernel) -> Kernel:
    _log.info("kernel %s met an argument that isn't a multiple of 16", kernel.name)
    free = tuple(replace(argument, divisible=False) for argument in kernel.arguments)
    return replace(kernel, arguments=free)


def _stream_of() -> Callable[[int], int]:
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return raw or (lambda device: torch.cuda.current_stream(device).cuda_stream)


def _index(device: torch.device | str | int) -> int:
    if isinstance(device, int):
        return device
    index = torch.device(device).index
    return torch.cuda.current_device() if index is None else index
