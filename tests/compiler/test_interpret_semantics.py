"""What interpreted kernels compute, against torch: each kernel is written by hand."""

from __future__ import annotations

import math

import pytest
import torch

NAN, INF = math.nan, math.inf


def pointwise(run, expression, *inputs, out=torch.float32):
    loads = "\n".join(f"v{i} = tl.load(in{i} + x)" for i in range(len(inputs)))
    target = torch.empty(inputs[0].shape, dtype=out)
    return run(f"{loads}\ntl.store(out + x, {expression})", *inputs, out=target)


def close(got, want, **tolerance):
    torch.testing.assert_close(got, want, equal_nan=True, **tolerance)


FLOATS = torch.tensor([0.0, -0.0, 1.5, -2.5, 0.3, INF, -INF, NAN])
INTS = torch.tensor([7, -7, 7, -7, 0, -8, 100, 1], dtype=torch.int32)
DIVISORS = torch.tensor([2, 2, -2, -2, 5, 3, 7, 1], dtype=torch.int32)


@pytest.mark.parametrize(
    "value", [1.0, 1.00390625, 1.01171875, 1.9999, 3.3895e38, 65535.0, 1e-40, NAN, INF, -2.7]
)
def test_bfloat16_rounds_to_nearest_even(run, value):
    x = torch.full((2,), value)
    got = pointwise(run, "v0.to(tl.bfloat16)", x, out=torch.bfloat16)
    close(got, x.bfloat16(), rtol=0, atol=0)
    close(pointwise(run, "v0.to(tl.float32)", x.bfloat16()), x.bfloat16().float(), rtol=0, atol=0)


def test_bfloat16_arithmetic_and_comparison(run):
    x, y = torch.randn(64).bfloat16(), torch.randn(64).bfloat16()
    close(pointwise(run, "v0 * v1 + v0", x, y, out=torch.bfloat16), x * y + x)
    got = pointwise(run, "(v0 < v1).to(tl.float32)", x, y)
    close(got, (x < y).float())
    close(
        pointwise(run, "tl.where(v0 > v1, v0, v1)", x, y, out=torch.bfloat16), torch.maximum(x, y)
    )
    close(pointwise(run, "v0 * 0.5", x, out=torch.bfloat16), x * 0.5)


@pytest.mark.parametrize("source", [torch.float64, torch.float16, torch.int32, torch.bool])
@pytest.mark.parametrize("target", [torch.bfloat16, torch.float16, torch.float32, torch.int64])
def test_casts(run, source, target):
    x = torch.tensor([0.0, 1.0, -3.7, 2.5, 100.3, -0.2, 7.9, 1.0]).to(source)
    name = {torch.bfloat16: "bfloat16", torch.float16: "float16"}.get(target)
    name = name or str(target).removeprefix("torch.")
    close(pointwise(run, f"v0.to(tl.{name})", x, out=target), x.to(target), rtol=0, atol=0)


def test_floats_to_small_integers_go_by_way_of_int64(run):
    x = torch.tensor([-1.0, 255.9, 300.0, -129.5, 3.0, 127.0, 128.0, 0.5])
    for target in (torch.uint8, torch.int8, torch.int16):
        name = str(target).removeprefix("torch.")
        close(pointwise(run, f"v0.to(tl.{name})", x, out=target), x.long().to(target))


