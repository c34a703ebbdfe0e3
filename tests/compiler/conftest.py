"""Kernels written by hand in a few lines, run under the interpreter."""

from __future__ import annotations

import os

import pytest
import torch
from compile_lint.compiler.runtime.interpret import interpreter
from compile_lint.compiler.triton.kernel import Argument, Config, Kernel

KINDS = {
    torch.bool: "i1",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.uint32: "u32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
}
HEAD = """
import triton
import triton.language as tl
from triton.language.extra import libdevice
{more}
@triton.jit
def kernel_0({names}, XBLOCK: tl.constexpr):
    x = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
"""


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """A cache of the tests' own: the user's may hold the same graph with lines of another file."""
    before = os.environ.get("COMPILE_LINT_CACHE_DIR")
    os.environ["COMPILE_LINT_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["COMPILE_LINT_CACHE_DIR"]
    else:
        os.environ["COMPILE_LINT_CACHE_DIR"] = before


@pytest.fixture
def run():
    """run(body, *inputs, out=tensor): tensors are in0, in1 … and out; the block is out's or in0's
    size. Gives out."""

    def run(body, *inputs, out, more="", grid=1, block=None):
        tensors = [*inputs, out]
        names = [f"in{i}" for i in range(len(inputs))] + ["out"]
        lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
        source = HEAD.format(more=more, names=", ".join(names)) + lines
        arguments = tuple(
            Argument(name, "*" + KINDS[tensor.dtype], written=name == "out")
            for name, tensor in zip(names, tensors)
        )
        config = Config((("XBLOCK", block or inputs[0].numel()),))
        kernel = Kernel("kernel_0", source, arguments, (config,), (str(grid),))
        interpreter().launch(kernel, config, (grid,), tensors)
        return out

    return run
