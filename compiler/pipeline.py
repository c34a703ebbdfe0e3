"""The pipeline: an ATen graph becomes nests, fused nests, kernels and a host program."""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .errors import LoweringError
from .fuse.collapse import collapse
from .fuse.fuse import fuse
from .fuse.reuse import takeovers
from .ir.nodes import Buffer, Call, Constant, Contraction, Convolution, Graph, Loop, Nest, Product
from .ir.values import Values
from .ir.verify import verify
from .ops.control import hosted, writes
from .ops.lowerer import Lowerer, may_alias
from .passes.predicate import predicate
from .runtime.host import tf32_convolutions
from .runtime.prepare import target_for
from .runtime.program import Part, Program, Writer
from .settings import Settings
from .triton.contraction import emit_contraction
from .triton.emit import Emitted, emit
from .triton.images import emit_convolution
from .triton.loop import emit_loop

log = logging.getLogger("compile_lint.lowering")


def lower_to_program(gm: torch.fx.GraphModule, settings: Settings, saved: int = 0) -> Program:
    """The whole pipeline; the last `saved` results are kept for a backward graph.

    Raises:
        LoweringError: No kernel can be written for some nest.
    """
    return Writer(_part(gm, settings, {}, saved)).write()


def _part(
    gm: torch.fx.GraphModule, settings: Settings, constants: dict[str, Any], saved: int = 0
) -> Part:
    """A graph, and the subgraphs of its control flow, lowered; `constants` is the program's."""
    on_cpu = settings.interpret or settings.target is not None
    lowerer = Lowerer(
        predicate(gm), constants, on_cpu, saved, _tensor_cores(gm, settings), tf32_convolutions()
    )
    graph = lowerer.run()
    check = verify if settings.verify or settings.interpret else _trust
    check(graph, lowerer.values, "lowering")
    graph = fuse(graph, lowerer.values)
    check(graph, lowerer.values, "fusion")
    buffers = _buffers(graph)
    unaligned = _unaligned(graph)
    emitted: dict[int, Emitted] = {}
    exact: dict[int, Emitted] = {}
    for k, node in enumerate(graph.nodes):
        if isinstance(node, Nest):
            graph.nodes[k] = collapse(node, lowerer.values)
    check(graph, lowerer.values, "collapsing loops")
    for k, node in enumerate(graph.nodes):
        if isinstance(node, Loop):
            emitted[k] = emit_loop(node, lowerer.values, buffers, unaligned, settings.interpret)
        elif isinstance(node, Product):
            emitted[k] = _product(node, lowerer.values, buffers, unaligned, node.tf32)
            if node.tf32:
                exact[k] = _product(node, lowerer.values, buffers, unaligned, False)
        elif isinstance(node, Nest):
            emitted[k] = emit(node, lowerer.values, buffers, unaligned, settings.interpret)
    takes = takeovers(graph, lowerer.values, settings.interpret)
    parts: dict[str, Part | None] = {}
    fallbacks = list(lowerer.fallbacks)
    for node in graph.nodes:
        if isinstance(node, Call) and hosted(node.target) is not None:
            for name in _subgraphs(node, constants):
                part = parts[name] = _subpart(constants[name], settings, constants)
                fallbacks += _operators(constants[name]) if part is None else part.fallbacks
    return Part(graph, emitted, tuple(fallbacks), parts, saved, exact, takes)


def _product(
    node: Product,
    values: Values,
    buffers: dict[str, Buffer],
    unaligned: frozenset[str],
    tf32: bool,
) -> Emitted:
    if isinstance(node, Contraction):
        return emit_contraction(node, unaligned, tf32)
    assert isinstance(node, Convolution)
    return emit_convolution(node, values, buffers, unaligned, tf32)


def _tensor_cores(gm: torch.fx.GraphModule, settings: Settings) -> bool:
    """Whether the kernels' GPU multiplies float32 on tensor cores; the interpreter plays one."""
    if settings.interpret:
        return True
    values = [node.meta.get("val") for node in gm.graph.nodes]
    kind, _, version = target_for(values, settings).partition(":")
    return kind == "cuda" and int(version) >= 80


def _trust(graph: Graph, values: Values, after: str) -> None:
    """In place of `verify` where nobody asked for it."""


def _subgraphs(call: Call, constants: dict[str, Any]) -> list[str]:
    names = [x for x in pytree.tree_leaves((call.args, call.kwargs)) if isinstance(x, Constant)]
    return [name for name in names if isinstance(constants[name], torch.fx.GraphModule)]


def _subpart(
    gm: torch.fx.GraphModule, settings: Settings, constants: dict[str, Any]
) -> Part | None:
    if writes(gm):
        return None  # its operands must be the caller's own tensors
    try:
        return _part(gm, settings, constants)
    except LoweringError as error:
        log.info("a subgraph runs by ATen: %s", error)
        return None


def _operators(gm: torch.fx.GraphModule) -> list[str]:
    return [str(node.target) for node in gm.graph.nodes if node.op == "call_function"]


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
    """Buffers that may well start at an address not divisible by 16: windows on others.

    Launches check what was promised, and run another build of the kernel where it doesn't hold.
    """
    calls = [node for node in graph.nodes if isinstance(node, Call)]
    windows = [call for call in calls if not isinstance(call, Product)]
    return frozenset(b.name for call in windows if may_alias(call.target) for _, b in call.outputs)
