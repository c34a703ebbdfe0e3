"""Launchers: what they hand to PyTorch's launcher or to the driver; on a GPU, what they compute."""

from __future__ import annotations

import contextlib
import ctypes
import threading

import pytest
import torch
from compile_lint.compiler.errors import BuildError
from compile_lint.compiler.runtime import cuda_driver
from compile_lint.compiler.runtime import launch as launching
from compile_lint.compiler.runtime.build import Built
from compile_lint.compiler.runtime.cuda_driver import CudaDriverError
from compile_lint.compiler.runtime.grid import grid_of, grid_sources
from compile_lint.compiler.runtime.launch import broken_promises, launcher
from compile_lint.compiler.triton.kernel import Argument, Config, Kernel

SOURCE = """
import triton
import triton.language as tl

@triton.jit
def kernel_0(in0, out0, n, scale, XBLOCK: tl.constexpr):
    x = tl.program_id(0).to(tl.int64) * XBLOCK + tl.arange(0, XBLOCK)
    mask = x < n
    tl.store(out0 + x, tl.load(in0 + x, mask, 0.0) * scale, mask)
"""
KERNEL = Kernel(
    "kernel_0",
    SOURCE,
    (
        Argument("in0", "*fp32", divisible=True),
        Argument("out0", "*fp32", written=True),
        Argument("n", "i64"),
        Argument("scale", "fp32"),
    ),
    (Config((("XBLOCK", 128),)), Config((("XBLOCK", 1024),))),
    ("cdiv(n, XBLOCK)",),
)
TYPES = [argument.type for argument in KERNEL.arguments]
METADATA = {"types": TYPES, "extra_pointers": 2, "warp_size": 32}
BUILT = Built("cuda:90", "kernel_0", b"cubin", "ptx", 20, 0, 64, 4, METADATA)


class FakeStatic:
    """PyTorch's launcher, as far as it's used."""

    def __init__(self, loaded):
        self.loaded = loaded
        self.launched = []

    def _load_kernel(self, path, name, shared, device):
        with open(path, "rb") as file:
            assert file.read() == b"cubin"
        return self.loaded

    def _launch_kernel(self, *args):
        self.launched.append(args)


class FakeDriver:
    """The CUDA driver; it reads the parameters when the kernel is launched, as the real one.

    Each thread has a context of its own, and none at first.
    """

    CONTEXT = 4096  # device 0's primary context; the next device's is one more

    def __init__(self):
        self.launched = []
        self.answer = 0
        self.threads = threading.local()
        self.entered = 0
        self.retained = 0

    def cuInit(self, flags):
        return 0

    def cuDeviceGet(self, at, ordinal):
        at._obj.value = ordinal
        return 0

    def cuDevicePrimaryCtxRetain(self, at, device):
        self.retained += 1
        at._obj.value = self.CONTEXT + device.value
        return 0

    def cuCtxGetCurrent(self, at):
        at._obj.value = getattr(self.threads, "context", None)
        return 0

    def cuCtxSetCurrent(self, context):
        self.entered += 1
        self.threads.context = context.value
        return 0

    def cuModuleLoadData(self, at, binary):
        at._obj.value = 7
        return 201 if getattr(self.threads, "context", None) is None else 0

    def cuModuleGetFunction(self, at, module, name):
        at._obj.value = 77
        return 0

    def cuGetErrorString(self, code, at):
        at._obj.value = b"invalid device context"
        return 0

    def cuLaunchKernel(self, *args):
        if getattr(self.threads, "context", None) is None:
            return 201
        widths = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64, ctypes.c_float]
        widths += [ctypes.c_uint64] * 2
        read = [width.from_address(at).value for width, at in zip(widths, args[9])]
        self.launched.append((args[:9], read))
        return self.answer


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device", lambda index: contextlib.nullcontext())
    monkeypatch.setattr(launching, "_stream_of", lambda: lambda device: 1000 + device)
    monkeypatch.setattr(launching, "target_of", lambda device: "cuda:90")


@pytest.mark.parametrize("loaded", [(77, 20, 0), (5, 77, 20, 0)])
def test_pytorchs_launcher_gets_what_it_takes(no_gpu, monkeypatch, loaded):
    fake = FakeStatic(loaded)
    monkeypatch.setattr(launching, "_static", lambda: fake)
    launch = launcher(KERNEL, KERNEL.configs[0], 3, BUILT)
    x, out = torch.zeros(300), torch.zeros(300)
    launch(x, out, 300, 2.5)
    arguments = (x.data_ptr(), out.data_ptr(), 300, 2.5, 0, 0)
    assert fake.launched == [(77, 3, 1, 1, 4, 64, "OOlfOO", arguments, 1003)]


@pytest.fixture
def fake_driver(no_gpu, monkeypatch):
    fake = FakeDriver()
    monkeypatch.setattr(launching, "library", lambda: fake)
    monkeypatch.setattr(cuda_driver, "library", lambda: fake)
    cuda_driver.primary_context.cache_clear()
    yield fake
    cuda_driver.primary_context.cache_clear()


