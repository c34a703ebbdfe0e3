"""libdevice under the interpreter, against torch and Python's own functions."""

from __future__ import annotations

import math
import re

import pytest
import torch
from compile_lint.compiler.errors import InterpreterError
from compile_lint.compiler.runtime.interpret import interpreter
from compile_lint.compiler.triton.kernel import Argument, Config, Kernel

SOURCE = """
import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
def kernel_0({names}, XBLOCK: tl.constexpr):
    x = tl.arange(0, XBLOCK)
    tl.store(out + x, libdevice.{name}({loads}))
"""
KINDS = {
    torch.float16: "fp16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "i1",
}


@pytest.fixture(scope="module")
def apply():
    """apply(name, *tensors, out=dtype): libdevice's function on them."""

    def apply(name, *tensors, out=None):
        names = [f"in{i}" for i in range(len(tensors))] + ["out"]
        loads = ", ".join(f"tl.load({name} + x)" for name in names[:-1])
        source = SOURCE.format(names=", ".join(names), name=name, loads=loads)
        target = torch.empty(tensors[0].shape, dtype=out or tensors[0].dtype)
        arguments = tuple(
            Argument(name, "*" + KINDS[tensor.dtype], written=name == "out")
            for name, tensor in zip(names, (*tensors, target))
        )
        config = Config((("XBLOCK", target.numel()),))
        kernel = Kernel("kernel_0", source, arguments, (config,), ("1",))
        interpreter().launch(kernel, config, (1,), (*tensors, target))
        return target

    return apply


SMALL = torch.linspace(-0.99, 0.99, 64)
WIDE = torch.linspace(-7.3, 9.1, 64)
ABOVE = torch.linspace(0.01, 12.0, 64)
OVER_ONE = torch.linspace(1.0, 12.0, 64)

UNARY = [
    ("acos asin atanh erfinv", SMALL, torch),
    (
        "atan asinh cos cosh erf erfc exp exp2 expm1 floor ceil trunc sin sinh tan tanh abs",
        WIDE,
        torch,
    ),
    ("lgamma", WIDE, torch),
    ("log log10 log1p log2 rsqrt sqrt", ABOVE, torch),
    ("acosh", OVER_ONE, torch),
    ("erfcx", WIDE, torch.special),
]
OTHER_NAMES = [
    ("j0", WIDE, torch.special.bessel_j0),
    ("j1", WIDE, torch.special.bessel_j1),
    ("y0", ABOVE, torch.special.bessel_y0),
    ("y1", ABOVE, torch.special.bessel_y1),
    ("cyl_bessel_i0", WIDE, torch.special.i0),
    ("cyl_bessel_i1", WIDE, torch.special.i1),
    ("normcdf", WIDE, torch.special.ndtr),
    ("normcdfinv", ABOVE / 13, torch.special.ndtri),
    ("erfcinv", ABOVE / 7, lambda x: torch.erfinv(1 - x.double())),
    ("rint", WIDE, torch.round),
    ("nearbyint", WIDE, torch.round),
    ("cbrt", ABOVE, lambda x: x ** (1 / 3)),
    ("rcbrt", ABOVE, lambda x: x ** (-1 / 3)),
    ("exp10", SMALL, lambda x: 10.0**x),
    ("sinpi", SMALL, lambda x: torch.sin(x * math.pi)),
    ("cospi", SMALL, lambda x: torch.cos(x * math.pi)),
    ("tgamma", ABOVE, lambda x: torch.lgamma(x.double()).exp()),
    ("logb", ABOVE, lambda x: torch.floor(torch.log2(x))),
    ("fast_expf", SMALL, torch.exp),
    ("sqrt_rn", ABOVE, torch.sqrt),
    ("rcp_rn", ABOVE, torch.reciprocal),
]
BINARY = [
    ("atan2", torch.atan2),
    ("copysign", torch.copysign),
    ("fmod", torch.fmod),
    ("hypot", torch.hypot),
    ("nextafter", torch.nextafter),
    ("pow", lambda x, y: torch.pow(x, y)),
    ("fdim", lambda x, y: (x - y).clamp(min=0)),
    ("remainder", lambda x, y: x - y * torch.round(x / y)),
    ("rhypot", lambda x, y: 1 / torch.hypot(x, y)),
    ("div_rn", torch.div),
    ("add_rn", torch.add),
]


