"""Cheap arms become straight code in one kernel, and small loops become one kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from compile_lint.compiler.graph import CompiledGraph
from compile_lint.compiler.passes.predicate import predicate
from compile_lint.compiler.runtime.build import build_kernels
from compile_lint.compiler.settings import Settings

from .test_control import both_ways, branch, rows


def graph_of(function: Callable, *inputs: torch.Tensor, **options: Any) -> CompiledGraph:
    (graph,) = both_ways(function, *inputs, **options).graphs
    return graph


def assert_one_kernel(graph: CompiledGraph) -> None:
    assert [k.name for k in graph.kernels] == [graph.kernels[0].name]
    assert graph.fallbacks == ()
    assert "subgraph" not in graph.source
    assert "torch.ops" not in graph.source


def nested_arms(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    def inner(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.max() > 1, lambda x: 2 * x * w, lambda x: x.exp() + w, (x,))

    return torch.cond(x.sum() > 0, inner, lambda x: (x * 0.5).cos(), (x,)) + 1


def own_constants(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.cond(
        x.sum() > 0,
        lambda x: x + torch.tensor([1.0, 2.0, 3.0], device=x.device),
        lambda x: x * torch.tensor([3.0, 2.0, 1.0], device=x.device),
        (x,),
    )


@pytest.mark.parametrize("function", [branch, nested_arms, own_constants], ids=lambda f: f.__name__)
def test_cheap_arms_are_one_kernel(function: Callable) -> None:
    assert_one_kernel(graph_of(function, *rows()))


def test_cheap_arms_with_sizes_known_later_are_one_kernel() -> None:
    assert_one_kernel(graph_of(branch, *rows(), dynamic=True))


def test_the_arms_gradients_are_straight_code() -> None:
    forward, backward = both_ways(branch, *rows(), grad=True).graphs
    assert_one_kernel(forward)
    assert_one_kernel(backward)


def test_an_untaken_arm_poisons_no_gradient() -> None:
    def root(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.min() > 0, lambda x: x.sqrt().log(), lambda x: x * x, (x,))

    x = torch.tensor([0.5, 0.0, 2.0])
    forward, backward = both_ways(root, x, grad=True).graphs
    assert "subgraph_" not in forward.source + backward.source


@pytest.mark.parametrize(
    "arm",
    [
        lambda x: torch.rand_like(x) * 0 + x,
        lambda x: x[(x[:, 0] * 0).long()] * 2,
        lambda x: x.sort(0)[0],
    ],
    ids=["random", "indexing", "not lowered"],
)
def test_other_arms_stay_branches(arm: Callable) -> None:
    def choose(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, arm, lambda x: x.cos(), (x,))

    assert "= cond(" in graph_of(choose, rows()[0], signs=(1,)).source


def test_a_large_arm_stays_a_branch() -> None:
    torch._dynamo.reset()
    graphs: list[torch.fx.GraphModule] = []

    def keep(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        graphs.append(gm)
        return gm

    from torch._dynamo.backends.common import aot_autograd

    wide, narrow = torch.zeros(8 << 20), torch.zeros(8)
    compiled = torch.compile(branch, backend=aot_autograd(fw_compiler=keep), dynamic=False)
    with torch.no_grad():
        for x in (wide, narrow):
            compiled(x, torch.zeros(1))
    large, small = graphs
    assert predicate(large) is large
    assert predicate(small) is not small


def counted(x: torch.Tensor, w: torch.Tensor, device: Any = None) -> Any:
    return torch.while_loop(
        lambda i, x: i < 5,
        lambda i, x: (i + 1, x.sin() + w),
        (torch.tensor(0, device=device or x.device), x),
    )


def newton(x: torch.Tensor, w: torch.Tensor) -> Any:
    def test(i: torch.Tensor, y: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        return (i < 50) & ((y * y - x.abs()).abs().max() > 1e-4)

    def body(i: torch.Tensor, y: torch.Tensor, s: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return i + 1, 0.5 * (y + x.abs() / y), s + y.sum()

    start = (torch.zeros((), dtype=torch.int64, device=x.device), torch.ones_like(x), w[0].clone())
    return torch.while_loop(test, body, start)


def halves(x: torch.Tensor, w: torch.Tensor) -> Any:
    def body(i: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return i - 1, torch.cond(i > 1, lambda y: y * 1.1, lambda y: y / 3, (y,))

    return torch.while_loop(
        lambda i, y: i > 0, body, (torch.tensor(3, device=x.device), x.bfloat16())
    )


@pytest.mark.parametrize("function", [counted, newton, halves], ids=lambda f: f.__name__)
def test_a_small_loop_is_one_kernel(function: Callable) -> None:
    graph = graph_of(function, *rows())
    assert_one_kernel(graph)
    assert "while more:" in graph.kernels[0].source


def test_a_pointwise_loop_takes_any_size() -> None:
    graph = graph_of(counted, *rows(), dynamic=True)
    assert_one_kernel(graph)


def test_a_loops_gradient_is_one_kernel() -> None:
    def grow(x: torch.Tensor) -> torch.Tensor:
        return torch.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x.sin() * 1.1), (torch.tensor(0), x)
        )[1]

    _, backward = both_ways(grow, rows()[0], grad=True).graphs
    assert any("while more:" in k.source for k in backward.kernels)
    assert backward.fallbacks == ()


def test_a_loop_whose_elements_meet_runs_round_by_round() -> None:
    def turn(x: torch.Tensor) -> Any:
        return torch.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x.flip(0)), (torch.tensor(0), x)
        )

    assert "while_loop(subgraph_" in graph_of(turn, rows()[0]).source


def test_kernels_build_for_a_gpu() -> None:
    kernels = [
        kernel for f in (nested_arms, counted, newton) for kernel in graph_of(f, *rows()).kernels
    ]
    for built in build_kernels([(k, k.configs[0]) for k in kernels], "cuda:90"):
        assert not isinstance(built, Exception), built


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_cached_program_finds_the_constants_of_its_subgraphs(dtype: torch.dtype) -> None:
    def far(x: torch.Tensor) -> torch.Tensor:
        shift = torch.tensor([1.0, 2.0, 3.0], dtype=dtype)
        return torch.cond(
            x.sum() > 0,
            lambda x: (x + shift * torch.ones(3, dtype=dtype)).sort(0)[0],
            lambda x: x - torch.tensor([4.0, 5.0, 6.0], dtype=dtype),
            (x,),
        )

    x = rows()[0].to(dtype)
    cached = Settings(interpret=True)
    first, second = (graph_of(far, x, settings=cached) for _ in range(2))
    assert first.source == second.source


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: loops on a GPU are untested")
@pytest.mark.parametrize("function", [branch, nested_arms, own_constants, counted, newton, halves])
def test_on_a_gpu(function: Callable) -> None:
    x, w = (t.cuda() for t in rows())
    assert graph_of(function, x, w, settings=Settings(cache=False)).kernels


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: loops on a GPU are untested")
def test_a_counter_on_the_cpu_comes_to_the_gpu() -> None:
    x, w = (t.cuda() for t in rows())
    graph = graph_of(partial(counted, device="cpu"), x, w, settings=Settings(cache=False))
    assert [k for k in graph.kernels if "while more:" in k.source]