def test_integer_division_truncates(run):
    got = pointwise(run, "v0 // v1", INTS, DIVISORS, out=torch.int32)
    close(got, torch.div(INTS, DIVISORS, rounding_mode="trunc"))
    close(pointwise(run, "v0 % v1", INTS, DIVISORS, out=torch.int32), INTS.fmod(DIVISORS))
    bytes_ = torch.tensor([200, 255, 3, 9], dtype=torch.uint8)
    close(pointwise(run, "v0 // 7", bytes_, out=torch.uint8), bytes_ // 7)


def test_integers_wrap(run):
    x = torch.tensor([2**31 - 1, -(2**31)], dtype=torch.int32)
    close(pointwise(run, "v0 + 1", x, out=torch.int32), x + 1)
    close(pointwise(run, "v0 * v0", x, out=torch.int32), x * x)
    x = torch.tensor([255, 1], dtype=torch.uint8)
    close(pointwise(run, "v0 + v0", x, out=torch.uint8), x + x)
    x = torch.tensor([2**62, -5])
    close(pointwise(run, "v0 * 4", x, out=torch.int64), x * 4)


def test_bits_and_shifts(run):
    close(
        pointwise(run, "(v0 & v1) | (v0 ^ 3)", INTS, DIVISORS, out=torch.int32),
        (INTS & DIVISORS) | (INTS ^ 3),
    )
    close(
        pointwise(run, "(v0 >> 1) + (v0 << 2) + v0", INTS, out=torch.int32),
        (INTS >> 1) + (INTS << 2) + INTS,
    )
    close(pointwise(run, "~v0", INTS, out=torch.int32), ~INTS)


def test_bools(run):
    x, y = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
    for text, want in (("v0 & v1", x & y), ("v0 | v1", x | y), ("v0 ^ v1", x ^ y), ("v0 == 0", ~x)):
        close(pointwise(run, text, x, y, out=torch.bool), want)
    close(
        pointwise(run, "v0.to(tl.int32) + v1.to(tl.int32)", x, y, out=torch.int32),
        x.int() + y.int(),
    )
    close(pointwise(run, "(v0 != 0)", FLOATS, out=torch.bool), FLOATS != 0)


def test_comparisons_with_nan(run):
    other = torch.full_like(FLOATS, 0.3)
    for operator in ("<", "<=", ">", ">=", "==", "!="):
        got = pointwise(run, f"v0 {operator} v1", FLOATS, other, out=torch.bool)
        close(got, eval(f"a {operator} b", {"a": FLOATS, "b": other}))


def test_extremes_and_nan(run):
    other = torch.full_like(FLOATS, 1.0)
    close(pointwise(run, "tl.maximum(v0, v1)", FLOATS, other), torch.fmax(FLOATS, other))
    close(pointwise(run, "tl.minimum(v0, v1)", FLOATS, other), torch.fmin(FLOATS, other))
    every = "propagate_nan=tl.PropagateNan.ALL"
    got = pointwise(run, f"tl.maximum(v0, v1, {every})", FLOATS, other)
    close(got, torch.maximum(FLOATS, other))
    close(
        pointwise(run, f"tl.minimum(v0, v1, {every})", FLOATS, other), torch.minimum(FLOATS, other)
    )
    close(pointwise(run, f"tl.clamp(v0, -1.0, 1.0, {every})", FLOATS), FLOATS.clamp(-1, 1))
    got = pointwise(run, "tl.clamp(v0, -1.0, 1.0)", FLOATS)
    close(got, FLOATS.nan_to_num(-1.0, INF, -INF).clamp(-1, 1))


def test_math(run):
    x = torch.rand(32) * 3 + 0.1
    for name in (
        "exp",
        "exp2",
        "log",
        "log2",
        "sin",
        "cos",
        "sqrt",
        "rsqrt",
        "erf",
        "floor",
        "ceil",
        "abs",
    ):
        close(pointwise(run, f"tl.{name}(v0)", x), getattr(torch, name)(x))
    close(pointwise(run, "tl.sigmoid(v0)", x), x.sigmoid())
    close(pointwise(run, "tl.fma(v0, v0, v0)", x), x * x + x)
    close(pointwise(run, "tl.math.exp(v0)", x.double(), out=torch.float64), x.double().exp())
    close(pointwise(run, "tl.sqrt_rn(v0) + tl.div_rn(v0, v0 + 1)", x), x.sqrt() + x / (x + 1))


def test_masked_loads_and_other(run):
    x = torch.arange(8.0)
    body = "tl.store(out + x, tl.load(in0 + x, x < 5, {other}), x < 7)"
    got = run(body.format(other="other=-1.5"), x, out=torch.full((8,), 9.0))
    assert got.tolist() == [0, 1, 2, 3, 4, -1.5, -1.5, 9]
    got = run(body.format(other="0"), x.bfloat16(), out=torch.full((8,), 9.0).bfloat16())
    assert got.tolist() == [0, 1, 2, 3, 4, 0, 0, 9]
    got = run("tl.store(out + x, tl.load(in0 + x * 1000000, x < 1, 2.0))", x, out=torch.zeros(8))
    assert got.tolist() == [0] + [2] * 7


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int32])
def test_sums_and_extremes_of_rows(run, dtype):
    x = (torch.randperm(128).view(8, 16) - 60).to(dtype)  # no two are equal
    wide = torch.float32 if dtype == torch.bfloat16 else dtype
    body = "\n".join(
        (
            "y = tl.arange(0, 16)[None, :]",
            "r = tl.arange(0, 8)[:, None]",
            "v = tl.load(in0 + r * 16 + y){cast}",
            "tl.store(out + tl.arange(0, 8), {reduction})",
        )
    )
    cast = ".to(tl.float32)" if dtype == torch.bfloat16 else ""
    for text, want in (
        ("tl.sum(v, 1)", x.to(wide).sum(1, dtype=wide)),
        ("tl.max(v, 1)", x.amax(1)),
        ("tl.min(v, axis=1)", x.amin(1)),
    ):
        out = torch.empty(8, dtype=wide)
        run(body.format(cast=cast, reduction=text), x, out=out)
        close(out, want.to(wide))
    out = torch.empty(8, dtype=torch.int32)
    run(body.format(cast=cast, reduction="tl.argmax(v, 1)"), x, out=out)
    close(out, x.argmax(1).int())
    out = torch.empty(1, dtype=wide)
    run(
        "v = tl.load(in0 + x).to(tl." + str(wide).removeprefix("torch.") + ")\n"
        "tl.store(out + tl.arange(0, 1), tl.sum(v, 0))",
        x,
        out=out,
    )
    close(out, x.to(wide).sum(dtype=wide)[None])


