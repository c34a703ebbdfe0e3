"""The interpreting process: memory, errors and life, by kernels written by hand."""

from __future__ import annotations

import os
import signal
import threading

import pytest
import torch
from compile_lint.compiler.errors import InterpreterError
from compile_lint.compiler.runtime.interpret import Interpreter
from compile_lint.compiler.runtime.interpret import interpreter as shared_interpreter
from compile_lint.compiler.triton.kernel import Argument, Config, Kernel

HEAD = """
import triton
import triton.language as tl
from triton.language.extra import libdevice

@triton.jit
"""
ADD_ONE = HEAD + (
    "def kernel_0(in0, out0, n, step, XBLOCK: tl.constexpr):\n"
    "    x = tl.program_id(0).to(tl.int64) * XBLOCK + tl.arange(0, XBLOCK)\n"
    "    mask = x < n\n"
    "    tl.store(out0 + x, tl.load(in0 + x * step, mask, 0) + 1, mask)\n"
)
CONFIG = Config((("XBLOCK", 64),))


def add_one(kind: str = "fp32", source: str = ADD_ONE, written: bool = True) -> Kernel:
    arguments = (
        Argument("in0", f"*{kind}"),
        Argument("out0", f"*{kind}", written=written),
        Argument("n", "i64"),
        Argument("step", "i32"),
    )
    return Kernel("kernel_0", source, arguments, (CONFIG,), ("cdiv(n, XBLOCK)",))


@pytest.fixture(scope="module")
def interpreter():
    return shared_interpreter()


