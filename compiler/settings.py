"""What the user asked of one compilation, checked once, then only read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from .errors import UnknownOption

MODES = ("default", "reduce-overhead", "max-autotune")


@dataclass(frozen=True, slots=True)
class Settings:
    """One compilation's choices.

    Args:
        mode: "default", "reduce-overhead" (CUDA graphs) or "max-autotune" (measured
            configurations, and CUDA graphs).
        target: Build kernels ahead of time for this device ("cuda:90", "hip:gfx942") and run the
            graph by ATen. None: run on the device of the inputs.
        interpret: Run the generated kernels under Triton's interpreter, on CPU tensors.
        verify: Check the graph's invariants after every pass; `interpret` always does.
        cache: Use the cache on disk.
        collect: When a function can't be captured, look for every graph break, if need be by
            running the function once.
    """

    mode: str = "default"
    target: str | None = None
    interpret: bool = False
    verify: bool = False
    cache: bool = True
    collect: bool = True

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UnknownOption(f"mode={self.mode!r}: choose one of {', '.join(MODES)}")

    @classmethod
    def of(
        cls,
        mode: str | None = None,
        target: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Settings:
        """Settings from the arguments of `compile` or `torch.compile`.

        Raises:
            UnknownOption: A mode or an option that doesn't exist.
        """
        known = {field.name for field in fields(cls)} - {"mode", "target"}
        for name in options or {}:
            if name not in known:
                raise UnknownOption(f"option {name!r}: choose from {', '.join(sorted(known))}")
        return cls(mode=mode or "default", target=target, **(options or {}))
