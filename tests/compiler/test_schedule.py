"""How kernels are launched: what must hold for every size, and the few rules that were measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from compile_lint.compiler import build
from compile_lint.compiler.triton.kernel import Config
from torch.nn import functional as F

bf16 = torch.bfloat16


def first_config(f: Callable, *args: torch.Tensor) -> tuple[int, int]:
    """(rows or points of a program, its warps) of f's first kernel on an H200."""
    torch._dynamo.reset()
    kernels = build(f, args, "cuda:90", options={"cache": False}).kernels
    for kernel in kernels:
        assert len(set(kernel.configs)) == len(kernel.configs)
        for config in kernel.configs:
            check(config)
    first = kernels[0].configs[0]
    return dict(first.blocks)["XBLOCK"], first.num_warps


def check(config: Config) -> None:
    points = 1
    for _, size in config.blocks:
        assert size & (size - 1) == 0
        points *= size
    assert config.num_warps in (1, 2, 4, 8, 16)
    assert points <= 1024 * 32 * config.num_warps


@pytest.mark.parametrize("columns", [2, 5, 64, 513, 1024, 3000, 16384])
@pytest.mark.parametrize("rows", [3, 5000])
def test_rows_of_every_size_have_a_launch(rows: int, columns: int) -> None:
    x = torch.empty(rows, columns)
    first_config(lambda x: x - x.amax(-1, keepdim=True), x)


@pytest.mark.parametrize(
    ("columns", "wanted"), [(128, (8, 1)), (256, (4, 1)), (512, (2, 1)), (1024, (1, 2))]
)
def test_many_short_rows_are_reduced_without_barriers(columns: int, wanted: tuple) -> None:
    assert first_config(lambda x: F.softmax(x, -1), torch.empty(16384, columns)) == wanted


def test_few_rows_get_more_warps_each() -> None:
    assert first_config(lambda x: F.softmax(x, -1), torch.empty(64, 1024)) == (1, 4)


def test_long_rows_get_fewer_warps_where_an_element_costs_much() -> None:
    x = torch.empty(4096, 4096)
    assert first_config(lambda x: x - x.mean(-1, keepdim=True), x) == (1, 16)
    assert first_config(lambda x: F.gelu(x) - x.mean(-1, keepdim=True), x) == (1, 8)


def test_cheap_work_on_one_tensor_is_one_wide_load_a_thread() -> None:
    x, y = torch.empty(1024, 1024), torch.empty(1024, 1024)
    assert first_config(lambda x: F.relu(x + 1) * 2, x) == (512, 4)
    assert first_config(lambda x, b: F.relu(x + b), x, y[0]) == (512, 4)
    assert first_config(lambda x, y: x + y, x, y) == (1024, 4)
    assert first_config(torch.sin, x) == (1024, 4)
    assert first_config(lambda x: x + 1, x.to(bf16)) == (1024, 4)
