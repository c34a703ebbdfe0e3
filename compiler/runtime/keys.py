"""Keys of the cache: SHA-256 over text that says all that the cached value rests on.

A graph's key takes in the graph (`canonical.GraphText`), the settings, torch with its build,
Triton, our own sources, Python's minor version and the capability of every device in the graph. A
kernel's key takes in only what Triton sees, so a kernel built ahead of time on a machine with no
GPU, under another build of the same torch release, is found on the machine that has the card.
Autotuning depends on the very card and on sizes, so its key has the card's name too.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import torch

from ..settings import Settings
from ..triton.kernel import Config, Kernel
from .canonical import GraphText
from .host import tf32_convolutions
from .symbols import Unkeyable, canonical_symbols
from .versions import device_target, own_digest, own_version, triton_version

__all__ = ["autotune_key", "canonical_symbols", "graph_key", "graph_text", "kernel_key"]

logger = logging.getLogger("compile_lint.cache")

# Settings that don't change what is compiled.
_NO_MATTER = frozenset({"cache", "collect"})
# Variables of Triton that move files or print, and change no kernel.
_QUIET = ("_CACHE_DIR", "_DUMP_DIR", "_HOME", "_CACHE_MANAGER", "_INTERPRET", "_PRINT_AUTOTUNING")
_BUILD_VARIABLES = ("ALLOW_LHS_TMEM_LAYOUT_CONVERSION", "DISABLE_LLVM_OPT", "DISABLE_PTXAS_OPT")


def graph_key(
    gm: torch.fx.GraphModule, inputs: Sequence[Any], settings: Settings, stage: str
) -> str | None:
    """The key of a graph's program; None if part of the graph can't be keyed, and why is logged.

    `inputs` are the fake tensors and symbolic numbers that AOTAutograd passes to a compiler.
    """
    try:
        text = graph_text(gm, inputs, settings, stage)
    except Unkeyable as reason:
        logger.debug("a graph isn't cached: it holds %s", reason)
        return None
    return _sha256(text)


def graph_text(
    gm: torch.fx.GraphModule, inputs: Sequence[Any], settings: Settings, stage: str
) -> str:
    """What `graph_key` hashes, a line for each fact: compare two of them to see why one missed.

    Raises:
        Unkeyable: Part of the graph has no text that means the same in another process.
    """
    graph = GraphText(gm, inputs)
    chosen = {field.name: getattr(settings, field.name) for field in fields(settings)}
    lines = [
        *_ours(),
        f"torch {torch.__version__} cuda {torch.version.cuda} hip {torch.version.hip}",
        f"python {sys.version_info[0]}.{sys.version_info[1]}",
        f"deterministic {torch.are_deterministic_algorithms_enabled()}",
        f"matmul {torch.get_float32_matmul_precision()}",
        f"convolutions {tf32_convolutions()}",
        f"stage {stage}",
        *(f"setting {name}={value!r}" for name, value in chosen.items() if name not in _NO_MATTER),
        *(f"device {device} = {device_target(device)}" for device in graph.devices),
        *graph.lines,
    ]
    return "\n".join(lines)


def kernel_key(kernel: Kernel, config: Config, target: str) -> str:
    """The key of one configuration of a kernel, built for `target` ("cuda:90")."""
    return _sha256(
        "\n".join(
            [
                *_ours(),
                *_build_variables(),
                f"target {target}",
                f"config {config!r}",
                f"name {kernel.name}",
                *(f"argument {argument!r}" for argument in kernel.arguments),
                kernel.source,
            ]
        )
    )


def autotune_key(kernel: Kernel, device: torch.device, sizes: Sequence[int]) -> str:
    """The key of the best configuration of a kernel on this very card.

    Args:
        kernel: The kernel with all its configurations.
        device: Where it was measured.
        sizes: Its integer arguments; the caller may round them, so that near sizes share a choice.
    """
    is_gpu = device.type == "cuda"
    card = torch.cuda.get_device_name(device) if is_gpu else device.type
    target = device_target(device)
    built = [kernel_key(kernel, config, target) for config in kernel.configs]
    return _sha256("\n".join([card, repr(kernel.grid), repr(tuple(sizes)), *built]))


def _ours() -> list[str]:
    return [f"compile-lint {own_version()} {own_digest()}", f"triton {triton_version()}"]


def _build_variables() -> list[str]:
    """The environment's variables that make Triton build another kernel."""
    return [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if (name.startswith("TRITON_") and not name.endswith(_QUIET)) or name in _BUILD_VARIABLES
    ]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
