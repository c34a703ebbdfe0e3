"""Random programs through the backend; `python -m benchmarks.programs` runs thousands."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch
from compile_lint.compiler.settings import Settings

from benchmarks.conformance.program_strategy import Input, Program
from benchmarks.conformance.program_trial import check_programs, try_program
from benchmarks.conformance.trial import EQUAL, MISMATCH, configured, lowers

COUNT = 50  # of each of four seeds
INTERPRETED = 20
LONGEST = 6


@pytest.mark.parametrize("seed", [20, 21, 22, 23])
def test_programs_by_aten_are_equal_to_eager(seed: int) -> None:
    with configured():
        outcomes, failure = check_programs(COUNT, seed, Settings(), longest=LONGEST)
    assert failure is None, f"{failure.outcome}: {failure.reason}\n{failure.program}"
    assert outcomes.total() == COUNT
    assert outcomes[EQUAL] > 0.8 * COUNT, outcomes  # the rest is what torch itself can't do


def test_programs_by_generated_kernels_are_equal_to_eager() -> None:
    settings = Settings(interpret=True)
    with configured():
        if not lowers(settings):
            pytest.skip("no kernels are generated here")
        outcomes, failure = check_programs(INTERPRETED, 20, settings, halves=False, longest=LONGEST)
    assert failure is None, f"{failure.outcome}: {failure.reason}\n{failure.program}"
    assert outcomes[EQUAL] > 0.8 * INTERPRETED, outcomes


def test_a_wrong_result_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness itself: a backend that changes one operator is caught."""
    from compile_lint.compiler import graph

    by_aten = graph.by_aten

    def wrong(gm: torch.fx.GraphModule, *args: object, **kwargs: object) -> graph.CompiledGraph:
        for node in gm.graph.nodes:
            if node.target is torch.ops.aten.sin.default:
                node.target = torch.ops.aten.cos.default
        gm.recompile()
        return by_aten(gm, *args, **kwargs)

    monkeypatch.setattr(graph, "by_aten", wrong)
    program = Program(
        "def f(x0):\n    v1 = torch.sin(x0)\n    return v1,\n",
        (Input((3,), "float32", "contiguous", True, 1),),
    )
    with configured():
        assert try_program(program, Settings()).outcome == MISMATCH


@pytest.mark.parametrize(
    ("layout", "shape", "strides"),
    [
        ("contiguous", (2, 3), (3, 1)),
        ("transposed", (2, 3), (1, 2)),
        ("strided", (2, 3), (6, 2)),
        ("expanded", (2, 3), (0, 1)),
        ("channels_last", (2, 3, 4, 5), (60, 1, 15, 3)),
    ],
)
def test_layouts(layout: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    made = Input(shape, "float32", layout, False, 0).make()
    assert made.shape == shape
    assert made.stride() == strides