def run(interpreter, x, out, kernel=None, step=1):
    kernel = kernel or add_one()
    interpreter.launch(kernel, CONFIG, (-(-out.numel() // 64),), (x, out, out.numel(), step))


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (torch.float32, "fp32"),
        (torch.float64, "fp64"),
        (torch.float16, "fp16"),
        (torch.bfloat16, "bf16"),
        (torch.int8, "i8"),
        (torch.int16, "i16"),
        (torch.int32, "i32"),
        (torch.int64, "i64"),
        (torch.uint8, "u8"),
        (torch.uint16, "u16"),
    ],
)
def test_every_dtype_goes_there_and_back(interpreter, dtype, kind):
    x = torch.arange(100).to(dtype)
    out = torch.empty_like(x)
    run(interpreter, x, out, add_one(kind))
    assert torch.equal(out.double(), torch.arange(1, 101).double())


def test_bool(interpreter):
    source = ADD_ONE.replace(") + 1, mask", ") == 0, mask")
    x = torch.tensor([True, False, True])
    out = torch.empty_like(x)
    run(interpreter, x, out, add_one("i1", source))
    assert torch.equal(out, ~x)


def test_strided_views_and_offsets(interpreter):
    base = torch.arange(40.0)
    out = torch.zeros(20)
    run(interpreter, base[3::3], out[4:14], step=3)
    assert torch.equal(out[4:14], base[3::3][:10] + 1)
    assert out[:4].eq(0).all()
    assert out[14:].eq(0).all()


def test_zero_dimensions_and_zero_items(interpreter):
    out = torch.zeros(())
    run(interpreter, torch.tensor(4.0), out)
    assert out.item() == 5
    run(interpreter, torch.empty(0), torch.empty(0))
    interpreter.launch(add_one(), CONFIG, (1,), (torch.empty(0), torch.empty(0), 0, 1))


def test_arguments_that_share_memory_stay_aliases(interpreter):
    base = torch.arange(10.0)
    run(interpreter, base, base)
    assert torch.equal(base, torch.arange(1.0, 11.0))
    ahead = torch.arange(128.0)
    # Two programs: the second reads what the first wrote.
    run(interpreter, ahead[:96], ahead[32:])
    assert ahead[32:96].eq(torch.arange(1.0, 65.0)).all()
    assert ahead[96:].eq(torch.arange(34.0, 66.0)).all()


def test_memory_that_may_not_move_is_written_in_place(interpreter):
    numpy = pytest.importorskip("numpy")
    array = numpy.zeros(8, numpy.float32)
    with torch.inference_mode():
        x = torch.ones(8)
    run(interpreter, x, torch.from_numpy(array))
    assert (array == 2).all()


def test_the_arena_grows(interpreter):
    x = torch.zeros(1_000_000)
    out = torch.empty_like(x)
    config = Config((("XBLOCK", 1 << 20),))
    interpreter.launch(add_one(), config, (1,), (x, out, x.numel(), 1))
    assert out.eq(1).all()


def test_a_kernel_that_fails_says_where(interpreter):
    source = ADD_ONE.replace("mask = x < n", "mask = x < tl.no_such_thing(n)")
    with pytest.raises(InterpreterError, match=r"no_such_thing[\s\S]*line 9"):
        run(interpreter, torch.zeros(4), torch.zeros(4), add_one(source=source))
    out = torch.zeros(4)
    run(interpreter, torch.zeros(4), out)
    assert out.eq(1).all()


def test_reading_far_outside_is_an_error(interpreter):
    with pytest.raises(InterpreterError, match="reads outside"):
        run(interpreter, torch.zeros(4), torch.zeros(4), step=1 << 30)


def test_writing_beside_an_argument_is_an_error(interpreter):
    source = ADD_ONE.replace("tl.store(out0 + x,", "tl.store(out0 + x + 2,")
    out = torch.zeros(4)
    with pytest.raises(InterpreterError, match="beside out0"):
        run(interpreter, torch.zeros(4), out, add_one(source=source))
    assert out.eq(0).all()


def test_writing_what_is_not_marked_is_an_error(interpreter):
    with pytest.raises(InterpreterError, match="out0, which isn't marked"):
        run(interpreter, torch.zeros(4), torch.zeros(4), add_one(written=False))


def test_wrong_arguments(interpreter):
    with pytest.raises(InterpreterError, match=r"in0 is torch.float64, the kernel takes \*fp32"):
        run(interpreter, torch.zeros(4).double(), torch.zeros(4))
    with pytest.raises(InterpreterError, match="takes 4 arguments, not 1"):
        interpreter.launch(add_one(), CONFIG, (1,), (torch.zeros(4),))


def test_it_comes_back_after_it_died(interpreter):
    os.kill(interpreter._helper._process.pid, signal.SIGKILL)
    interpreter._helper._process.wait()
    out = torch.zeros(4)
    run(interpreter, torch.zeros(4), out)
    assert out.eq(1).all()


def test_a_crash_and_a_timeout_are_told():
    source = HEAD.replace("import triton\n", "import os, time, triton\n", 1) + (
        "def kernel_0(n):\n    time.sleep(60) if n else os.abort()\n"
    )
    kernel = Kernel("kernel_0", source, (Argument("n", "i32"),), (Config(()),), ("1",))
    mortal = Interpreter(timeout=60)
    with pytest.raises(InterpreterError, match=r"signal 6[\s\S]*Aborted"):
        mortal.launch(kernel, Config(()), (1,), (0,))
    mortal.start()
    mortal.timeout = 0.5
    with pytest.raises(InterpreterError, match=r"no answer within 0.5 s"):
        mortal.launch(kernel, Config(()), (1,), (1,))
    mortal.close()


def test_threads(interpreter):
    outs = [torch.zeros(50) for _ in range(8)]
    errors = []

    def work(i):
        try:
            for _ in range(5):
                run(interpreter, outs[i], outs[i])
        except InterpreterError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert all(out.eq(5).all() for out in outs)


def test_a_forked_child_leaves_the_parents_process_alone(interpreter):
    run(interpreter, torch.zeros(4), torch.zeros(4))
    child = os.fork()
    if child == 0:
        interpreter._own()
        os._exit(0 if interpreter._helper is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    out = torch.zeros(4)
    run(interpreter, torch.zeros(4), out)
    assert out.eq(1).all()
