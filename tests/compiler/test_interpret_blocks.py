"""Atomics, products, random numbers and shapes under the interpreter, against torch."""

from __future__ import annotations

import pytest
import torch


def close(got, want, **tolerance):
    torch.testing.assert_close(got, want, equal_nan=True, **tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int32])
def test_atomic_add(run, dtype):
    where = torch.tensor([0, 1, 1, 3, 3, 3, 0, 2])
    value = torch.arange(8).to(dtype)
    out = torch.zeros(4, dtype=dtype)
    run("tl.atomic_add(out + tl.load(in0 + x), tl.load(in1 + x), x < 7)", where, value, out=out)
    assert out.tolist() == [6, 3, 0, 12]


def test_atomic_max_and_programs_that_meet(run):
    x = torch.randperm(64).int()
    out = torch.zeros(1, dtype=torch.int32)
    run("tl.atomic_max(out + x * 0, tl.load(in0 + x))", x, out=out, grid=4, block=16)
    assert out.item() == 63


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_dot(run, dtype):
    a, b = torch.randn(16, 32).to(dtype), torch.randn(32, 16).to(dtype)
    body = "\n".join(
        (
            "i = tl.arange(0, 16)",
            "k = tl.arange(0, 32)",
            "a = tl.load(in0 + i[:, None] * 32 + k[None, :])",
            "b = tl.load(in1 + k[:, None] * 16 + i[None, :])",
            "c = tl.dot(a, b, input_precision='ieee')",
            "tl.store(out + i[:, None] * 16 + i[None, :], c)",
        )
    )
    close(run(body, a, b, out=torch.zeros(16, 16)), a.float() @ b.float(), rtol=1e-5, atol=1e-5)


def philox(seed, offset, rounds=10):
    """Philox 4×32, from Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"."""
    c, k, low = [offset, 0, 0, 0], [seed & 0xFFFFFFFF, seed >> 32], 0xFFFFFFFF
    for _ in range(rounds):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & low, (a >> 32) ^ c[3] ^ k[1], a & low]
        k = [(k[0] + 0x9E3779B9) & low, (k[1] + 0xBB67AE85) & low]
    return c


def test_random(run):
    seed = torch.tensor([123456789012], dtype=torch.int64)
    body = "\n".join(
        (
            "a, b, c, d = tl.randint4x(tl.load(in0), x)",
            "tl.store(out + x * 4, a)",
            "tl.store(out + x * 4 + 1, b)",
            "tl.store(out + x * 4 + 2, c)",
            "tl.store(out + x * 4 + 3, d)",
        )
    )
    got = run(body, seed, out=torch.zeros(32, dtype=torch.uint32), block=8)
    assert got.tolist() == [word for i in range(8) for word in philox(123456789012, i)]
    got = run(
        "tl.store(out + x, tl.rand(tl.load(in0), x))", seed, out=torch.zeros(4096), block=4096
    )
    assert 0.48 < got.mean().item() < 0.52
    assert got.min() >= 0
    assert got.max() < 1
    got = run(
        "tl.store(out + x, tl.randn(tl.load(in0), x))", seed, out=torch.zeros(4096), block=4096
    )
    assert abs(got.std().item() - 1) < 0.05


def test_shapes(run):
    x = torch.arange(16.0)
    body = (
        "v = tl.load(in0 + x)\ntl.store(out + x, tl.reshape(tl.trans(tl.reshape(v, [4, 4])), [16]))"
    )
    close(run(body, x, out=torch.zeros(16)), x.view(4, 4).t().reshape(16))
    body = "v = tl.load(in0 + x)\ntl.store(out + x, tl.sort(v, descending=True))"
    close(run(body, x, out=torch.zeros(16)), x.flip(0))