def close(got, want):
    tight = got.dtype == torch.float64
    torch.testing.assert_close(
        got, want.to(got.dtype), rtol=1e-10 if tight else 1e-5, atol=1e-6, equal_nan=True
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_of_one_argument(apply, dtype):
    for names, x, home in UNARY:
        for name in names.split():
            x = x.to(dtype)
            close(apply(name, x), getattr(home, name)(x))
    for name, x, function in OTHER_NAMES:
        if dtype == torch.float64 and name == "fast_expf":
            continue
        x = x.to(dtype)
        close(apply(name, x), function(x.double()))


def test_functions_of_more_arguments(apply):
    x, y = WIDE, torch.linspace(0.3, 2.0, 64)
    for name, function in BINARY:
        close(apply(name, x, y), function(x, y))
    close(apply("fma", x, y, x), x * y + x)
    close(apply("norm3d", x, y, x), (x * x + y * y + x * x).sqrt())
    n = torch.arange(64, dtype=torch.int32) % 7 - 3
    close(apply("ldexp", x, n), torch.ldexp(x, n))
    close(apply("pow", x.double(), n), x.double() ** n)
    ones, twos = torch.full_like(n, 1), torch.full_like(n, 2)
    close(apply("jn", ones, ABOVE, out=torch.float32), torch.special.bessel_j1(ABOVE))
    close(apply("yn", ones, ABOVE, out=torch.float32), torch.special.bessel_y1(ABOVE))
    two = 2 * torch.special.bessel_j1(ABOVE.double()) / ABOVE - torch.special.bessel_j0(ABOVE)
    close(apply("jn", twos, ABOVE, out=torch.float32), two)


def test_special_values(apply):
    x = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -2.5, 0.5])
    for name, function in (
        ("isnan", torch.isnan),
        ("isinf", torch.isinf),
        ("finitef", torch.isfinite),
        ("signbit", torch.signbit),
    ):
        assert torch.equal(apply(name, x, out=torch.int32) != 0, function(x)), name
    assert apply("round", x)[-2:].tolist() == [-3, 1]
    assert apply("ilogb", x, out=torch.int32)[-3:].tolist() == [0, 1, -1]
    assert apply("float2int_rz", x, out=torch.int32).tolist() == [
        0,
        0,
        2**31 - 1,
        -(2**31),
        0,
        1,
        -2,
        0,
    ]
    assert apply("saturatef", x).tolist() == [0, 0, 1, 0, 0, 1, 0, 0.5]
    assert torch.equal(apply("float_as_int", x, out=torch.int32), x.view(torch.int32))


def test_integers(apply):
    x = torch.tensor([0, 1, -1, 12, -(2**31), 2**31 - 1, 255, 65536], dtype=torch.int32)
    plain = [value & 0xFFFFFFFF for value in x.tolist()]
    assert apply("popc", x).tolist() == [value.bit_count() for value in plain]
    assert apply("clz", x).tolist() == [32 - value.bit_length() for value in plain]
    assert apply("ffs", x).tolist() == [(value & -value).bit_length() for value in plain]
    backwards = [int(f"{value:032b}"[::-1], 2) for value in plain]
    assert [v & 0xFFFFFFFF for v in apply("brev", x).tolist()] == backwards
    y = x.flip(0)
    high = [(a * b) >> 32 for a, b in zip(x.tolist(), y.tolist())]
    assert apply("mulhi", x, y).tolist() == high
    assert apply("abs", x[:4]).tolist() == [0, 1, 1, 12]
    assert apply("hadd", x, y).tolist() == [(a + b) >> 1 for a, b in zip(x.tolist(), y.tolist())]


def test_what_a_gpu_refuses_is_refused(apply):
    with pytest.raises(InterpreterError, match="float16"):
        apply("tanh", torch.zeros(4, dtype=torch.float16))


def test_every_symbol_has_a_function_or_is_named_as_missing():
    triton = pytest.importorskip("triton")
    from pathlib import Path

    from compile_lint.compiler.runtime import interpreter_libdevice as table

    text = (Path(triton.__file__).parent / "language/extra/cuda/libdevice.py").read_text()
    symbols = set(re.findall(r'"__nv_(\w+)"', text))
    missing = {symbol for symbol in symbols if table._find(symbol) is None}
    assert all(re.fullmatch(r"d\w+_r[zud]|fmaf?_r[zud]|rcp64h", symbol) for symbol in missing)
    assert len(symbols - missing) > 250
