"""Who we are, what we were built on, and what a device is called.

A device is named by what a kernel can be built for, as in `target=`: "cuda:90", "hip:gfx942", and
its type alone for every other device ("cpu"). Two cards of the same capability share kernels, and
a kernel that was built on a machine with no GPU fits every machine that has such a card.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib import metadata

import torch

# The names under which Triton is published.
_TRITON_PACKAGES = ("triton", "pytorch-triton", "pytorch-triton-rocm", "pytorch-triton-xpu")


@cache
def own_version() -> str:
    """compile-lint's version; "0" where it runs from a tree that was never installed."""
    try:
        return metadata.version("compile-lint")
    except metadata.PackageNotFoundError:
        return "0"


@cache
def own_digest() -> str:
    """A hash of the compiler's own sources, so that no entry outlives the code that made it."""
    digest = hashlib.sha256()
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if not name.endswith(".py"):
                continue
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                text = file.read()
            digest.update(f"{os.path.relpath(path, top)}\0{len(text)}\0".encode())
            digest.update(text)
    return digest.hexdigest()


@cache
def triton_version() -> str:
    """The version of the installed Triton, without importing it (slow, and it picks a mode)."""
    for package in _TRITON_PACKAGES:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return "none"


def torch_release() -> str:
    """torch's version without its build: "2.13.0" for both 2.13.0+cpu and 2.13.0+cu130."""
    return str(torch.__version__).split("+")[0]


def device_target(device: torch.device) -> str:
    """What kernels for `device` are built for. Asks the driver for a CUDA or HIP device."""
    if device.type != "cuda":
        return device.type
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        return f"hip:{properties.gcnArchName.split(':')[0]}"
    return f"cuda:{properties.major}{properties.minor}"


def local_targets() -> frozenset[str]:
    """The targets of every GPU that this process sees; empty on a machine without one."""
    if not torch.cuda.is_available():
        return frozenset()
    indices = range(torch.cuda.device_count())
    return frozenset(device_target(torch.device("cuda", index)) for index in indices)
