"""Convolutions of images that are kept channels-last, by kernels of ours.

Such a kernel works out its operand where it reads it (batch norm and an activation, say) and what
follows the convolution before it writes, so both cost no memory traffic and no launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sympy
import torch
from sympy import Expr, Integer, Symbol

from ..errors import LoweringError
from ..ir import index as ix
from ..ir.nodes import Call, Convolution, Store, View
from ..ir.stores import values_under
from ..ir.values import Value, Values
from ..triton.images import SCALARS, image_load
from .geometry import image_side
from .layout import channels_last
from .lazy import Lazy
from .origins import origin_of

MOST_VALUES = 24  # of an operand, worked out again for each block of rows


def image_convolution(
    lower: Any, node: torch.fx.Node, x: Lazy, weight: Lazy, bias: Lazy | None, geometry: Any
) -> Lazy:
    """The convolution, and its bias at each point of what reads it.

    Raises:
        LoweringError: It's a convolution that ATen does better, or that isn't written here.
    """
    window = _window(x, weight, geometry)
    weights = _weights(lower, weight)
    operand, rounded = _operand(lower, node, x, window)
    size = (x.size[0], weight.size[0], *x.size[2:])
    values: Values = lower.values
    home = lower.homes.place(lower, node) if bias is None else None
    view = home or _image(lower, size, x.device)
    index, _ = lower.variables("d", size, range(4))
    product = values.make("product", (), (), torch.float32)
    store = Store(view.buffer, sympy.expand(ix.flat(index, view.stride, view.offset)), product)
    if image_load(store.position, size) is None:
        raise LoweringError("a place in a buffer too large for 32-bit addresses")
    loads = [v for v in values.ordered([operand]) if v.op == "load"]
    lower.graph.nodes.append(
        Convolution(
            node.target,
            (),
            {},
            view.buffer.name,
            (((), view.buffer),),
            reads=frozenset({weights.buffer.name, *(v.attrs[0] for v in loads)}),
            inplace=lower.homes.inplace(lower, view.buffer),
            origins=(origin_of(node),),
            kind="images",
            operand=operand,
            size=size,
            channels=weight.size[1],
            weights=weights,
            window=window,
            store=store,
            rounded=rounded,
            tf32=lower.tf32,
        )
    )
    if home is None and len(node.users) == 1:
        lower.open[view.buffer.name] = lower.graph.nodes[-1]
    whole = lower.lazy(view)
    if bias is None:
        return whole

    def at(index: Sequence[Expr]) -> Value:
        return values.call("add", whole.at(index), bias.at([index[1]]))

    return Lazy(size, x.dtype, x.device, at)


def absorbed(lower: Any, store: Store, loops: dict[Symbol, Expr]) -> bool:
    """Let a convolution write what is made of its result, where nothing else reads that.

    The convolution moves to the end of the graph, since it may read what was made after it. That
    nothing else reads its own result turns out at the end: see `given_back`.
    """
    values: Values = lower.values
    loads = [v for v in values.ordered([store.value]) if v.op == "load"]
    products = [v for v in loads if v.attrs[0] in lower.open]
    if len(products) != 1 or store.buffer.dtype != torch.float32:
        return False
    raw = products[0].attrs[0]
    made: Convolution = lower.open[raw]
    _, variables = lower.variables("d", made.size, range(4))
    if {v: made.size[d] for d, v in variables.items()} != loops:
        return False
    if products[0].attrs[1] != made.store.position or not fits(values, store.value, made.size):
        return False
    if image_load(store.position, made.size) is None or _written_since(lower, made):
        return False
    product = made.store.value
    [value] = values.substitute(
        [store.value], {}, loops, lambda v: product if v is products[0] else None
    )
    changed = replace(
        made,
        result=store.buffer.name,
        outputs=(((), store.buffer),),
        reads=made.reads | {v.attrs[0] for v in loads} - {raw},
        inplace=lower.homes.inplace(lower, store.buffer),
        store=replace(store, value=value),
    )
    lower.taken[raw] = (made, lower.nest(store, inplace=changed.inplace))
    lower.graph.nodes.remove(made)
    lower.graph.nodes.append(changed)
    del lower.open[raw]
    return True


def _written_since(lower: Any, made: Convolution) -> bool:
    """Whether something writes into what a convolution reads, after it."""
    later = lower.graph.nodes[lower.graph.nodes.index(made) + 1 :]
    return any(node.inplace & made.reads for node in later)


def given_back(lower: Any) -> None:
    """Let convolutions write their own result where it's read after all: through a copy, say."""
    values: Values = lower.values
    read = {v.buffer.name for v in lower.graph.outputs if isinstance(v, View)}
    for node in lower.graph.nodes:
        if isinstance(node, Call):
            read |= node.reads
        else:
            under = values_under(node.stores, values)
            read |= {v.attrs[0] for v in under if v.op == "load"}
    for raw in read & set(lower.taken):
        made, nest = lower.taken[raw]
        written = nest.stores[0].position, nest.stores[0].buffer.name
        for k, node in enumerate(lower.graph.nodes):
            mine = isinstance(node, Convolution) and node.weights == made.weights
            if mine and (node.store.position, node.store.buffer.name) == written:
                lower.graph.nodes[k : k + 1] = [made, nest]
                break


