"""Programs and built kernels, from the cache where they are there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..errors import BuildError
from ..settings import Settings
from ..triton.kernel import Kernel
from .build import Built, build_kernels
from .entries import decode_built, decode_program, encode_built, encode_program
from .keys import graph_key, kernel_key
from .program import Program
from .store import STORE
from .symbols import Unkeyable
from .versions import device_target

log = logging.getLogger("compile_lint.cache")


def cached_program(
    gm: torch.fx.GraphModule,
    inputs: Sequence[Any],
    settings: Settings,
    stage: str,
    make: Callable[[], Program],
) -> Program:
    """The program of a graph; `make` lowers it when the cache doesn't have it."""
    key = graph_key(gm, inputs, settings, stage) if settings.cache else None
    if key is None:
        return make()
    target = target_for(inputs, settings)
    data = STORE.get("program", key, target)
    if data is not None:
        try:
            return decode_program(data, gm)
        except ValueError as error:
            log.warning("a cached program can't be used, it's made anew: %s", error)
            STORE.discard("program", key)
    program = make()
    try:
        STORE.put("program", key, encode_program(program, gm), target)
    except Unkeyable as reason:
        log.debug("a program isn't cached: it holds %s", reason)
    return program


def target_for(values: Sequence[Any], settings: Settings) -> str:
    """What a graph's kernels are built for: as asked, else the GPU of its tensors, else "cpu"."""
    if settings.target is not None:
        return settings.target
    devices = [x.device for x in values if isinstance(x, torch.Tensor)]
    gpu = next((d for d in devices if d.type == "cuda"), None)
    return device_target(gpu) if gpu is not None else "cpu"


def build_cached(kernels: Sequence[Kernel], target: str, use_cache: bool) -> tuple[Built, ...]:
    """Each kernel's first configuration, built for `target`; those not cached side by side.

    Raises:
        UnsupportedTarget: `target` isn't one that kernels can be built for.
        BuildError: Triton refused a kernel.
    """
    found: dict[int, Built] = {}
    keys = [kernel_key(kernel, kernel.configs[0], target) for kernel in kernels]
    if use_cache:
        for k, key in enumerate(keys):
            data = STORE.get("binary", key, target)
            if data is not None:
                try:
                    found[k] = decode_built(data)
                except ValueError as error:
                    log.warning("a cached kernel can't be used, it's built anew: %s", error)
                    STORE.discard("binary", key)
    missing = [k for k in range(len(kernels)) if k not in found]
    made = build_kernels([(kernels[k], kernels[k].configs[0]) for k in missing], target)
    for k, built in zip(missing, made):
        if isinstance(built, BuildError):
            raise built
        found[k] = built
        if use_cache:
            STORE.put("binary", keys[k], encode_built(built), target)
    return tuple(found[k] for k in range(len(kernels)))
