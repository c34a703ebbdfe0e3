"""The backend that torch.compile calls: Dynamo's graph → AOTAutograd → our compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch._guards
from functorch.compile import min_cut_rematerialization_partition
from torch._dynamo.backends.common import aot_autograd

from .. import logs
from ..graph import CompiledGraph, compile_graph
from ..passes.decompose import decompositions
from ..runtime.cudagraphs import Recorder
from ..settings import Settings

logs.from_environment()


class Backend:
    """`torch.compile(f, backend="compile_lint", mode=…, options=…)`.

    Args:
        settings: The choices; None: those that torch.compile passes with each graph.
        remember: Keep the graphs compiled, for `explain` and for people.

    Attributes:
        graphs: The graphs compiled since Dynamo was last reset.
        compile_ids: Dynamo's numbers of these compilations.
    """

    def __init__(self, settings: Settings | None = None, remember: bool = True) -> None:
        self.settings = settings
        self.remember = remember
        self.graphs: list[CompiledGraph] = []
        self.compile_ids: set[str] = set()

    def reset(self) -> None:
        """`torch._dynamo.reset()` calls this: what was compiled is gone."""
        self.graphs.clear()
        self.compile_ids.clear()

    def __call__(
        self,
        gm: torch.fx.GraphModule,
        example_inputs: Sequence[Any],
        *,
        mode: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Callable:
        if self.remember:
            self.compile_ids.add(compile_id())
        settings = self.settings or Settings.of(mode=mode, options=options)
        recorder = Recorder() if records(example_inputs, settings) else None

        def stage(name: str) -> Callable:
            def compile_stage(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable:
                compiled = compile_graph(gm, inputs, settings, stage=name)
                if recorder is not None:
                    compiled.run = recorder.wrap(compiled.run, gm, list(inputs), name)
                if self.remember:
                    self.graphs.append(compiled)
                return compiled

            return compile_stage

        return aot_autograd(
            fw_compiler=stage("forward"),
            bw_compiler=stage("backward"),
            inference_compiler=stage("inference"),
            partition_fn=min_cut_rematerialization_partition,
            decompositions=decompositions(example_inputs, settings),
            keep_inference_input_mutations=True,
        )(gm, example_inputs)


def records(inputs: Sequence[Any], settings: Settings) -> bool:
    """Whether calls are recorded as CUDA graphs."""
    on_gpu = any(isinstance(x, torch.Tensor) and x.device.type == "cuda" for x in inputs)
    return on_gpu and settings.mode != "default" and settings.target is None


def compile_id() -> str:
    """Dynamo's number of the compilation that goes on in this thread, "3/1"."""
    return str(torch._guards.CompileContext.current_compile_id())


BACKEND = Backend(
    remember=False
)  # what torch finds under the name "compile_lint", through an entry point
