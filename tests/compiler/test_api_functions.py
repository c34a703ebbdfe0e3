"""`compile` on functions: what a decorator has to get right."""

import functools
import inspect
import pickle
import threading

import pytest
import torch
from compile_lint.compiler import CaptureError, UnknownOption, compile, kernels


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def wave(x, scale=2):
    """Doubled sine."""
    return x.sin() * scale


@compile
def decorated(x):
    return x + 1


class Doubler:
    factor = 3

    @compile
    def method(self, x):
        return x * self.factor

    @staticmethod
    @compile
    def static(x):
        return x - 1

    @compile
    @staticmethod
    def static_outside(x):
        return x - 2

    @classmethod
    @compile
    def of_class(cls, x):
        return x * cls.factor

    @compile
    @classmethod
    def of_class_outside(cls, x):
        return x * cls.factor

    def __call__(self, x):
        return x * 5


def test_keeps_the_functions_face():
    compiled = compile(wave)
    assert inspect.isfunction(compiled)
    assert (compiled.__name__, compiled.__doc__) == ("wave", "Doubled sine.")
    assert inspect.signature(compiled) == inspect.signature(wave)
    assert compiled.__wrapped__ is wave


def test_as_function_and_as_both_decorators():
    x = torch.randn(4)

    @compile(mode="reduce-overhead", dynamic=False)
    def f(x):
        return x.cos()

    assert torch.equal(compile(wave)(x, scale=3), wave(x, 3))
    assert torch.equal(f(x), x.cos())
    assert torch.equal(decorated(x), x + 1)


def test_methods():
    x, it = torch.randn(4), Doubler()
    assert torch.equal(it.method(x), x * 3)
    assert torch.equal(Doubler.static(x), x - 1)
    assert torch.equal(it.static_outside(x), x - 2)
    assert torch.equal(it.of_class(x), x * 3)
    assert torch.equal(Doubler.of_class_outside(x), x * 3)
    assert torch.equal(compile(it.method)(x), x * 3)


def test_callables_without_code_of_their_own():
    x = torch.randn(4)
    assert torch.equal(compile(functools.partial(wave, scale=5))(x), x.sin() * 5)
    assert torch.equal(compile(Doubler())(x), x * 5)
    assert torch.equal(compile(torch.sin)(x), x.sin())


def test_compiled_calls_compiled_in_one_graph():
    inner = compile(wave)

    @compile
    def outer(x):
        return inner(x) + decorated(x)

    x = torch.randn(4)
    assert torch.allclose(outer(x), wave(x) + x + 1)
    assert len(outer.graphs) == 1
    assert not inner.graphs


def test_outer_torch_compile_traces_through():
    inner = compile(wave)
    seen = []

    def backend(gm, _inputs):
        seen.append(gm)
        return gm.forward

    x = torch.randn(4)
    compiled = torch.compile(lambda x: inner(x) + 1, backend=backend, fullgraph=True)
    assert torch.allclose(compiled(x), wave(x) + 1)
    assert len(seen) == 1
    assert not inner.graphs


def test_compiled_inside_a_broken_graph_is_compiled():
    @compile(fullgraph=False)
    def outer(x):
        print("break")
        torch._dynamo.graph_break()
        return decorated(x)

    x = torch.randn(4)
    assert torch.equal(outer(x), x + 1)


def test_compiling_again_takes_the_last_choice():
    once = compile(wave)
    twice = compile(once, fullgraph=False)
    assert twice.__wrapped__ is wave
    assert torch.equal(
        compile(torch.compile(wave, backend="eager"))(torch.ones(2)), wave(torch.ones(2))
    )


def test_gradients_and_modes_of_torch():
    x = torch.randn(4, requires_grad=True)
    compiled = compile(wave)
    compiled(x).sum().backward()
    assert torch.allclose(x.grad, 2 * x.detach().cos())
    assert [graph.stage for graph in compiled.graphs] == ["forward", "backward"]
    with torch.no_grad():
        assert not compiled(x).requires_grad
    with torch.inference_mode():
        assert compiled(x).is_inference()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = compile(lambda a: a @ a)(torch.randn(4, 4))
    assert y.dtype == torch.bfloat16


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune"])
def test_modes_do_the_same_on_the_cpu(mode):
    x = torch.randn(4)
    assert torch.equal(compile(wave, mode=mode)(x), wave(x))
    assert torch.equal(torch.compile(wave, backend="compile_lint", mode=mode)(x), wave(x))


def test_wrong_choices():
    with pytest.raises(UnknownOption, match="reduce-overhead"):
        compile(wave, mode="fast")
    with pytest.raises(UnknownOption, match="interpret"):
        compile(wave, options={"interpet": True})
    with pytest.raises(TypeError, match="instance of Doubler"):
        compile(Doubler)
    with pytest.raises(TypeError, match="not 3"):
        compile(3)
    with pytest.raises(TypeError, match="isn't compiled"):
        kernels(wave)


def test_what_the_function_raises_passes():
    @compile(fullgraph=False)
    def f(x, n):
        if n > 2:
            raise ValueError("too many")
        return x + n

    with pytest.raises(ValueError, match="too many"):
        f(torch.ones(2), 3)


def test_dynamic_compiles_once():
    compiled = compile(wave, dynamic=True)
    for size in (3, 4, 7, 19):
        compiled(torch.randn(size, 2))
    assert len(compiled.graphs) == 1
    assert not compiled.recompiles


def test_mark_dynamic_compiles_once():
    compiled = compile(wave)
    for size in (3, 4, 7):
        x = torch.randn(size, 2)
        torch._dynamo.mark_dynamic(x, 0)
        compiled(x)
    assert len(compiled.graphs) == 1


def test_recompiles_tell_the_guard():
    compiled = compile(wave, dynamic=False)
    for size in (3, 4, 5):
        compiled(torch.randn(size))
    assert len(compiled.recompiles) == 2
    first, second = compiled.recompiles
    assert "expected 3, actual 4" in first.guards[0]
    assert len(second.guards) == 2
    assert (first.function, first.file) == ("wave", __file__)
    torch.compile(wave, backend="eager", dynamic=False)(torch.randn(6))
    assert len(compiled.recompiles) == 2  # that one wasn't ours
    torch._dynamo.reset()
    assert not compiled.recompiles
    compiled(torch.randn(3))
    assert not compiled.recompiles


def test_recompiles_are_limited_as_in_torch():
    compiled = compile(wave, dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=2):
        compiled(torch.randn(3))
        compiled(torch.randn(4))
        with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit):
            compiled(torch.randn(5))


def test_pickles_by_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_threads():
    compiled, errors = compile(wave), []

    def work(size):
        try:
            for _ in range(5):
                x = torch.randn(size)
                assert torch.equal(compiled(x), wave(x))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in (3, 3, 4, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_capture_error_in_a_thread_leaves_others_alone():
    @compile
    def broken(x):
        print("break")
        return x + 1

    def fails():
        with pytest.raises(CaptureError):
            broken(torch.ones(2))

    thread = threading.Thread(target=fails)
    thread.start()
    x = torch.randn(5)
    assert torch.equal(compile(wave)(x), wave(x))
    thread.join()
