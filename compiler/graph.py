"""One captured ATen graph, compiled: the value that AOTAutograd calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._guards import TracingContext
from torch.utils import _pytree as pytree

from .errors import BuildError, LoweringError
from .passes.decompose import will_lower
from .pipeline import lower_to_program
from .runtime.bind import launchers
from .runtime.build import warm_workers
from .runtime.prepare import build_cached, cached_program
from .runtime.program import Program
from .settings import Settings
from .triton.kernel import Kernel

log = logging.getLogger("compile_lint.lowering")
MANY = 100  # nodes of a graph whose kernels will be built side by side


class CompiledGraph:
    """A compiled graph: call it with a list of arguments, which it empties (boxed convention).

    Attributes:
        stage: "forward", "backward" or "inference".
        gm: The ATen graph it was compiled from.
        kernels: The generated kernels.
        built: The kernels built for `target`, when one was asked for.
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
        built: tuple = (),
    ) -> None:
        self._boxed_call = True  # on the instance: wrappers copy `__dict__` only
        self.stage = stage
        self.gm = gm
        self.run = run
        self.kernels = kernels
        self.fallbacks = fallbacks
        self.source = source
        self.built = built

    def __call__(self, args: list) -> Sequence:
        return self.run(args)


def compile_graph(
    gm: torch.fx.GraphModule, inputs: Sequence[Any], settings: Settings, stage: str = "inference"
) -> CompiledGraph:
    """Compile a functional ATen graph; `inputs` are fake tensors and SymInts, as AOT gives them."""
    if not will_lower(inputs, settings):
        return by_aten(gm, stage)
    saved = results_saved(gm, stage)

    def lowered() -> Program:
        if len(gm.graph.nodes) > MANY and not settings.interpret:
            warm_workers()  # they come up while the graph is lowered
        return lower_to_program(gm, settings, saved)

    try:
        program = cached_program(gm, inputs, settings, f"{stage} saving {saved}", lowered)
        return _bound(gm, program, settings, stage)
    except (LoweringError, BuildError) as error:
        log.warning("the whole %s graph runs by ATen: %s", stage, error)
        return by_aten(gm, stage)


def _bound(
    gm: torch.fx.GraphModule, program: Program, settings: Settings, stage: str
) -> CompiledGraph:
    built: tuple = ()
    if settings.target is not None:
        # Built for another machine: here the graph runs by ATen.
        built = build_cached(program.kernels, settings.target, settings.cache)
        run = by_aten(gm, stage).run
    else:
        device = gpu_of(gm)
        call = program.bind(launchers(program.kernels, settings, device))
        run = call if device is None else on_device(call, device)
    return CompiledGraph(stage, gm, run, program.kernels, program.fallbacks, program.source, built)


def results_saved(gm: torch.fx.GraphModule, stage: str) -> int:
    """How many of a graph's results, the last ones, are kept for its backward graph."""
    if stage != "forward":
        return 0
    output = next(node for node in gm.graph.nodes if node.op == "output")
    count = len(pytree.tree_leaves(output.args[0], is_leaf=lambda x: x is None))
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    return count if metadata is None else max(0, count - metadata.num_forward_returns)


def gpu_of(gm: torch.fx.GraphModule) -> torch.device | None:
    """The one GPU that a graph's tensors are on; None without one.

    Raises:
        LoweringError: The graph uses several.
    """
    values = [node.meta.get("val") for node in gm.graph.nodes]
    found = {x.device for x in values if isinstance(x, torch.Tensor) and x.device.type == "cuda"}
    if len(found) > 1:
        raise LoweringError("tensors on several GPUs")
    return next(iter(found), None)


def on_device(call: Callable[[list], Sequence], device: torch.device) -> Callable:
    """`call` with this GPU as the current one."""
    index = device.index or 0

    def run(args: list) -> Sequence:
        if torch.cuda.current_device() == index:
            return call(args)
        with torch.cuda.device(index):
            return call(args)

    return run


def by_aten(gm: torch.fx.GraphModule, stage: str) -> CompiledGraph:
    """The whole graph, run by ATen."""
    called = tuple(str(node.target) for node in gm.graph.nodes if node.op == "call_function")

    def run(args: list) -> Sequence:
        taken = list(args)
        args.clear()
        return gm(*taken)

    return CompiledGraph(stage, gm, run, fallbacks=called)