def fits(values: Values, value: Value, size: Sequence[Expr]) -> bool:
    """Whether a tile can be worked out of images of this size and of a number for each channel."""
    ordered = values.ordered([value])
    return len(ordered) <= MOST_VALUES and all(_fits(v, size) for v in ordered)


def _fits(value: Value, size: Sequence[Expr]) -> bool:
    if value.op == "load":
        return not value.args and image_load(value.attrs[1], size) is not None
    return value.op == "const" or (value.op in SCALARS and value.dtype != torch.float64)


def _window(x: Lazy, weight: Lazy, geometry: Sequence[Any]) -> int:
    if x.dtype != torch.float32 or weight.dtype != torch.float32:
        raise LoweringError("a convolution that cuDNN does faster in half precision")
    return image_side(x.size, weight.size, geometry)


def _weights(lower: Any, weight: Lazy) -> View:
    """The weights with each tap's channels side by side."""
    channels, *side = weight.size[1:]
    view = weight.view
    if side == [1, 1] and view is not None and view.stride[:2] == (channels, Integer(1)):
        return view
    return lower.realize(weight, channels_last(weight.size))


def _operand(lower: Any, node: torch.fx.Node, x: Lazy, window: int) -> tuple[Value, bool]:
    """The images at a point (as a value), and whether they lie rounded to TF32 in memory."""
    values: Values = lower.values
    index, variables = lower.variables("d", x.size, range(4))
    lower.loops = {variables[d]: x.size[d] for d in (0, 2, 3, 1) if d in variables}
    value = x.at(index)
    loads = [v for v in values.ordered([value]) if v.op == "load"]
    to_absorb = any(v.attrs[0] in lower.open for v in loads)
    if fits(values, value, x.size) and (value.op == "load" or (window == 1 and not to_absorb)):
        return value, False
    view = lower.realize(x, channels_last(x.size))
    made = lower.graph.nodes[-1]
    rounded = False
    alone = len(node.args[0].users) == 1  # type: ignore[union-attr]
    mine = isinstance(made, Convolution) and made.result == view.buffer.name
    if lower.tf32 and mine and alone:
        # What only tensor cores read is rounded once, not by each of those that read it.
        value = values.call("to_tf32", made.store.value)
        lower.graph.nodes[-1] = replace(made, store=replace(made.store, value=value))
        rounded = True
    return lower.lazy(view).at(index), rounded


def _image(lower: Any, size: tuple[Expr, ...], device: torch.device) -> View:
    stride = channels_last(size)
    return View(lower.new_buffer(torch.float32, device, size, stride), size, stride)
