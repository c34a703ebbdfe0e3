"""What indexing a tensor gives, and its properties: sizes, views of itself."""

from __future__ import annotations

import ast

from ...rules.base.facts import (
    NONE,
    UNKNOWN,
    Array,
    Const,
    Fact,
    FromTensor,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    Unknown,
    join,
    options,
)
from .frame import Frame


def simple(kind: str) -> Fact:
    """Return the fact of a torch_facts kind that isn't a tensor."""
    if kind == "none":
        return NONE
    if kind == "size":
        return Sequence("size", None, ShapeInt())
    if kind == "array":
        return Array()
    if kind == "int":
        return ShapeInt()
    if kind == "any":
        return UNKNOWN
    return Static(kind)


def data_int(fact: Fact) -> bool:
    return any(
        isinstance(o, FromTensor)
        or (isinstance(o, Sequence) and any(data_int(i) for i in (o.items or (o.elem,))))
        for o in options(fact)
    )


def shape_of(frame: Frame, node: ast.expr, tensor: Tensor | None) -> Fact:
    """Return the fact of a tensor's size; of a ragged one the first size depends on data."""
    if tensor is None or not tensor.ragged:
        if tensor is not None and tensor.rank is not None and tensor.rank <= 6:
            return Sequence("size", (ShapeInt(),) * tensor.rank)
        return Sequence("size", None, ShapeInt())
    origin = frame.origin(node, f"`{frame.module.segment(node)}`", tensor.origin)
    first = FromTensor("int", "size", origin=origin, sure=tensor.sure)
    if tensor.rank is not None:
        return Sequence("size", (first, *(ShapeInt(),) * (tensor.rank - 1)))
    return Sequence("size", None, join(first, ShapeInt()))


def index(frame: Frame, node: ast.Subscript, tensor: Tensor | Array, key: Fact) -> Fact:
    """Return what `tensor[key]` gives."""
    keys = key.items if isinstance(key, Sequence) and key.kind == "tuple" and key.items else (key,)
    ragged = getattr(tensor, "ragged", False)
    rank = tensor.rank
    for part in keys:
        for option in options(part):
            if isinstance(option, (Tensor, Array)):
                if option.dtype == "bool" and option.rank != 0:
                    ragged = True
                ragged = ragged or getattr(option, "ragged", False)
                rank = _picked_rank(rank, option, len(keys))
            elif isinstance(option, FromTensor) and option.kind != "int":
                rank = None
            elif isinstance(option, Sequence):
                if option.kind == "slice":
                    ragged = ragged or data_int(option)
                else:
                    rank = None
            elif isinstance(option, Const) and option.value is None:
                rank = rank + 1 if rank is not None else None
            elif isinstance(option, (ShapeInt, FromTensor)) or (
                isinstance(option, Const) and isinstance(option.value, int)
            ):
                rank = rank - 1 if rank else rank
            elif isinstance(option, Unknown):
                rank = None
    text = f"`{frame.module.segment(node)}`"
    origin = frame.origin(node, text, tensor.origin)
    if isinstance(tensor, Array):
        return Array(rank, tensor.dtype, tensor.constant, origin=origin, sure=tensor.sure)
    return Tensor(rank, tensor.dtype, False, ragged, origin=origin, sure=tensor.sure)


def _picked_rank(rank: int | None, key: Tensor | Array, keys: int) -> int | None:
    """Return the rank of what one index tensor picks out of a tensor of a rank, None if unknown."""
    if rank is None or key.rank is None or keys > 1:
        return None
    if key.dtype == "int":
        return rank - 1 + key.rank
    return max(rank - key.rank, 0) + 1 if key.dtype == "bool" else None


def attribute(frame: Frame, node: ast.Attribute, tensor: Tensor) -> Fact | None:
    """Return the fact of a Tensor property, None when the name isn't one."""
    if node.attr == "shape":
        return shape_of(frame, node, tensor)
    if node.attr == "grad":
        origin = frame.origin(node, f"`{frame.module.segment(node)}`", tensor.origin)
        return join(NONE, Tensor(tensor.rank, tensor.dtype, origin=origin, sure=tensor.sure))
    if node.attr == "ndim":
        return Static("int")
    kind = frame.analyzer.torch.attribute(node.attr)
    if kind is None:
        return None
    if kind == "tensor":
        origin = frame.origin(node, f"`{frame.module.segment(node)}`", tensor.origin)
        dtype = "float" if node.attr in ("real", "imag") else tensor.dtype
        return Tensor(
            tensor.rank, dtype, tensor.single, tensor.ragged, origin=origin, sure=tensor.sure
        )
    return simple(kind)
