"""One captured ATen graph, compiled: the pipeline, and the value that AOTAutograd calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .errors import LoweringError
from .fuse.collapse import collapse
from .fuse.fuse import fuse
from .ir.nodes import Buffer, Call, Graph, Nest, View
from .ops.lowerer import Lowerer
from .passes.decompose import will_lower
from .runtime.bind import launchers
from .runtime.program import Program, Writer
from .settings import Settings
from .triton.emit import Emitted, emit
from .triton.kernel import Kernel

log = logging.getLogger("compile_lint.lowering")


class CompiledGraph:
    """A compiled graph: call it with a list of arguments, which it empties (boxed convention).

    Attributes:
        stage: "forward", "backward" or "inference".
        gm: The ATen graph it was compiled from.
        kernels: The generated kernels.
        fallbacks: Names of the operators that run by ATen, once for each call in the graph.
        source: The host program as Python text; empty when the whole graph runs by ATen.
    """

    def __init__(
        self,
        stage: str,
        gm: torch.fx.GraphModule,
        run: Callable[[list], Sequence],
        kernels: tuple[Kernel, ...] = (),
        fallbacks: tuple[str, ...] = (),
        source: str = "",
    ) -> None:
        self._boxed_call = True  # on the instance: wrappers copy `__dict__` only
        self.stage = stage
        self.gm = gm
        self.run = run
        self.kernels = kernels
        self.fallbacks = fallbacks
        self.source = source

    def __call__(self, args: list) -> Sequence:
        return self.run(args)


def compile_graph(
    gm: torch.fx.GraphModule, inputs: Sequence[Any], settings: Settings, stage: str = "inference"
) -> CompiledGraph:
    """Compile a functional ATen graph; `inputs` are fake tensors and SymInts, as AOT gives them."""
    if not will_lower(inputs, settings):
        return by_aten(gm, stage)
    try:
        program = lower_to_program(gm, settings)
    except LoweringError as error:
        log.warning("the whole %s graph runs by ATen: %s", stage, error)
        return by_aten(gm, stage)
    if settings.target is not None:
        # Built for another machine: here the graph runs by ATen.
        run = by_aten(gm, stage).run
    else:
        run = program.bind(launchers(program.kernels, settings))
    return CompiledGraph(stage, gm, run, program.kernels, program.fallbacks, program.source)


def lower_to_program(gm: torch.fx.GraphModule, settings: Settings) -> Program:
    """The pipeline: ATen graph → nests → fused nests → kernels → host program.

    Raises:
        LoweringError: No kernel can be written for some nest.
    """
    lowerer = Lowerer(gm)
    graph = lowerer.run()
    graph = fuse(graph, lowerer.values)
    buffers = _buffers(graph)
    unaligned = _unaligned(graph)
    emitted: dict[int, Emitted] = {}
    for k, node in enumerate(graph.nodes):
        if isinstance(node, Nest):
            node = graph.nodes[k] = collapse(node, lowerer.values)
            emitted[k] = emit(node, lowerer.values, buffers, unaligned, settings.interpret)
    return Writer(graph, emitted, lowerer.fallbacks).write()


def _buffers(graph: Graph) -> dict[str, Buffer]:
    found = {b.name: b for b in graph.inputs if isinstance(b, Buffer)}
    for name, value in graph.constants.items():
        if isinstance(value, torch.Tensor):
            found[name] = Buffer(name, value.dtype, value.device, (), ())
    for node in graph.nodes:
        if isinstance(node, Call):
            found.update({b.name: b for _, b in node.outputs})
        else:
            found.update({s.buffer.name: s.buffer for s in node.stores})
    return found


def _unaligned(graph: Graph) -> frozenset[str]:
    """Buffers whose address isn't known to be divisible by 16."""
    names = set()
    for node in graph.nodes:
        if isinstance(node, Call):
            names |= {b.name for _, b in node.outputs}
        else:
            names |= node.inplace
    names |= {name for name, value in graph.constants.items() if isinstance(value, torch.Tensor)}
    return frozenset(names)


def by_aten(gm: torch.fx.GraphModule, stage: str) -> CompiledGraph:
    """The whole graph, run by ATen."""
    called = tuple(str(node.target) for node in gm.graph.nodes if node.op == "call_function")

    def run(args: list) -> Sequence:
        taken = list(args)
        args.clear()
        return gm(*taken)

    return CompiledGraph(stage, gm, run, fallbacks=called)


__all__ = ["CompiledGraph", "View", "by_aten", "compile_graph", "lower_to_program"]
