"""The process that runs kernels under Triton's interpreter: launches in, "done" or an error out."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import itertools
import mmap
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

from . import interpreter_patches
from .arena import mapped
from .interpreter_memory import memory
from .sources import load_source
from .wire import read_message, write_message

_NUMPY = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "fp16": np.float16,
    "fp32": np.float32,
    "fp64": np.float64,
}


def main(receive: int, send: int) -> None:
    """Serve until the parent closes its end."""
    faulthandler.enable()  # a kernel that reads where nothing is: the log says on which line
    warnings.simplefilter("ignore")  # NumPy's, on divisions by zero and the like
    np.seterr(all="ignore")
    interpreter_patches.apply()
    server = _Server()
    # Many short-lived values on top of torch's and Triton's modules, which never go.
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    while True:
        try:
            request, _ = read_message(receive)
        except EOFError:
            return
        try:
            server.launch(request)
        except Exception as failure:
            write_message(send, {"error": _said(failure)})
        else:
            write_message(send, {})


class _Server:
    def __init__(self) -> None:
        self.functions: dict[tuple[str, str], Callable] = {}
        self.sources: dict[str, str] = {}
        self.builder = triton_interpreter.interpreter_builder
        self.map: mmap.mmap | None = None
        self.hold: ctypes.c_char | None = None
        self.size = self.base = 0

    def launch(self, request: dict[str, Any]) -> None:
        if "source" in request:
            self.sources[request["key"]] = request["source"]
        function = self.function(request["key"], request["name"])
        self.follow(*request["arena"])
        arguments = [
            self.argument(kind, value) for kind, value in zip(request["types"], request["args"])
        ]
        blocks = dict(request["blocks"])
        grid = tuple(request["grid"])
        self.builder.set_grid_dim(*grid)
        for place in itertools.product(*map(range, grid)):
            self.builder.set_grid_idx(*place)
            function(*arguments, **blocks)

    def function(self, key: str, name: str) -> Callable:
        found = self.functions.get((key, name))
        if found is None:
            interpreted = getattr(load_source(self.sources[key]), name)
            found = self.functions[key, name] = interpreted.rewrite()
        return found

    def follow(self, fd: int, size: int) -> None:
        """Map the arena again when it grew."""
        if size == self.size:
            return
        memory.detach()
        self.hold = None
        if self.map is not None:
            self.map.close()
        self.map, self.hold, self.base = mapped(fd, size)
        self.size = size
        memory.attach(self.base, size)

    def argument(self, kind: str, value: Any) -> tl.tensor:
        type_: Any = tl.str_to_ty(kind, None)
        if kind[0] == "*":
            data = np.array([self.base + value], np.uint64)
        else:
            data = np.array([value], _NUMPY[kind])
        return tl.tensor(triton_interpreter.TensorHandle(data, type_), type_)


def _said(failure: BaseException) -> str:
    """A failure's traceback, without the frames of this process and of the interpreter."""
    chain = []
    each: BaseException | None = failure
    while each is not None and each not in chain:
        chain.append(each)
        each = each.__cause__ or each.__context__
    inmost = chain[-1]
    frames = [
        frame
        for link in reversed(chain)
        for frame in traceback.extract_tb(link.__traceback__)
        if "compile_lint_kernels_" in frame.filename or "compiler/triton/" in frame.filename
    ]
    text = "".join(traceback.format_exception_only(inmost)).strip()
    with contextlib.suppress(Exception):  # a note beside the error, never in its place
        text += "\n" + "".join(traceback.format_list(frames)).rstrip()
    return text
