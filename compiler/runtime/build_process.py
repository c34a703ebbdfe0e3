"""The process that builds kernels for `build_kernels`: requests in, binaries out."""

from __future__ import annotations

import select

from ..errors import CompileLintError
from .build import build_kernel
from .wire import config_from_json, kernel_from_json, read_message, write_message

# Seconds without a request after which it ends, to give its memory back.
_IDLE = 120.0


def main(receive: int, send: int) -> None:
    """Serve until the parent closes its end, or nothing is asked for a while."""
    import triton  # noqa: F401 (before the first request, which then finds it ready)

    poll = select.poll()
    poll.register(receive, select.POLLIN)
    while poll.poll(_IDLE * 1000):
        try:
            request, _ = read_message(receive)
        except EOFError:
            return
        kernel, config = kernel_from_json(request["kernel"]), config_from_json(request["config"])
        try:
            built = build_kernel(kernel, config, request["target"])
        except CompileLintError as error:
            write_message(send, {"error": str(error)})
            continue
        payload = built.binary + built.assembly.encode()
        answer = {"header": built.header(), "binary": len(built.binary)}
        write_message(send, answer, payload)
