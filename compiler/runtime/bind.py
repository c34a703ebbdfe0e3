"""From kernels to functions that launch them, on a GPU or under the interpreter."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..settings import Settings
from ..triton.kernel import Config, Kernel
from .build import Built
from .grid import grid_sources
from .interpret import interpreter
from .keys import autotune_key
from .launch import launcher, measure, target_of
from .prepare import build_cached
from .store import STORE

Launcher = Callable[..., None]
log = logging.getLogger("compile_lint.kernels")


def launchers(
    kernels: Sequence[Kernel], settings: Settings, device: torch.device | None
) -> list[Launcher]:
    """One launcher for each kernel: called with the kernel's arguments, in order.

    Raises:
        BuildError: A kernel can't be built for the device, or not be loaded.
    """
    if settings.interpret:
        return [interpreted(kernel) for kernel in kernels]
    if device is None or not kernels:
        return []
    built = build_cached(kernels, target_of(device), settings.cache)
    if settings.mode == "max-autotune":
        return [Tuned(k, device, b, settings.cache) for k, b in zip(kernels, built)]
    return [launcher(k, k.configs[0], device, b) for k, b in zip(kernels, built)]


class Tuned:
    """Launches the fastest configuration, measured at the first call and remembered on disk."""

    def __init__(self, kernel: Kernel, device: torch.device, built: Built, cache: bool) -> None:
        self._kernel = kernel
        self._device = device
        self._built = built
        self._cache = cache
        self._launch: Launcher | None = None

    def __call__(self, *args: Any) -> None:
        if self._launch is None:
            self._launch = self._chosen(args)
        self._launch(*args)

    def _chosen(self, args: Sequence[Any]) -> Launcher:
        kernel, target = self._kernel, target_of(self._device)
        first = config = kernel.configs[0]
        if len(kernel.configs) > 1 and not torch.cuda.is_current_stream_capturing():
            config = self._remembered(args, target)
        built = self._built if config == first else None
        log.info("%s runs with %s", kernel.name, config)
        return launcher(kernel, config, self._device, built)

    def _remembered(self, args: Sequence[Any], target: str) -> Config:
        kernel = self._kernel
        sizes = [1 << a.bit_length() for a in args if isinstance(a, int)]
        key = autotune_key(kernel, self._device, sizes)
        data = STORE.get("autotune", key, target) if self._cache else None
        if data is not None:
            place = json.loads(data).get("config")
            if isinstance(place, int) and 0 <= place < len(kernel.configs):
                return kernel.configs[place]
            STORE.discard("autotune", key)
        best = measure(kernel, kernel.configs, args, self._device)
        if self._cache:
            place = kernel.configs.index(best)
            STORE.put("autotune", key, json.dumps({"config": place}).encode(), target)
        return best


def interpreted(kernel: Kernel) -> Launcher:
    """Launches through the process that interprets."""
    config = kernel.configs[0]
    names = [argument.name for argument in kernel.arguments]
    grid = eval(f"lambda {', '.join(names)}: ({', '.join(grid_sources(kernel, config))})")

    def launch(*args: Any) -> None:
        programs = grid(*args)
        if all(programs):
            interpreter().launch(kernel, config, programs, args)

    return launch
