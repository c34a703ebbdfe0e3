"""A generated kernel as a value: its text, its arguments and the ways to launch it.

Nothing here needs a GPU or imports Triton: the runtime builds, launches or interprets it.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Argument:
    """One run-time argument of a kernel.

    `type` is Triton's name for it: "*fp32" (a pointer), "i32", "i64", "fp32", "fp64".
    `divisible` says that it is a multiple of 16 (a pointer's address in bytes, a size in items),
    which lets Triton use wide loads. `written` marks pointers that the kernel stores through.
    """

    name: str
    type: str
    divisible: bool = False
    written: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    """One way to launch a kernel: block sizes (its constexpr arguments), warps and stages."""

    blocks: tuple[tuple[str, int], ...]
    num_warps: int = 4
    num_stages: int = 2


@dataclass(frozen=True, slots=True)
class Kernel:
    """A Triton kernel.

    Args:
        name: The function's name in `source`.
        source: A whole Python module that imports triton and defines the function with
            `@triton.jit`; its parameters are `arguments` by name, in order, and then the names of
            the configs' blocks as `tl.constexpr`.
        arguments: The run-time arguments.
        configs: At least one; the first is the heuristic's choice, the others are what
            max-autotune tries.
        grid: One to three Python expressions over the integer arguments' names and the block names,
            with `cdiv(a, b)` for the rounded-up quotient: ("cdiv(xnumel, XBLOCK)",).
        origins: The user's lines that it computes, "file.py:12: y = x.sin()".
    """

    name: str
    source: str
    arguments: tuple[Argument, ...]
    configs: tuple[Config, ...]
    grid: tuple[str, ...]
    origins: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        """The source, under a line that says how it is launched."""
        blocks = ", ".join(f"{name}={size}" for name, size in self.configs[0].blocks)
        return f"# {self.name}[{', '.join(self.grid)}] with {blocks}\n{self.source}"
