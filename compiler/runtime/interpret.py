"""Kernels run under Triton's interpreter, on CPU tensors, in a process of its own.

Triton decides when it's imported whether it interprets, so a process either interprets or builds.
The interpreter here is a helper process: kernels' sources go there once, tensors through shared
memory at each launch.

Every operation of a kernel costs some ten microseconds of Python for each program of the grid:
kernels meant for interpretation should have few programs with large blocks.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import torch

from ..errors import InterpreterError
from ..triton.kernel import Argument, Config, Kernel
from .arena import Arena, layout
from .process import HelperDied, HelperProcess, HelperTimeout
from .sources import source_key

_TYPES = {
    torch.bool: "*i1",
    torch.int8: "*i8",
    torch.int16: "*i16",
    torch.int32: "*i32",
    torch.int64: "*i64",
    torch.uint8: "*u8",
    torch.uint16: "*u16",
    torch.uint32: "*u32",
    torch.uint64: "*u64",
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.float32: "*fp32",
    torch.float64: "*fp64",
    torch.float8_e5m2: "*fp8e5",
    torch.float8_e4m3fn: "*fp8e4nv",
}


class Interpreter:
    """Runs kernels; the process behind it starts with the first launch, or with `start`.

    It may be used from any thread, and in forked children, which start a process of their own.

    Args:
        timeout: Seconds that one launch may take.
    """

    def __init__(self, timeout: float = 600.0) -> None:
        self.timeout = timeout
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._helper: HelperProcess | None = None
        self._arena: Arena | None = None
        self._known: set[str] = set()

    def start(self) -> None:
        """Start the process without waiting for it: it takes seconds to import torch.

        Raises:
            InterpreterError: No process could be started.
        """
        self._own()
        with self._lock:
            self._running()

    def launch(
        self,
        kernel: Kernel,
        config: Config,
        grid: Sequence[int],
        args: Sequence[torch.Tensor | int | float],
    ) -> None:
        """Run `kernel` over `grid`; `args` are its arguments in order, tensors on the CPU.

        Tensors that the kernel writes are written in place, however strided or aliased.

        Raises:
            InterpreterError: The kernel failed (with its traceback), wrote outside the memory of
                its arguments or into one that isn't marked as written; an argument isn't what the
                kernel takes; or the process died or took too long. Tensors are then unchanged.
        """
        tensors, values = _checked(kernel, args)
        self._own()
        if 0 in grid:
            return
        written = [argument.written for argument in kernel.arguments if argument.type[0] == "*"]
        plan = layout(tensors, written)
        key = source_key(kernel.source)
        request: dict = {
            "key": key,
            "name": kernel.name,
            "types": [argument.type for argument in kernel.arguments],
            "blocks": config.blocks,
            "grid": [*grid, 1, 1][:3],
        }
        offsets = iter(plan.offsets)
        request["args"] = [next(offsets) if value is None else value for value in values]
        with self._lock:
            helper, arena = self._running()
            arena.copy_in(plan)
            request["arena"] = [arena.fd, arena.size]
            if key not in self._known:
                request["source"] = kernel.source
            try:
                helper.send(request)
                answer, _ = helper.receive(self.timeout)
            except HelperTimeout as timeout:
                raise InterpreterError(f"kernel {kernel.name}: {timeout}") from None
            except HelperDied as death:
                raise InterpreterError(f"kernel {kernel.name}: {death}") from None
            if "error" in answer:
                raise InterpreterError(f"kernel {kernel.name}: {answer['error']}")
            self._known.add(key)
            piece = arena.broken(plan)
            if piece is not None:
                raise InterpreterError(_trespass(kernel, tensors, piece.address))
            arena.copy_back(plan)

    def close(self) -> None:
        """End the process; a later launch starts another."""
        self._own()
        with self._lock:
            if self._helper is not None:
                self._helper.close()
            if self._arena is not None:
                self._arena.close()
            self._helper = self._arena = None

    def _own(self) -> None:
        """Drop what a forked child inherited: another process's helper, a lock that may be held."""
        if self._pid != os.getpid():
            if self._arena is not None:
                self._arena.close()
            self._reset()

    def _running(self) -> tuple[HelperProcess, Arena]:
        if self._arena is None:
            self._arena = Arena()
        if self._helper is None or not self._helper.usable:
            if self._helper is not None:
                self._helper.close(kill=True)
            self._known.clear()
            environment = {
                "TRITON_INTERPRET": "1",
                # Arrays are small here, and the interpreter is one thread.
                "OMP_NUM_THREADS": "1",
                "MKL_NUM_THREADS": "1",
                "OPENBLAS_NUM_THREADS": "1",
            }
            try:
                self._helper = HelperProcess(
                    "interpreter_process", environment, pass_fds=(self._arena.fd,)
                )
            except HelperDied as failure:
                raise InterpreterError(str(failure)) from None
        return self._helper, self._arena


def _checked(
    kernel: Kernel, args: Sequence[torch.Tensor | int | float]
) -> tuple[list[torch.Tensor], list[int | float | None]]:
    """The tensors among `args`, and all of them with None in a tensor's place."""
    if len(args) != len(kernel.arguments):
        raise InterpreterError(
            f"kernel {kernel.name} takes {len(kernel.arguments)} arguments, not {len(args)}"
        )
    tensors: list[torch.Tensor] = []
    values: list[int | float | None] = []
    for argument, value in zip(kernel.arguments, args):
        wrong = _wrong(argument, value)
        if wrong:
            raise InterpreterError(f"kernel {kernel.name}: argument {argument.name} {wrong}")
        if isinstance(value, torch.Tensor):
            tensors.append(value)
            values.append(None)
        else:
            values.append(value)
    return tensors, values


def _wrong(argument: Argument, value: torch.Tensor | int | float) -> str:
    """What is wrong with a value for an argument; empty when nothing is."""
    if argument.type[0] != "*":
        if isinstance(value, torch.Tensor):
            return f"is a tensor, the kernel takes {argument.type}"
        return ""
    if not isinstance(value, torch.Tensor):
        return f"is {value!r}, the kernel takes {argument.type}"
    if value.device.type != "cpu":
        return f"is on {value.device}, not on the CPU"
    if _TYPES.get(value.dtype) != argument.type:
        return f"is {value.dtype}, the kernel takes {argument.type}"
    if value.is_conj() or value.is_neg():
        return "is a lazily conjugated or negated view"
    return ""


def _trespass(kernel: Kernel, tensors: Sequence[torch.Tensor], address: int) -> str:
    names = [argument.name for argument in kernel.arguments if argument.type[0] == "*"]
    near = next(n for n, tensor in zip(names, tensors) if tensor.data_ptr() == address)
    return (
        f"kernel {kernel.name} wrote outside its arguments' memory, beside {near}, "
        f"or into {near}, which isn't marked as written"
    )


_shared: Interpreter | None = None
_shared_lock = threading.Lock()


def interpreter() -> Interpreter:
    """The one interpreter of this process."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Interpreter()
        return _shared
