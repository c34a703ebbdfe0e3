"""Programs and built kernels survive the way to bytes and back; other bytes are refused."""

import math
import operator

import pytest
import torch
from compile_lint.compiler.runtime.build import Built
from compile_lint.compiler.runtime.entries import (
    decode_built,
    decode_program,
    encode_built,
    encode_program,
)
from compile_lint.compiler.runtime.program import Program
from compile_lint.compiler.runtime.symbols import Unkeyable
from compile_lint.compiler.triton.kernel import Argument, Config, Kernel

KERNEL = Kernel(
    "k",
    "import triton\n",
    (Argument("x", "*fp32", True, True), Argument("n", "i64")),
    (Config((("XBLOCK", 64), ("RBLOCK", 8)), 8, 3),),
    ("cdiv(n, XBLOCK)", "1"),
    ("a.py:1: y = x",),
)


def graph(value):
    """A graph with a tensor and a subgraph, as capture makes them."""
    inner = torch.fx.symbolic_trace(torch.nn.ReLU())
    traced = torch.fx.Graph()
    names = "_tensor_constant0", "arm"
    traced.output(tuple(traced.create_node("get_attr", name) for name in names))
    return torch.fx.GraphModule({names[0]: torch.tensor(value), names[1]: inner}, traced)


def test_a_program_comes_back_with_the_constants_of_the_other_graph():
    here, there = graph(2.0), graph(2.0)
    constants = {"constant_0": here.arm, "constant_1": here._tensor_constant0}
    constants |= {"constant_2": operator.mul, "constant_3": math.floor}
    program = Program("def call(args): return [constant_2(3, 4)]\n", (KERNEL,), ("a",), constants)
    data = encode_program(program, here)
    back = decode_program(data, there)
    assert (back.source, back.kernels, back.fallbacks) == (program.source, (KERNEL,), ("a",))
    assert list(back.constants.values()) == [
        there.arm,
        there._tensor_constant0,
        operator.mul,
        math.floor,
    ]
    assert back.bind([lambda: None])([]) == [12]
    assert encode_program(back, there) == data


@pytest.mark.parametrize("value", [object(), lambda: 1, torch.ones(2), pytest.raises, "text"])
def test_a_constant_of_nowhere_keeps_the_program_out_of_the_cache(value):
    with pytest.raises(Unkeyable, match="constant"):
        encode_program(Program("", (), (), {"constant_0": value}), graph(1.0))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"source": "", "kernels": [{}], "fallbacks": [], "constants": {}}',
        b'{"source": "", "kernels": [], "fallbacks": [], "constants": {"c": {"attribute": "no"}}}',
        b'{"source": "", "kernels": [], "fallbacks": [],'
        b' "constants": {"c": {"function": ["os", "system"]}}}',
        b"\xff",
    ],
)
def test_bytes_that_are_no_program_are_refused(data):
    with pytest.raises(ValueError, match=r"."):
        decode_program(data, graph(1.0))


def test_a_built_kernel_comes_back():
    built = Built("cuda:90", "k", bytes(range(256)), "// é ptx", 20, 0, 512, 4, {"types": ["i64"]})
    data = encode_built(built)
    assert decode_built(data) == built
    for length in range(len(data)):
        with pytest.raises(ValueError, match=r"."):
            decode_built(data[:length])
