"""From kernels to functions that launch them, on a GPU or under the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ..settings import Settings
from ..triton.kernel import Kernel
from .interpret import Interpreter

Launcher = Callable[..., None]


def launchers(kernels: Sequence[Kernel], settings: Settings) -> list[Launcher]:
    """One launcher for each kernel: called with the kernel's arguments, in order."""
    if settings.interpret:
        return [interpreted(kernel) for kernel in kernels]
    from .launch import launcher

    return [launcher(kernel) for kernel in kernels]


def grid_of(kernel: Kernel) -> Callable[..., tuple[int, ...]]:
    """The grid as a function of the kernel's integer arguments, in order, and a configuration."""
    integers = [a.name for a in kernel.arguments if not a.type.startswith("*")]
    blocks = [name for name, _ in kernel.configs[0].blocks]
    text = f"lambda {', '.join([*integers, *blocks])}: ({', '.join(kernel.grid)},)"
    return eval(text, {"cdiv": lambda a, b: -(-a // b)})


def interpreted(kernel: Kernel) -> Launcher:
    """Launches through the process that interprets."""
    grid = grid_of(kernel)
    config = kernel.configs[0]
    blocks = [size for _, size in config.blocks]
    first = next(
        (k for k, a in enumerate(kernel.arguments) if not a.type.startswith("*")),
        len(kernel.arguments),
    )

    def launch(*args: Any) -> None:
        programs = grid(*args[first:], *blocks)
        if all(programs):
            _interpreter().launch(kernel, config, programs, args)

    return launch


@lru_cache(maxsize=1)
def _interpreter() -> Interpreter:
    return Interpreter()
