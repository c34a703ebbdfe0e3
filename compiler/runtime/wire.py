"""Messages between this process and its helper processes: JSON and raw bytes, never pickles.

A message is a header of two little-endian lengths (u32 JSON, u64 payload), the JSON text and the
payload.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..triton.kernel import Argument, Config, Kernel

_HEADER = struct.Struct("<IQ")


def write_message(fd: int, message: Mapping[str, Any], payload: bytes = b"") -> None:
    """Write one message to a pipe.

    Raises:
        OSError: The other end is gone.
    """
    text = json.dumps(message).encode()
    data = memoryview(_HEADER.pack(len(text), len(payload)) + text + payload)
    while data:
        data = data[os.write(fd, data) :]


def read_message(fd: int) -> tuple[dict[str, Any], bytes]:
    """Read one message from a pipe, waiting for it.

    Raises:
        EOFError: The other end is gone.
    """
    text, payload = _HEADER.unpack(_read(fd, _HEADER.size))
    return json.loads(_read(fd, text)), _read(fd, payload)


def _read(fd: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise EOFError("the pipe's other end is closed")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def kernel_to_json(kernel: Kernel) -> dict[str, Any]:
    """A kernel as JSON values; `kernel_from_json` turns it back."""
    return asdict(kernel)


def kernel_from_json(value: Mapping[str, Any]) -> Kernel:
    """The kernel that `kernel_to_json` wrote down."""
    return Kernel(
        name=value["name"],
        source=value["source"],
        arguments=tuple(Argument(**argument) for argument in value["arguments"]),
        configs=tuple(config_from_json(config) for config in value["configs"]),
        grid=tuple(value["grid"]),
        origins=tuple(value["origins"]),
    )


def config_to_json(config: Config) -> dict[str, Any]:
    """A config as JSON values; `config_from_json` turns it back."""
    return asdict(config)


def config_from_json(value: Mapping[str, Any]) -> Config:
    """The config that `config_to_json` wrote down."""
    blocks = tuple((name, size) for name, size in value["blocks"])
    return Config(blocks, value["num_warps"], value["num_stages"])
