"""Kernels compiled ahead of time, for a named GPU; no GPU is needed.

`build_kernel` compiles one in this process. `build_kernels` compiles many in helper processes,
since Triton takes a tenth of a second to some seconds for each.
"""

from __future__ import annotations

import os
import queue
import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..errors import BuildError, UnsupportedTarget
from ..triton.kernel import Config, Kernel
from .process import HelperDied, HelperProcess
from .resources import of_amdgcn, of_cubin, ptx_parameters
from .sources import load_source
from .wire import config_to_json, kernel_to_json

# What Triton 3.6 and 3.7 both have code for.
_CUDA = frozenset({75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121})
_HIP_WARPS = {"gfx90a": 64, "gfx942": 64, "gfx950": 64}
_MAX_WORKERS = 16


@dataclass(frozen=True, slots=True)
class Built:
    """A compiled kernel.

    Args:
        target: The device it was built for, "cuda:90".
        name: The kernel's name, in the binary too.
        binary: The cubin (CUDA) or hsaco (HIP).
        assembly: The PTX or the AMDGCN text.
        registers: Registers per thread (HIP: vector registers per lane).
        spills: Spilled 32-bit words per thread.
        shared: Shared memory per block, in bytes.
        num_warps: Warps per block.
        metadata: JSON values, what a launch needs besides: "types" of the arguments, "blocks",
            "extra_pointers" (parameters that the compiler added, to be passed as null),
            "warp_size", "num_stages", "triton" (its version).
    """

    target: str
    name: str
    binary: bytes
    assembly: str
    registers: int
    spills: int
    shared: int
    num_warps: int
    metadata: dict[str, Any]

    def header(self) -> dict[str, Any]:
        """All but the binary and the assembly, as JSON values; see `of`."""
        return {
            "target": self.target,
            "name": self.name,
            "registers": self.registers,
            "spills": self.spills,
            "shared": self.shared,
            "num_warps": self.num_warps,
            "metadata": self.metadata,
        }

    @classmethod
    def of(cls, header: Mapping[str, Any], binary: bytes, assembly: str) -> Built:
        """The value again, from its `header()`, binary and assembly."""
        return cls(binary=binary, assembly=assembly, **header)


def check_target(target: str) -> tuple[str, int | str, int]:
    """A target's back end, architecture and warp size: "cuda:90" → ("cuda", 90, 32).

    Raises:
        UnsupportedTarget: It isn't one that kernels can be built for.
    """
    backend, _, arch = target.partition(":")
    if backend == "cuda" and re.fullmatch(r"\d{2,3}", arch) and int(arch) in _CUDA:
        return "cuda", int(arch), 32
    if backend == "hip" and arch in _HIP_WARPS:
        return "hip", arch, _HIP_WARPS[arch]
    known = [f"cuda:{arch}" for arch in sorted(_CUDA)] + [f"hip:{arch}" for arch in _HIP_WARPS]
    raise UnsupportedTarget(f"target {target!r}: choose one of {', '.join(known)}")


def build_kernel(kernel: Kernel, config: Config, target: str) -> Built:
    """Compile one kernel for `target`, in this process.

    Raises:
        UnsupportedTarget: `target` isn't one that kernels can be built for.
        BuildError: Triton refused the kernel.
    """
    backend, arch, warp_size = check_target(target)
    try:
        compiled = _compile(kernel, config, backend, arch, warp_size)
    except Exception as failure:
        what = f"{type(failure).__name__}: {failure}"
        raise BuildError(f"kernel {kernel.name} for {target}: {what}") from failure
    binary, assembly = compiled.asm[_BINARY[backend]], compiled.asm[_ASSEMBLY[backend]]
    meta = compiled.metadata
    for scratch in ("global_scratch_size", "profile_scratch_size"):
        if getattr(meta, scratch, 0):
            raise BuildError(f"kernel {kernel.name} for {target}: it needs {scratch}")
    if backend == "cuda":
        registers, spills = of_cubin(binary, kernel.name, assembly)
        extra = ptx_parameters(assembly, kernel.name) - len(kernel.arguments)
    else:
        registers, spills = of_amdgcn(assembly)
        extra = 2  # the ABI's global and profile scratch, always there
    return Built(
        target=target,
        name=kernel.name,
        binary=binary,
        assembly=assembly,
        registers=registers,
        spills=spills,
        shared=meta.shared,
        num_warps=meta.num_warps,
        metadata={
            "types": [argument.type for argument in kernel.arguments],
            "blocks": dict(config.blocks),
            "extra_pointers": extra,
            "warp_size": warp_size,
            "num_stages": config.num_stages,
            "triton": meta.triton_version,
        },
    )


_BINARY = {"cuda": "cubin", "hip": "hsaco"}
_ASSEMBLY = {"cuda": "ptx", "hip": "amdgcn"}


