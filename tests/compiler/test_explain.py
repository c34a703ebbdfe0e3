"""`explain`: one value that says all; graphs that run as Python."""

import dataclasses

import pytest
import rich
import torch
from compile_lint.compiler import compile, explain
from torch import nn


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def broken(x, n):
    y = x.sin() * n  # the sine
    print("break")
    return y.sum() + y.sum()


def run(text):
    """What exec of a graph's text defines as `Graph`."""
    names = {}
    exec(text, names)
    return names["Graph"]()


def test_says_all(capsys):
    x = torch.ones(3)
    told = explain(broken)(x, 2)
    assert capsys.readouterr().out == ""
    assert told.name == "broken"
    assert len(told.graphs) == 2
    assert [b.id for b in told.breaks] == ["GB0059"]
    assert dict(told.operators)["aten.sin.default"] == 1
    assert dict(told.operators)["aten.sum.default"] == 2
    assert told.fallbacks == told.operators  # CPU tensors run by ATen
    assert told.kernels == ()
    assert any(g.of == "L['n']" and g.checks == ("L['n'] == 2",) for g in told.guards)
    with pytest.raises(dataclasses.FrozenInstanceError):
        told.name = "other"


def test_prints_for_a_person(capsys):
    told = explain(broken)(torch.ones(3), 2)
    rich.print(told)
    text = str(told)
    assert text.startswith("broken: 2 graphs, 1 graph break, ")
    assert "GB0059" in text
    assert "aten.sin.default" in capsys.readouterr().out


def test_of_modules_and_compiled_ones():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())
    state = {k: v.clone() for k, v in net.state_dict().items()}
    x = torch.randn(5, 3)
    plain = explain(net)(x)
    assert plain.name == "Sequential"
    assert len(plain.graphs) == 1
    compiled = compile(net, dynamic=False)
    compiled(x)
    compiled(x[:4])
    state = {k: v.clone() for k, v in net.state_dict().items()}
    told = explain(compiled)(x)
    assert len(told.recompiles) == 1
    assert told.operators == plain.operators
    assert all(torch.equal(v, state[k]) for k, v in net.state_dict().items())


def test_raises_what_the_function_raises():
    def f(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        explain(f)(torch.ones(2))
    with pytest.raises(TypeError, match="generator"):
        explain(lambda g: next(g))(iter_once())


def iter_once():
    yield torch.ones(2)


def test_counts_breaks_as_the_mode_does():
    def f(x):
        return x * x.sum().item()

    assert explain(f)(torch.ones(2)).breaks == ()
    assert len(explain(f, fullgraph=False)(torch.ones(2)).breaks) == 1


def test_graph_shows_the_users_line_and_runs():
    compiled = compile(lambda x: x.sin().sum(dtype=torch.float64))
    x = torch.randn(4)
    wanted = compiled(x)
    text = str(compiled.graphs)
    assert f"# {__file__}:" in text
    (found,) = run(compiled.graphs[0].source)(x)
    assert torch.equal(found, wanted)


def test_graph_with_constants_arms_and_devices_runs():
    table = [float("inf"), float("nan"), 2.0]

    @compile
    def f(x):
        t = torch.tensor(table) + torch.arange(3, device=x.device)
        return torch.cond(x.sum() > 0, lambda x: x + t, lambda x: x - t, (x,))

    x = torch.ones(3)
    wanted = f(x)
    graph = f.graphs[0]
    assert len(graph.inputs) == 1
    (found,) = run(graph.source)(x)
    assert torch.equal(found.nan_to_num(), wanted.nan_to_num())


def test_forward_and_backward_graphs_run():
    compiled = compile(lambda x: (x.exp() * x).sum())
    x = torch.randn(4, requires_grad=True)
    compiled(x).backward()
    forward, backward = compiled.graphs
    out, *saved = run(forward.source)(x.detach())
    (grad,) = run(backward.source)(*saved, torch.ones(()))
    assert torch.allclose(grad, x.grad)
    assert torch.allclose(out, (x.exp() * x).sum())


def test_dynamic_graph_runs():
    compiled = compile(lambda x: x.reshape(-1) * x.shape[0], dynamic=True)
    x = torch.randn(5, 3)
    wanted = compiled(x)
    graph = compiled.graphs[0]
    given = [x if "[" in text else x.shape[i] for i, text in enumerate(graph.inputs)]
    outs = run(graph.source)(*given)
    assert any(isinstance(o, torch.Tensor) and torch.equal(o, wanted) for o in outs)


def test_kernels_print_as_source_with_the_users_lines():
    def f(x):
        return (x.sin() + 1).sum(-1)  # the fused line

    compiled = compile(f, options={"interpret": True})
    x = torch.randn(3, 4)
    assert torch.allclose(compiled(x), f(x), atol=1e-6)
    text = str(compiled.kernels)
    assert "@triton.jit" in text
    assert f"# {__file__}:" in text
    assert "# the fused line" in text
    told = explain(compiled)(x)
    assert [k.name for k in told.kernels] == [k.name for k in compiled.kernels]
    assert told.fallbacks == ()
