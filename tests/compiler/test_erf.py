"""Our own error function."""

from __future__ import annotations

import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.settings import Settings


def test_the_error_function_to_its_last_bits() -> None:
    ends = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-40, 0.9, 30.0])
    x = torch.cat([torch.linspace(-6, 6, 100_001), ends])
    torch._dynamo.reset()
    backend = Backend(Settings(interpret=True, cache=False))
    got = torch.compile(torch.erf, backend=backend, fullgraph=True)(x)
    wanted = torch.erf(x.double())
    unit = torch.nextafter(wanted.float().abs(), torch.tensor(2.0)) - wanted.float().abs()
    number = ~x.isnan()
    assert ((got.double() - wanted).abs() <= 1.5 * unit)[number].all()
    assert got[~number].isnan().all()
    assert torch.equal(got.signbit()[number], x.signbit()[number])
    assert "library.erf" in backend.graphs[0].kernels[0].source
