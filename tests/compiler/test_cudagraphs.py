"""Which graphs are recorded as CUDA graphs: the graphs are real, the GPU and its trees are not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from compile_lint.compiler.capture import backend as capturing
from compile_lint.compiler.capture.backend import Backend
from compile_lint.compiler.passes.decompose import _table
from compile_lint.compiler.runtime import cudagraphs
from compile_lint.compiler.runtime.cudagraphs import Recorder
from compile_lint.compiler.settings import Settings
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx


class Trees:
    """In place of torch's CUDA graph trees: remembers what it is asked to record."""

    def __init__(self) -> None:
        self.recorded: dict[str, dict[str, Any]] = {}
        self.backwards = 0

    def cudagraphify_impl(self, run: Callable, inputs: list, fixed: list, **told: Any) -> Callable:
        stage = "backward" if told["is_backward"] else "forward"
        self.recorded[stage] = {"fixed": set(fixed), **told}
        return lambda args: ["replayed"]

    def get_manager(self, device: int, create_if_none_exists: bool = True) -> Any:
        return self

    def set_to_running_backward(self) -> None:
        self.backwards += 1


@pytest.fixture
def trees(monkeypatch: pytest.MonkeyPatch) -> Trees:
    import torch._inductor.cudagraph_trees as real

    fake = Trees()
    monkeypatch.setattr(real, "cudagraphify_impl", fake.cudagraphify_impl)
    monkeypatch.setattr(real, "get_manager", fake.get_manager)
    return fake


def on_gpu(gm: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The graph as it would be traced on a GPU, spelt out as for kernels."""
    given = [node.meta["val"] for node in gm.graph.nodes if node.op == "placeholder"]
    names = [node.name for node in gm.graph.nodes if node.op == "placeholder"]
    for node in gm.graph.nodes:
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": torch.device("cuda")}
    gm.recompile()
    with FakeTensorMode():
        fake = [
            torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cuda") for x in given
        ]
        traced = make_fx(lambda *args: gm(*args), decomposition_table=_table())(*fake)
    places = [node for node in traced.graph.nodes if node.op == "placeholder"]
    for node, name in zip(places, names, strict=True):
        node.name = f"{name}_"  # what a tangent is, is told by its name
    return traced


def stages(f: Callable, *args: torch.Tensor) -> tuple[list, list[int]]:
    """(each captured graph with its stage, the forward graph's static inputs)."""
    static: list[list[int]] = []

    class Noting(Recorder):
        def wrap(self, run: Any, gm: Any, inputs: list, stage: str) -> Any:
            static.append(cudagraphs._static_inputs())
            return run

    patch = pytest.MonkeyPatch()
    with patch.context() as changed:
        changed.setattr(capturing, "Recorder", Noting)
        changed.setattr(capturing, "records", lambda inputs, settings: True)
        torch._dynamo.reset()
        backend = Backend(Settings())
        torch.compile(f, backend=backend, fullgraph=True)(*args).sum().backward()
    return [(graph.gm, graph.stage) for graph in backend.graphs], static[0]


def net() -> nn.Module:
    layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(72, 5)).train()


def test_a_training_step_with_batch_norm_is_recorded(
    trees: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs, static = stages(net(), torch.randn(2, 3, 8, 8))
    monkeypatch.setattr(cudagraphs, "_static_inputs", lambda: static)
    recorder = Recorder()
    for gm, stage in graphs:
        traced = on_gpu(gm)
        inputs = [node for node in traced.graph.nodes if node.op == "placeholder"]
        wrapped = recorder.wrap(lambda args: ["run"], traced, inputs, stage)
        assert wrapped([]) == ["replayed"], stage
    forward = trees.recorded["forward"]
    assert len(forward["mutated_input_idxs"]) == 3  # mean, variance and count of batches
    assert forward["mutated_input_idxs"] <= forward["fixed"]
    assert len(static) == len(forward["placeholders"]) - 1  # all but the images
    tangents = [p for p in trees.recorded["backward"]["placeholders"] if "tangent" in p.name]
    assert tangents
    saved = len(trees.recorded["backward"]["placeholders"]) - len(tangents)
    assert trees.recorded["backward"]["fixed"] == set(range(saved))


def graph_of(f: Callable, *devices: str) -> tuple[torch.fx.GraphModule, list]:
    with FakeTensorMode():
        traced = make_fx(f)(*(torch.empty(4, device=device) for device in devices))
    return traced, [node for node in traced.graph.nodes if node.op == "placeholder"]


def run(args: list) -> list:
    return ["run"]


def test_a_write_into_memory_that_changes_is_not_recorded(
    trees: Trees, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="compile_lint.kernels")
    gm, inputs = graph_of(lambda x, y: torch.ops.aten.copy_.default(x, y + 1), "cuda", "cuda")
    for static, recorded in (([1], False), ([0], True)):
        monkeypatch.setattr(cudagraphs, "_static_inputs", lambda static=static: static)
        recorder = Recorder()
        assert (recorder.wrap(run, gm, inputs, "forward") is not run) == recorded
        # A backward graph is recorded only where its forward graph is.
        assert (recorder.wrap(run, gm, inputs, "backward") is run) == (not recorded)
    assert "isn't recorded: it writes into an input" in caplog.text
    assert "the forward graph is recorded" in caplog.text


def test_a_backward_graph_that_can_not_be_recorded_ends_the_forward_one(
    trees: Trees, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="compile_lint.kernels")
    monkeypatch.setattr(cudagraphs, "_static_inputs", list)
    forward, inputs = graph_of(lambda x: x + 1, "cuda")
    recorder = Recorder()
    assert recorder.wrap(run, forward, inputs, "forward")([]) == ["replayed"]
    backward, inputs = graph_of(lambda x, y: (x + 1, y + 1), "cuda", "cpu")
    assert recorder.wrap(run, backward, inputs, "backward")([]) == ["run"]
    assert trees.backwards == 1
    assert "the backward graph isn't recorded" in caplog.text
    assert "cpu" in caplog.text