def test_the_driver_gets_what_it_takes(fake_driver):
    fake = fake_driver
    launch = launcher(KERNEL, KERNEL.configs[0], 3, BUILT, way="driver")
    x, out = torch.zeros(300), torch.zeros(300)
    launch(x, out, 300, 2.5)
    launch(x, out, 0, 2.5)  # no programs: nothing to launch
    ((fixed, read),) = fake.launched
    assert fixed == (77, 3, 1, 1, 128, 1, 1, 64, 1003)
    assert read == [x.data_ptr(), out.data_ptr(), 300, 2.5, 0, 0]


def test_a_launch_in_another_thread_has_a_context(fake_driver):
    launch = launcher(KERNEL, KERNEL.configs[0], 3, BUILT, way="driver")
    x, out = torch.zeros(300), torch.zeros(300)
    launch(x, out, 300, 1.0)
    launch(x, out, 300, 2.0)
    entered = fake_driver.entered
    failures = []

    def elsewhere():
        try:
            launch(x, out, 300, 3.0)
            fake_driver.threads.context = 1  # as after work on another device
            launch(x, out, 300, 4.0)
        except CudaDriverError as failure:
            failures.append(failure)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert not failures
    assert [read[3] for _, read in fake_driver.launched] == [1.0, 2.0, 3.0, 4.0]
    assert (entered, fake_driver.entered, fake_driver.retained) == (1, 3, 1)


def test_loading_in_a_thread_without_a_context(fake_driver):
    loaded = []
    thread = threading.Thread(
        target=lambda: loaded.append(cuda_driver.load_function(b"cubin", "kernel_0", 0, 2))
    )
    thread.start()
    thread.join()
    assert loaded == [77]


def test_broken_promises_run_another_build(no_gpu, monkeypatch):
    fake = FakeStatic((77, 20, 0))
    free = FakeStatic((88, 20, 0))
    built = []

    def build(kernel, config, target):
        built.append(kernel)
        monkeypatch.setattr(launching, "_static", lambda: free)
        return BUILT

    monkeypatch.setattr(launching, "_static", lambda: fake)
    monkeypatch.setattr(launching, "build_kernel", build)
    launch = launcher(KERNEL, KERNEL.configs[0], 0, BUILT)
    x, out = torch.zeros(300), torch.zeros(300)
    launch(x, out[1:], 299, 1.0)  # of out0 nothing was promised
    assert len(fake.launched) == 1
    for _ in range(2):
        launch(x[1:], out, 299, 1.0)
    assert (len(fake.launched), len(free.launched), len(built)) == (1, 2, 1)
    assert not any(argument.divisible for argument in built[0].arguments)
    assert broken_promises(KERNEL, (x[1:], out, 299, 1.0)) == ("in0",)
    assert broken_promises(KERNEL, (x, out[1:], 299, 1.0)) == ()


def test_grids():
    arguments = (Argument("p", "*fp32"), Argument("a", "i32"), Argument("b", "i64"))
    config = Config((("X", 64), ("Y", 2)))

    def sizes(*grid):
        kernel = Kernel("k", "", arguments, (config,), grid)
        return grid_sources(kernel, config), grid_of(kernel, config, {"a": 130, "b": 7})

    assert sizes("cdiv(a, X)")[1] == (3, 1, 1)
    assert sizes("cdiv(a * b, X * Y)", "b", "min(a, 4)")[1] == (8, 7, 4)
    assert sizes("cdiv(1000, X)")[1] == (16, 1, 1)
    for wrong in ("p", "unknown", "cdiv(a,"):
        with pytest.raises(BuildError, match="its grid"):
            sizes(wrong)
    with pytest.raises(BuildError, match="grid of 4"):
        sizes("1", "1", "1", "1")


def test_what_can_not_be_passed(no_gpu, monkeypatch):
    monkeypatch.setattr(launching, "_static", lambda: FakeStatic((77, 20, 0)))
    metadata = {**METADATA, "types": ["*fp32", "*fp32", "i64", "fp16"]}
    odd = Built("cuda:90", "kernel_0", b"cubin", "", 20, 0, 64, 4, metadata)
    with pytest.raises(BuildError, match="fp16"):
        launcher(KERNEL, KERNEL.configs[0], 0, odd)


gpu = pytest.mark.gpu
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="NO GPU HERE: not tested")


@gpu
@needs_gpu
@pytest.mark.parametrize("way", launching.WAYS)
def test_on_the_gpu(way):
    if way == "static" and launching._static() is None:
        pytest.skip("this PyTorch has no launcher of its own")
    launch = launcher(KERNEL, KERNEL.configs[0], "cuda", way=way)
    x = torch.randn(1001, device="cuda")
    out = torch.empty_like(x)
    launch(x, out, 1001, 2.0)
    torch.testing.assert_close(out, x * 2)
    launch(x[1:], out, 1000, 3.0)  # not aligned, as was promised
    torch.testing.assert_close(out[:1000], x[1:] * 3)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(x, out, 1001, 4.0)
    graph.replay()
    torch.testing.assert_close(out, x * 4)


@gpu
@needs_gpu
def test_measuring_on_the_gpu():
    x, out = torch.randn(1 << 20, device="cuda"), torch.zeros(1 << 20, device="cuda")
    best = launching.measure(KERNEL, KERNEL.configs, (x, out, 1 << 20, 2.0))
    assert best in KERNEL.configs
    assert out.eq(0).all()
