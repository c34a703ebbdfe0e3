"""Kernels built for named GPUs, on a machine that has none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from compile_lint.compiler.errors import BuildError, UnsupportedTarget
from compile_lint.compiler.runtime import build as building
from compile_lint.compiler.runtime.build import Built, build_kernel, build_kernels, check_target
from compile_lint.compiler.runtime.resources import of_amdgcn, of_cubin, ptx_parameters
from compile_lint.compiler.runtime.sources import load_source
from compile_lint.compiler.runtime.wire import kernel_from_json, kernel_to_json
from compile_lint.compiler.triton.kernel import Argument, Config, Kernel

triton = pytest.importorskip("triton")

SOURCE = """
import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def kernel_0(in0, out0, xnumel, XBLOCK: tl.constexpr):
    x = tl.program_id(0).to(tl.int64) * XBLOCK + tl.arange(0, XBLOCK)
    mask = x < xnumel
    tl.store(out0 + x, tl.sin(libdevice.tanh(tl.load(in0 + x, mask, 0.0))), mask)
"""
KERNEL = Kernel(
    "kernel_0",
    SOURCE,
    (
        Argument("in0", "*fp32", divisible=True),
        Argument("out0", "*fp32", divisible=True, written=True),
        Argument("xnumel", "i32"),
    ),
    (Config((("XBLOCK", 1024),)), Config((("XBLOCK", 256),), num_warps=2)),
    ("cdiv(xnumel, XBLOCK)",),
    ("file.py:1: y = x.tanh().sin()",),
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100", "cuda:120"])
def test_cubins(target):
    built = build_kernel(KERNEL, KERNEL.configs[0], target)
    assert built.binary.startswith(b"\x7fELF")
    assert f".target sm_{target[5:]}" in built.assembly
    assert (built.target, built.name, built.num_warps) == (target, "kernel_0", 4)
    assert 8 < built.registers < 256
    assert built.spills == 0
    assert built.metadata["types"] == ["*fp32", "*fp32", "i32"]
    assert built.metadata["blocks"] == {"XBLOCK": 1024}
    assert built.metadata["extra_pointers"] == 2


def test_amd():
    built = build_kernel(KERNEL, KERNEL.configs[1], "hip:gfx942")
    assert built.binary.startswith(b"\x7fELF")
    assert "gfx942" in built.assembly
    assert built.registers > 0
    assert built.metadata["warp_size"] == 64


def test_promises_make_wide_loads():
    narrow = Kernel(
        "kernel_0",
        SOURCE,
        tuple(Argument(a.name, a.type, written=a.written) for a in KERNEL.arguments),
        KERNEL.configs,
        KERNEL.grid,
    )
    full = SOURCE.replace("x < xnumel", "x < 1048576")
    wide = Kernel("kernel_0", full, KERNEL.arguments, KERNEL.configs, KERNEL.grid)
    plain = Kernel("kernel_0", full, narrow.arguments, KERNEL.configs, KERNEL.grid)
    assert ".v4.b32" in build_kernel(wide, KERNEL.configs[0], "cuda:90").assembly
    assert ".v4.b32" not in build_kernel(plain, KERNEL.configs[0], "cuda:90").assembly


def test_resources_are_what_nvidias_tool_says(tmp_path):
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    if not tool.exists():
        pytest.skip("this Triton ships no cuobjdump")
    built = build_kernel(KERNEL, KERNEL.configs[1], "cuda:90")
    (tmp_path / "k.cubin").write_bytes(built.binary)
    said = subprocess.run(
        [tool, "--dump-resource-usage", tmp_path / "k.cubin"], capture_output=True, text=True
    ).stdout
    assert f"REG:{built.registers} " in said


def test_spills_are_what_the_assembler_says(tmp_path):
    # 64 live floats a thread don't fit in 32 registers.
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = SOURCE.replace(
        "tl.store(out0 + x, tl.sin(libdevice.tanh(tl.load(in0 + x, mask, 0.0))), mask)",
        "v = tl.load(in0 + x, mask, 0.0)\n    tl.store(out0 + x, v * tl.sum(v, 0), mask)",
    )
    types = {"in0": "*fp32", "out0": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr"}
    compiled = triton.compile(
        ASTSource(load_source(source).kernel_0, types, constexprs={(3,): 2048}),
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": 1, "maxnreg": 32},
    )
    registers, spills = of_cubin(compiled.asm["cubin"], "kernel_0", compiled.asm["ptx"])
    (tmp_path / "k.ptx").write_text(compiled.asm["ptx"])
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
    said = subprocess.run(
        [tool, "-v", "--gpu-name=sm_90a", tmp_path / "k.ptx", "-o", os.devnull],
        capture_output=True,
        text=True,
    ).stderr
    assert f"Used {registers} registers" in said
    assert spills > 0
    assert f"{spills * 4} bytes stack frame" in said


def test_resources_of_damaged_binaries():
    with pytest.raises(ValueError, match="not a 64-bit ELF"):
        of_cubin(b"nothing", "kernel_0", "")
    with pytest.raises(ValueError, match="metadata"):
        of_amdgcn("")
    with pytest.raises(ValueError, match="no entry"):
        ptx_parameters("", "kernel_0")


def test_errors_name_the_kernel():
    broken = Kernel(
        "kernel_0", SOURCE.replace("tl.sin", "tl.sine"), KERNEL.arguments, KERNEL.configs, ("1",)
    )
    with pytest.raises(BuildError, match=r"kernel_0 for cuda:90[\s\S]*sine"):
        build_kernel(broken, KERNEL.configs[0], "cuda:90")
    with pytest.raises(BuildError, match="its parameters are"):
        build_kernel(KERNEL, Config((("YBLOCK", 8),)), "cuda:90")
    unparsable = Kernel("kernel_0", "def", KERNEL.arguments, KERNEL.configs, ("1",))
    with pytest.raises(BuildError, match="SyntaxError"):
        build_kernel(unparsable, KERNEL.configs[0], "cuda:90")


@pytest.mark.parametrize("target", ["cuda", "cuda:42", "cuda:90a", "hip:gfx1", "xpu:1", ""])
def test_unknown_targets(target):
    with pytest.raises(UnsupportedTarget, match="cuda:90"):
        check_target(target)
    with pytest.raises(UnsupportedTarget):
        build_kernels([(KERNEL, KERNEL.configs[0])], target)


def test_many_kernels_in_helper_processes():
    broken = Kernel(
        "kernel_0", SOURCE.replace("tl.sin", "tl.sine"), KERNEL.arguments, KERNEL.configs, ("1",)
    )
    wanted = [(KERNEL, KERNEL.configs[0]), (broken, KERNEL.configs[0]), (KERNEL, KERNEL.configs[1])]
    results = build_kernels(wanted, "cuda:90", workers=2)
    assert isinstance(results[1], BuildError)
    assert "sine" in str(results[1])
    for result, (kernel, config) in zip(results[::2], wanted[::2]):
        here = build_kernel(kernel, config, "cuda:90")
        assert isinstance(result, Built)
        assert result.header() == here.header()
        assert result.registers == here.registers
    # A helper that is gone is replaced.
    for helper in building._pool.idle:
        helper._process.kill()
        helper._process.wait()
    again = build_kernels(wanted, "cuda:90", workers=2)
    assert [type(each) for each in again] == [type(each) for each in results]


def test_values_go_through_json():
    assert kernel_from_json(json.loads(json.dumps(kernel_to_json(KERNEL)))) == KERNEL
    built = Built("cuda:90", "k", b"\0", "ptx", 1, 2, 3, 4, {"types": []})
    assert Built.of(json.loads(json.dumps(built.header())), b"\0", "ptx") == built


def test_sources_are_modules_once_and_leave_nothing_behind():
    assert load_source("x = 1") is load_source("x = 1")
    assert load_source("x = 2").x == 2
    code = (
        "from compile_lint.compiler.runtime.sources import load_source\n"
        "print(load_source('x = 1').__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert not Path(done.stdout.strip()).parent.exists()