COMBINE = """
@triton.jit
def larger_with_place(a, i, b, j):
    left = (a > b) | ((a == b) & (i < j))
    return tl.where(left, a, b), tl.where(left, i, j)

@triton.jit
def welford(mean, m2, n, mean2, m22, n2):
    delta = mean2 - mean
    total = n + n2
    part = tl.where(total == 0.0, 0.0, n2 / total)
    return mean + delta * part, m2 + m22 + delta * delta * n * part, total

@triton.jit
def larger_or_nan(a, b):
    return tl.where((a > b) | (a != a), a, b)

@triton.jit
def last_nonzero(a, b):
    return tl.where(b == 0, a, b)
"""


def test_reductions_by_functions_of_our_own(run):
    x = torch.randn(256)
    x[7] = x[200] = 9.0
    body = "v, i = tl.reduce((tl.load(in0 + x), x), 0, larger_with_place)\ntl.store(out, i)"
    got = run(body, x, out=torch.zeros(1, dtype=torch.int32), more=COMBINE)
    assert got.item() == 7
    body = "\n".join(
        (
            "v = tl.load(in0 + x)",
            "m, m2, n = tl.reduce((v, v * 0, v * 0 + 1), 0, welford)",
            "tl.store(out, m)",
            "tl.store(out + 1, m2 / n)",
        )
    )
    got = run(body, x, out=torch.zeros(2), more=COMBINE)
    close(got, torch.stack([x.mean(), x.var(correction=0)]))
    rows = torch.randn(4, 8)
    rows[2, 3] = NAN
    body = "\n".join(
        (
            "at = tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :]",
            "v = tl.reduce(tl.load(in0 + at), 1, larger_or_nan, keep_dims=True)",
            "tl.store(out + tl.arange(0, 4)[:, None], v)",
        )
    )
    close(run(body, rows, out=torch.zeros(4), more=COMBINE), rows.amax(1))


def test_max_ignores_nan_unless_told_otherwise(run):
    x = torch.tensor([1.0, NAN, 3.0, 2.0])
    assert run("tl.store(out, tl.max(tl.load(in0 + x), 0))", x, out=torch.zeros(1)).item() == 3


def test_scans(run):
    x = torch.randn(64)
    got = run("tl.store(out + x, tl.cumsum(tl.load(in0 + x), 0))", x, out=torch.zeros(64))
    close(got, x.cumsum(0))
    got = run(
        "tl.store(out + x, tl.cumprod(tl.load(in0 + x), 0, reverse=True))",
        x + 1,
        out=torch.zeros(64),
    )
    close(got, (x + 1).flip(0).cumprod(0).flip(0))
    body = "tl.store(out + x, tl.associative_scan(tl.load(in0 + x), 0, larger_or_nan))"
    got = run(body, x, out=torch.zeros(64), more=COMBINE)
    close(got, x.cummax(0).values)
    sparse = torch.tensor([3, 0, 0, 5, 0, 1, 0, 0])
    got = run(
        body.replace("larger_or_nan", "last_nonzero"),
        sparse,
        out=torch.zeros(8, dtype=torch.int64),
        more=COMBINE,
    )
    assert got.tolist() == [3, 3, 3, 5, 5, 1, 1, 1]
    body = "\n".join(
        (
            "at = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]",
            "v, i = tl.associative_scan((tl.load(in0 + at), at), 0, larger_with_place)",
            "tl.store(out + at, i)",
        )
    )
    got = run(body, x, out=torch.zeros(64, dtype=torch.int32), more=COMBINE)
    want = torch.tensor(
        [[int(x.view(8, 8)[: r + 1, c].argmax()) * 8 + c for c in range(8)] for r in range(8)]
    )
    close(got.view(8, 8), want.int())


def test_loops_and_looped_reduction(run):
    x = torch.randn(1000)
    for loop in ("range(0, 1000, XBLOCK)", "tl.range(0, 1000, XBLOCK, num_stages=2)"):
        body = "\n".join(
            (
                "total = tl.full([XBLOCK], 0, tl.float32)",
                f"for start in {loop}:",
                "    at = start + tl.arange(0, XBLOCK)",
                "    total += tl.load(in0 + at, at < 1000, 0.0)",
                "for k in tl.static_range(2):",
                "    total = total * 1.0 + k * 0.0",
                "tl.store(out, tl.sum(total, 0))",
            )
        )
        close(run(body, x, out=torch.zeros(1), block=64), x.sum()[None])
