"""What the tests of operators share: a program of many of them, against eager."""

from __future__ import annotations

from collections.abc import Callable

import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.runtime.build import build_kernel
from compile_lint.compiler.settings import Settings


def same(names: list[str], where: object, *args: torch.Tensor, build: bool = True) -> None:
    """The functions of these names, in one program, give what eager gives; kernels build."""
    functions = [getattr(where, name) for name in names]
    check(lambda *given: [f(*given) for f in functions], names, *args, build=build)


def check(f: Callable, names: list[str], *args: torch.Tensor, build: bool = True) -> None:
    torch._dynamo.reset()
    backend = Backend(Settings(interpret=True))
    got = torch.compile(f, backend=backend, fullgraph=True, dynamic=False)(*args)
    wanted = f(*args)
    for name, have, want in zip(names, got, wanted, strict=True):
        torch.testing.assert_close(
            have, want, equal_nan=True, msg=lambda text, name=name: f"{name}: {text}"
        )
        if want.is_floating_point():
            zero = want == 0
            assert torch.equal(have.signbit()[zero], want.signbit()[zero]), f"{name}: sign of zero"
    (graph,) = backend.graphs
    assert not graph.fallbacks, graph.fallbacks
    if build:
        for kernel in graph.kernels:
            assert build_kernel(kernel, kernel.configs[0], "cuda:90").binary
