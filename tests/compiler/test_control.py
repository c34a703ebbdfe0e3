"""Control flow equals eager, forward and gradient, by ATen and by generated kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.ops import control as control_ops
from compile_lint.compiler.runtime import control as control_runtime
from compile_lint.compiler.settings import Settings
from functorch.experimental.control_flow import map as map_rows
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.scan import scan
from torch.utils import _pytree as pytree

ATEN = Settings(cache=False)
KERNELS = Settings(cache=False, interpret=True)


def both_ways(
    function: Callable,
    *inputs: torch.Tensor,
    settings: Settings = KERNELS,
    grad: bool = False,
    dynamic: bool | None = None,
    signs: tuple[int, ...] = (1, -1),
) -> Backend:
    """Assert that the function, compiled once, equals eager on its inputs and on their negatives.

    Returns:
        The backend that compiled it.
    """
    torch._dynamo.reset()
    backend = Backend(settings)
    compiled = torch.compile(function, backend=backend, fullgraph=True, dynamic=dynamic)
    for sign in signs:
        results = []
        for f in (function, compiled):
            given = [(x * sign).requires_grad_(grad and x.is_floating_point()) for x in inputs]
            found = pytree.tree_leaves(f(*given))
            if grad:
                torch.stack([(r * r).sum() for r in found if r.requires_grad]).sum().backward()
                found += [x.grad for x in given]
            results.append(found)
        for expected, actual in zip(*results, strict=True):
            bounds = {}  # by default
            if expected.dtype == torch.float32:
                # A sum that cancels to little still rounds like its largest terms, and by another
                # order of adding on another processor.
                size = expected.detach().abs().max().item()
                bounds = {"rtol": 1.3e-6, "atol": 1e-5 + 1e-6 * size}
            torch.testing.assert_close(actual, expected, **bounds)
    assert len(backend.graphs) == 1 + grad
    return backend


def rows(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    return torch.randn(4, 3), torch.randn(3)


def branch(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: x.sin() * w, lambda x: x.cos() + w, (x,))


def branch_of_index(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: x[w.argsort()[:2]], lambda x: x[1:3].cos(), (x,))


def counted(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, (x.sin() + w).cumsum(0)), (torch.tensor(0), x)
    )[1]


def until(x: torch.Tensor, w: torch.Tensor) -> list[torch.Tensor]:
    def test(state: dict) -> torch.Tensor:
        return (state["n"] < 5) & (state["x"].sum() < 1e4)

    def body(state: dict) -> tuple[dict]:
        return ({"n": state["n"] + 1, "x": (state["x"].sin() * 1.1 + w).flip(0)},)

    (state,) = torch.while_loop(test, body, ({"n": torch.zeros((), dtype=torch.int64), "x": x},))
    return [state["n"], state["x"]]


def scanned(x: torch.Tensor, w: torch.Tensor) -> Any:
    return scan(lambda c, x: (c + x.sin(), {"y": c * x}), w, x, dim=0)


def scanned_back(x: torch.Tensor, w: torch.Tensor) -> Any:
    steps = x[:3] * w[:, None, None]
    return scan(lambda c, x: (c @ x, c.sum() + x), torch.eye(3), steps, dim=1, reverse=True)


def mapped(x: torch.Tensor, w: torch.Tensor) -> Any:
    return map_rows(lambda x, w: [x.softmax(0) + w, x * w], x, w)


def nested(x: torch.Tensor, w: torch.Tensor) -> Any:
    def row(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: (x * w).cumsum(0), lambda x: x.exp() - w, (x,))

    return map_rows(row, x, w)


def loop_in_branch(x: torch.Tensor, w: torch.Tensor) -> Any:
    def loop(x: torch.Tensor) -> torch.Tensor:
        return torch.while_loop(
            lambda i, x: i < 4,
            lambda i, x: (i + 1, torch.cond(x.sum() > 0, lambda x: x - w, lambda x: -2 * x, (x,))),
            (torch.tensor(0), x),
        )[1]

    return torch.cond(w.sum() > 0, loop, lambda x: x.clone(), (x,))


DIFFERENTIABLE = [
    branch,
    branch_of_index,
    counted,
    until,
    scanned,
    scanned_back,
    mapped,
    nested,
]


def test_the_host_runs_what_the_lowering_hands_it() -> None:
    assert set(control_runtime.HOSTED) == control_ops.HOSTED


@pytest.mark.parametrize("function", DIFFERENTIABLE, ids=lambda f: f.__name__)
def test_equal_to_eager_with_gradient(function: Callable) -> None:
    both_ways(function, *rows(), grad=True)


@pytest.mark.parametrize("function", [branch, until, nested], ids=lambda f: f.__name__)
def test_equal_to_eager_with_gradient_by_aten(function: Callable) -> None:
    both_ways(function, *rows(), settings=ATEN, grad=True)


@pytest.mark.parametrize("function", [until, scanned], ids=lambda f: f.__name__)
def test_dynamic_shapes(function: Callable) -> None:
    both_ways(function, *rows(), grad=True, dynamic=True)


def test_one_compilation_serves_other_sizes() -> None:
    torch._dynamo.reset()
    backend = Backend(KERNELS)
    compiled = torch.compile(until, backend=backend, fullgraph=True, dynamic=True)
    for length in (4, 2):
        x, w = torch.randn(length, 3), torch.randn(3)
        torch.testing.assert_close(compiled(x, w), until(x, w))
    assert len(backend.graphs) == 1


def test_loops_and_branches_in_each_other() -> None:
    both_ways(loop_in_branch, *rows())


def test_a_loop_without_rounds_copies_its_state() -> None:
    def never(x: torch.Tensor) -> list[torch.Tensor]:
        i, y = torch.while_loop(
            lambda i, x: i > 0, lambda i, x: (i - 1, x.flip(0)), (torch.tensor(0), x)
        )
        return [i, y + 1, y]

    both_ways(never, rows()[0])
    both_ways(never, rows()[0], grad=True)


def test_a_row_count_that_depends_on_data() -> None:
    def positive(x: torch.Tensor) -> torch.Tensor:
        kept = x[x > 0]
        return torch.cond(x.sum() > 0, lambda k: k.sin(), lambda k: k.cos(), (kept,))

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        both_ways(positive, torch.tensor([3.0, -1.0, 2.0, 0.5]))


def test_a_module_with_parameters() -> None:
    class Gate(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, self.left, self.right, (x,)).relu()

    torch.manual_seed(0)
    torch._dynamo.reset()
    gate = Gate()
    compiled = torch.compile(gate, backend=Backend(KERNELS), fullgraph=True)
    for sign in (1, -1):
        x, grads = sign * torch.rand(4, 3), []
        for module in (gate, compiled):
            gate.zero_grad()
            module(x).square().sum().backward()
            grads.append([p.grad for p in gate.parameters()])
        for expected, actual in zip(*grads):
            # Eager leaves the gradient of an untouched parameter unset; cond gives zeros.
            wanted = torch.zeros_like(actual) if expected is None else expected
            torch.testing.assert_close(actual, wanted)


def test_a_generic_associative_scan() -> None:
    def running(x: torch.Tensor) -> torch.Tensor:
        return associative_scan(lambda a, b: a + b * 0.5, x, dim=0, combine_mode="generic")

    both_ways(running, rows()[0], grad=True)


def test_rows_combined_one_after_the_other() -> None:
    xs = [torch.rand(5, 3), torch.rand(5, 3)]

    def combine(args: list) -> list:
        a, b, c, d = args
        return [a * c, b * c + d]

    got = control_runtime.associative_scan(combine, xs)
    a, b = xs[0][0], xs[1][0]
    for k in range(1, 5):
        a, b = combine([a, b, xs[0][k], xs[1][k]])
    torch.testing.assert_close(got[0][4], a)
    torch.testing.assert_close(got[1][4], b)


def test_subgraphs_are_in_the_program() -> None:
    x, w = rows()
    (graph,) = both_ways(counted, x, w).graphs
    assert "def subgraph_" in graph.source
    assert "while_loop(subgraph_" in graph.source
    assert not graph.fallbacks
    assert len(graph.kernels) >= 2


def test_states_of_two_dtypes_that_are_only_copied() -> None:
    """Their kernels read the same, letter for letter, but for the types of their arguments."""

    def stopped(x: torch.Tensor, s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        def body(done: Any, s: torch.Tensor, n: Any) -> Any:
            n = n + 1
            return n > 2, torch.where(n > 2, s, s + 1), n

        start = (torch.tensor(False), s, torch.tensor(0))
        _, last, _ = torch.while_loop(lambda done, s, n: ~done & (s < 0.5), body, start)
        return torch.where(x.sum() > 0.5, x * s, x), torch.where(start[0], s, last)

    both_ways(stopped, torch.ones(3), torch.tensor(-2.3), grad=True, signs=(1,))
