"""Results that aren't dense tensors: numbers read out, and what a backward graph is handed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.pipeline import lower_to_program
from compile_lint.compiler.runtime import host
from compile_lint.compiler.runtime.bind import launchers
from compile_lint.compiler.settings import Settings
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx


def compiled(f: Callable) -> Callable:
    torch._dynamo.reset()
    return torch.compile(
        f, backend=Backend(Settings(interpret=True)), fullgraph=True, dynamic=False
    )


@pytest.mark.parametrize("value", [True, False, 7, -2, 2.5])
def test_a_number_read_out_of_a_tensor(value: bool | int | float) -> None:
    x = torch.tensor([value])
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        got = compiled(lambda t: (t.item(), t + 1))(x)[0]
    assert type(got) is type(value)
    assert got == value


SAVED = {
    "overlapping": lambda x, w: (x * 2).unfold(0, 4, 2) * w,
    "repeated": lambda x, w: (x * 2).unsqueeze(1).expand(-1, 4).sin() * w,
    "with gaps": lambda x, w: ((x * 2)[::2, None] * w).sin(),
}


@pytest.mark.parametrize("name", SAVED)
def test_what_is_saved_for_backward_is_laid_out_as_traced(name: str) -> None:
    f = SAVED[name]
    x = torch.randn(12, requires_grad=True)
    w = torch.randn(4, requires_grad=True)
    got, want = compiled(f)(x, w), f(x, w)
    torch.testing.assert_close(got, want)
    along = torch.randn_like(want)
    torch.testing.assert_close(
        torch.autograd.grad(got, (x, w), along), torch.autograd.grad(want, (x, w), along)
    )


@pytest.mark.parametrize(
    ("size", "stride"),
    [((5, 4), (2, 1)), ((3, 4), (0, 1)), ((3, 4), (1, 0)), ((3, 2), (8, 2)), ((2, 3), (1, 2))],
)
def test_saved_results_have_the_very_strides(
    size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    base = torch.arange(30.0)
    gm = make_fx(lambda x: (x * 2).as_strided(size, stride), tracing_mode="fake")(base)
    program = lower_to_program(gm, Settings(interpret=True), saved=1)
    run = program.bind(launchers(program.kernels, Settings(interpret=True), None))
    (got,) = run([base])
    assert got.stride() == stride
    torch.testing.assert_close(got, (base * 2).as_strided(size, stride))


def test_batch_norm_in_inference_gives_its_statistics_on_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the CPU they are empty; the kernels for a GPU's shapes run here all the same."""

    def f(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> tuple:
        norm = torch.ops.aten._native_batch_norm_legit_no_training.default
        return norm(x, None, None, mean, variance, 0.1, 1e-5)

    with FakeTensorMode():
        sizes = ((3, 2, 4), (2,), (2,))
        gm = make_fx(f)(*(torch.empty(size, device="cuda") for size in sizes))
    settings = Settings(interpret=True)
    program = lower_to_program(gm, settings)
    monkeypatch.setattr(
        host,
        "empty_cuda",
        lambda size, stride, dtype: torch.empty_strided(size, stride, dtype=dtype),
    )
    x, mean, variance = torch.randn(3, 2, 4), torch.randn(2), torch.rand(2)
    run = program.bind(launchers(program.kernels, settings, None))
    out, saved_mean, saved_scale = run([x, mean, variance])
    torch.testing.assert_close(out, f(x, mean, variance)[0])
    torch.testing.assert_close(saved_mean, mean)
    torch.testing.assert_close(saved_scale, (variance + 1e-5).rsqrt())
