"""`compile` on modules: one module, two ways to call it."""

import copy
import io
import pickle

import pytest
import torch
from compile_lint.compiler import CaptureError, compile, kernels
from torch import nn


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.norm(self.linear(x)).relu()


@pytest.fixture
def net():
    return Net()


@pytest.fixture
def x():
    return torch.randn(6, 4)


def test_is_the_same_module_to_all_who_look(net, x):
    compiled = compile(net)
    assert isinstance(compiled, Net)
    assert repr(compiled) == repr(net)
    assert list(compiled.state_dict()) == list(net.state_dict())
    assert [n for n, _ in compiled.named_modules()] == [n for n, _ in net.named_modules()]
    assert all(a is b for a, b in zip(compiled.parameters(), net.parameters()))


def test_original_stays_eager(net, x):
    compiled = compile(net).eval()
    assert torch.allclose(compiled(x), net(x))
    assert len(compiled.graphs) == 1
    assert net._compiled_call_impl is None
    assert net.calls == compiled.calls == 2


def test_state_is_one(net, x):
    compiled = compile(net)
    compiled.eval()
    assert not net.training
    net.train()
    assert compiled.training
    before = net.norm.running_mean.clone()
    compiled(x)
    assert not torch.equal(net.norm.running_mean, before)
    compiled.double()
    assert net.linear.weight.dtype == torch.float64
    compiled.register_buffer("extra", torch.ones(2))
    assert "extra" in net.state_dict()
    net.note = "seen"
    assert compiled.note == "seen"


def test_trains(net, x):
    twin = copy.deepcopy(net)
    compiled = compile(net)
    for model, call in ((net, compiled), (twin, twin)):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            call(x).square().mean().backward()
            optimizer.step()
    for a, b in zip(net.parameters(), twin.parameters()):
        assert torch.allclose(a, b, atol=1e-6)


def test_hooks_run_and_get_the_compiled_module(net, x):
    compiled, seen = compile(net), []
    compiled.register_forward_hook(lambda module, args, out: out + 1)
    compiled.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    compiled.linear.register_forward_hook(lambda module, args, out: seen.append(1))
    compiled.eval()
    plain = copy.deepcopy(net).eval()
    assert torch.allclose(compiled(x), plain(x), atol=1e-6)
    assert seen


def test_saves_as_the_plain_module(net, x):
    compiled = compile(net).eval()
    wanted = compiled(x)
    for data in (pickle.dumps(compiled), _saved(compiled)):
        loaded = torch.load(io.BytesIO(data), weights_only=False) if data[:2] == b"PK" else None
        loaded = loaded or pickle.loads(data)
        assert type(loaded) is Net
        assert torch.allclose(loaded(x), wanted)
    fresh = compile(Net())
    fresh.load_state_dict(torch.load(io.BytesIO(_saved(compiled.state_dict()))))
    assert torch.allclose(fresh.eval()(x), wanted)


def _saved(value):
    out = io.BytesIO()
    torch.save(value, out)
    return out.getvalue()


def test_copies(net, x):
    compiled = compile(net).eval()
    wanted = compiled(x)
    deep = copy.deepcopy(compiled)
    assert deep.linear.weight is not net.linear.weight
    assert torch.allclose(deep(x), wanted)
    assert len(deep.graphs) == 1  # compiled, too
    shallow = copy.copy(compiled)
    assert torch.allclose(shallow(x), wanted)


def test_inside_another_module(net, x):
    whole = nn.Sequential(compile(net), nn.Linear(4, 2)).eval()
    assert whole(x).shape == (6, 2)
    assert len(whole[0].graphs) == 1
    outer = compile(nn.Sequential(compile(net), nn.Linear(4, 2))).eval()
    assert torch.allclose(outer(x), outer[1](net(x)), atol=1e-6)
    assert len(outer.graphs) == 1
    assert not outer[0].graphs


def test_many_modules_dont_share_a_limit(x):
    for width in range(1, 11):
        small = compile(nn.Sequential(nn.Linear(4, width)))
        assert small(x).shape == (6, width)


def test_names_of_the_module_win():
    class Own(nn.Module):
        kernels = "mine"

        def forward(self, x):
            return x + 1

    compiled = compile(Own())
    compiled(torch.ones(2))
    assert compiled.kernels == "mine"
    assert len(kernels(compiled)) == 0


def test_again_parametrized_and_lazy(net, x):
    again = compile(compile(net), fullgraph=False).eval()
    assert torch.allclose(again(x), net(x))
    nn.utils.parametrizations.weight_norm(again.linear)
    assert torch.allclose(again(x), net(x), atol=1e-6)
    with pytest.raises(TypeError, match="no weights yet"):
        compile(nn.LazyLinear(3))


def test_under_the_name(net, x):
    net.eval()
    wanted = net(x)
    net.compile(backend="compile_lint", fullgraph=False)
    assert torch.allclose(net(x), wanted)
    plain = Net().eval()
    assert torch.allclose(torch.compile(plain, backend="compile_lint")(x), plain(x))


def test_data_parallel_replica_is_plain(net, x):
    replica = compile(net)._replicate_for_data_parallel()
    assert replica._compiled_call_impl is None


def test_capture_error_names_the_module_and_keeps_its_state(x):
    class Noisy(Net):
        def forward(self, x):
            x = super().forward(x)
            print("noise")
            return x * torch.rand(4)

    compiled = compile(Noisy())
    state = {k: v.clone() for k, v in compiled.state_dict().items()}
    drawn = torch.get_rng_state()
    with pytest.raises(CaptureError, match="`Noisy` can't be captured") as caught:
        compiled(x)
    assert [b.code for b in caught.value.breaks] == ['print("noise")']
    assert compiled.calls == 0
    assert torch.equal(torch.get_rng_state(), drawn)
    assert all(torch.equal(v, state[k]) for k, v in compiled.state_dict().items())