def _compile(kernel: Kernel, config: Config, backend: str, arch: int | str, warp_size: int) -> Any:
    # Triton is imported by need: a process that only runs by ATen never pays for it.
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    function = getattr(load_source(kernel.source), kernel.name)
    if not hasattr(function, "cache_key"):
        raise RuntimeError("TRITON_INTERPRET is set: this process interprets and can't build")
    names = [argument.name for argument in kernel.arguments] + [name for name, _ in config.blocks]
    if list(function.arg_names) != names:
        raise TypeError(f"its parameters are {function.arg_names}, not {names}")
    signature = {argument.name: argument.type for argument in kernel.arguments}
    signature.update({name: "constexpr" for name, _ in config.blocks})
    first = len(kernel.arguments)
    constants = {(first + i,): size for i, (_, size) in enumerate(config.blocks)}
    attributes = {
        (i,): [["tt.divisibility", 16]]
        for i, argument in enumerate(kernel.arguments)
        if argument.divisible
    }
    options = {
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        # Eager rounds after every operator. Contracted, x·y - x·y is no zero but a rounding error.
        "enable_fp_fusion": False,
    }
    return triton.compile(
        ASTSource(function, signature, constexprs=constants, attrs=attributes),
        target=GPUTarget(backend, arch, warp_size),
        options=options,
    )


class _Pool:
    """Helper processes that build, kept for the next graph. They end themselves when idle."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.idle: list[HelperProcess] = []

    def start(self, count: int) -> None:
        with self.lock:
            self.idle = [helper for helper in self.idle if helper.usable]
            while len(self.idle) < count:
                self.idle.append(_new_builder())

    def build(self, kernel: Kernel, config: Config, target: str) -> Built:
        request = {
            "kernel": kernel_to_json(kernel),
            "config": config_to_json(config),
            "target": target,
        }
        for last in (False, True):  # the first helper may just have ended, being idle
            with self.lock:
                helper = self.idle.pop() if self.idle and not last else _new_builder()
            try:
                helper.send(request)
                answer, payload = helper.receive()
            except HelperDied as death:
                if last:
                    raise BuildError(f"kernel {kernel.name} for {target}: {death}") from None
                continue
            with self.lock:
                self.idle.append(helper)
            if "error" in answer:
                raise BuildError(answer["error"])
            split = answer["binary"]
            return Built.of(answer["header"], payload[:split], payload[split:].decode())
        raise AssertionError("unreachable")


def _new_builder() -> HelperProcess:
    # One process interprets or builds, never both.
    return HelperProcess("build_process", {"TRITON_INTERPRET": "0"})


_pool = _Pool()


def _workers_for(count: int, workers: int | None) -> int:
    if workers is None:
        workers = min(_MAX_WORKERS, len(os.sched_getaffinity(0)))
    return max(1, min(workers, count))


def warm_workers(workers: int | None = None) -> None:
    """Start helper processes without waiting for them, so that they stand ready when needed."""
    _own_pool().start(_workers_for(_MAX_WORKERS, workers))


def build_kernels(
    kernels: Sequence[tuple[Kernel, Config]], target: str, workers: int | None = None
) -> list[Built | BuildError]:
    """Compile many kernels, each (kernel, config), in `workers` processes (one a CPU by default).

    Returns:
        In the order given: the compiled kernel, or the error of one that Triton refused.

    Raises:
        UnsupportedTarget: `target` isn't one that kernels can be built for.
    """
    check_target(target)
    count = _workers_for(len(kernels), workers)
    if len(kernels) <= 2 or count == 1:
        return [_tried(build_kernel, kernel, config, target) for kernel, config in kernels]
    pool = _own_pool()
    pool.start(count)
    # Each thread waits for one helper; the longest sources first, so that none is left for last.
    order = sorted(range(len(kernels)), key=lambda i: -len(kernels[i][0].source))
    tasks: queue.SimpleQueue[int] = queue.SimpleQueue()
    for i in order:
        tasks.put(i)
    results: dict[int, Built | BuildError] = {}

    def work() -> None:
        while True:
            try:
                i = tasks.get_nowait()
            except queue.Empty:
                return
            results[i] = _tried(pool.build, *kernels[i], target)

    with ThreadPoolExecutor(count) as threads:
        for running in [threads.submit(work) for _ in range(count)]:
            running.result()
    return [results[i] for i in range(len(kernels))]


def _tried(build: Any, kernel: Kernel, config: Config, target: str) -> Built | BuildError:
    try:
        return build(kernel, config, target)
    except BuildError as error:
        return error


def _own_pool() -> _Pool:
    """This process's pool: a forked child can't use its parent's helpers."""
    global _pool
    if _pool.pid != os.getpid():
        _pool = _Pool()
    return _pool
