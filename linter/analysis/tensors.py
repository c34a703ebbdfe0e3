"""What torch and numpy operations give: tensors, tuples of them, Python values read out."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from ...rules.base.facts import (
    UNKNOWN,
    Array,
    Const,
    Fact,
    FromTensor,
    Origin,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    Unknown,
    join,
    join_all,
    options,
)
from .dtypes import result_dtype
from .frame import Frame
from .ranks import rank_of
from .subscripts import data_int, shape_of, simple

# Reads of tensor data into Python, by the last part of the name, and the type they give.
READS = {
    "item": "",
    "tolist": "list",
    "equal": "bool",
    "allclose": "bool",
    "is_nonzero": "bool",
    "__bool__": "bool",
    "__int__": "int",
    "__float__": "float",
    "__len__": "",
}
# Operations whose result's size depends on data, where torch's own tags don't say so.
RAGGED = frozenset(
    {
        "nonzero",
        "argwhere",
        "masked_select",
        "unique",
        "unique_consecutive",
        "bincount",
        "nonzero_static",
    }
) - {"nonzero_static"}
_INDEXED = frozenset(
    "max min sort topk median nanmedian kthvalue mode cummax cummin unique "
    "unique_consecutive".split()
)
REDUCE = frozenset(
    "sum mean any all max min prod norm std var amax amin argmax argmin median logsumexp "
    "count_nonzero nansum nanmean dist dot trace det logdet vdot numel".split()
)
_CREATE = frozenset("zeros ones empty full rand randn randint arange linspace eye randperm".split())
_LINES = frozenset({"arange", "linspace", "logspace", "randperm"})
_SCALARS = frozenset({"tensor", "as_tensor", "scalar_tensor"})
_SPARSE = frozenset(
    f"sparse_{kind}_tensor" for kind in ("coo", "csr", "csc", "bsr", "bsc", "compressed")
)
# What gives a sparse tensor of a sparse one (of products: where both are).
_STAYS_SPARSE = frozenset(
    "coalesce t transpose clone detach to cuda cpu neg mul div cat mm matmul select unsqueeze "
    "index_select add sub".split()
)
_SAME = frozenset(
    "clone detach contiguous to cpu cuda requires_grad_ type_as half float double "
    "bfloat16 long int bool abs neg clamp clip".split()
)


# Of one tensor they make one, of several a tuple.
_AT_LEAST = frozenset({"atleast_1d", "atleast_2d", "atleast_3d"})


def tensor_call(
    frame: Frame,
    node: ast.Call,
    name: str,
    receiver: Fact | None,
    args: list[Fact],
    kwargs: dict[str, Fact],
) -> Fact:
    """Return the fact of a torch function or Tensor method call; `name` is canonical."""
    facts = frame.analyzer.torch
    last = name.rpartition(".")[2]
    values = [*([receiver] if receiver is not None else []), *args, *kwargs.values()]
    inputs = tensors_in(values)
    primary = inputs[0] if inputs else None
    parent = primary.origin if primary is not None else _parent(values)
    sure = primary.sure if receiver is not None and primary is not None else True
    method = name.startswith("torch.Tensor.")
    if last in READS and (method or last in ("equal", "allclose", "is_nonzero")):
        if last == "item" and primary is not None and specialised(primary):
            return Static("int", origin=at(frame, node, parent))
        if last == "item" and primary is not None:
            kind = {"int": "int", "float": "float", "bool": "bool"}.get(primary.dtype, "")
        elif last == "tolist":
            return _to_list(frame, node, primary, parent, sure)
        else:
            kind = READS[last]
        how = "item" if last == "item" or last.startswith("__") else "call"
        return FromTensor(kind, how, origin=at(frame, node, parent), sure=sure)
    if last in ("numel", "size", "dim", "ndimension", "nelement", "stride", "storage_offset"):
        return _size(frame, node, last, primary, args, parent)
    kind = facts.method(last) if method else facts.function(name)
    if kind is None:
        return UNKNOWN
    if sparse(last, method) or (
        primary is not None
        and primary.role == "sparse"
        and last in _STAYS_SPARSE
        and all(t.role == "sparse" for t in inputs)
    ):
        return Tensor(role="sparse", origin=at(frame, node, parent), sure=sure)
    if last == "type" and method and not args and not kwargs:
        return Static("str")  # "torch.FloatTensor": Dynamo knows dtypes and devices
    if last in ("max", "min") and kind.startswith("tensor"):
        kind = _extremum(args, kwargs, method, inputs)
    if last == "unique" or last == "unique_consecutive":
        kind = _unique(kwargs, args, method)
    if last in ("where", "nonzero") and "|" in kind:
        kind = "tensors" if _one_argument_where(last, args, kwargs, method) else "tensor"
    if last in _AT_LEAST and args and all(isinstance(arg, (Tensor, Array)) for arg in args):
        kind = "tensor" if len(args) == 1 else "tensors"
    return _result(frame, node, name, last, kind, inputs, values, args, kwargs, parent, sure)


def sparse(last: str, method: bool) -> bool:
    """Say whether a function or method of that name makes a sparse tensor."""
    return last.startswith("to_sparse") if method else last in _SPARSE


def specialised(tensor: Tensor) -> bool:
    """Say whether reading the tensor gives a number that Dynamo guards on, as on an argument.

    So it is with a 0-dim integer tensor that comes into the region (measured on the CPU): by
    default the graph breaks at the read, but nothing breaks at what the number decides.
    """
    outside = tensor.role in ("input", "buffer")
    return tensor.sure and outside and tensor.rank == 0 and tensor.dtype == "int"


def _result(
    frame: Frame,
    node: ast.Call,
    name: str,
    last: str,
    kind: str,
    inputs: list[Tensor],
    values: list[Fact],
    args: list[Fact],
    kwargs: dict[str, Fact],
    parent: Origin | None,
    sure: bool,
) -> Fact:
    first = kind.split("|")[0]
    if first == "array" and inputs and "|" not in kind:
        source = inputs[0]
        return Array(source.rank, source.dtype, origin=at(frame, node, parent), sure=sure)
    if first in ("tensor", "any") and "|" not in kind and first == "tensor":
        return _tensor(frame, node, name, last, inputs, values, args, kwargs, parent, sure)
    if first.startswith("tensors") or "|" in kind:
        one = _tensor(frame, node, name, last, inputs, values, args, kwargs, parent, sure)
        alternatives = []
        for option in kind.split("|"):
            if option == "tensor":
                alternatives.append(one)
            elif option.startswith("tensors:"):
                alternatives.append(_several(last.rstrip("_"), one, int(option[8:])))
            elif option == "tensors":
                # of indices there is a tensor for each dimension, with a number for each element
                each = replace(one, rank=1) if last in ("where", "nonzero") else one
                alternatives.append(Sequence("tuple", None, each))
            else:
                alternatives.append(simple(option))
        return join_all(alternatives)
    return simple(first)


def _several(stem: str, one: Tensor, count: int) -> Sequence:
    """Return a tuple of tensors; of values with their indices, the indices are ints."""
    if stem in _INDEXED:
        kind = "named:values,indices" if count == 2 and not stem.startswith("unique") else "tuple"
        return Sequence(kind, (one, *(replace(one, dtype="int"),) * (count - 1)))
    return Sequence("tuple", (one,) * count)


def _tensor(
    frame: Frame,
    node: ast.Call,
    name: str,
    last: str,
    inputs: list[Tensor],
    values: list[Fact],
    args: list[Fact],
    kwargs: dict[str, Fact],
    parent: Origin | None,
    sure: bool,
) -> Tensor:
    primary = inputs[0] if inputs else None
    stem = last.rstrip("_") or last
    ragged = any(t.ragged for t in inputs)
    rank = None
    single = False
    tags = frame.analyzer.torch.tags(name)
    if stem in REDUCE:
        reduced = "dim" in kwargs or "axis" in kwargs
        positional = args[1:] if not name.startswith("torch.Tensor.") else args
        if not reduced and not positional:
            rank, single, ragged = 0, True, False
        elif primary is not None and primary.rank is not None and "keepdim" not in kwargs:
            rank = max(primary.rank - 1, 0)
    elif stem in RAGGED or "dynamic_output_shape" in tags:
        ragged = stem != "repeat_interleave" or _tensor_repeats(args, kwargs, name)
        rank = 2 if stem == "nonzero" else 1
    elif stem in _SAME or "pointwise" in tags:
        ranks = {t.rank for t in inputs}
        rank = ranks.pop() if len(ranks) == 1 else None
        single = bool(inputs) and all(t.single for t in inputs)
    elif stem in _CREATE:
        ragged = any(data_int(value) for value in values)
        rank = 1 if stem in _LINES else rank_of(stem, False, inputs, args)
    elif stem == "where":
        ragged = ragged or len(args) + len(kwargs) == 1
    elif stem in _SCALARS and args and isinstance(args[0], (Const, Static, FromTensor, ShapeInt)):
        rank, single = 0, True
    elif stem in _SCALARS and args:
        rank = _nesting(args[0])
    elif stem in ("flatten", "ravel"):
        rank = 1
    elif stem == "unsqueeze" and primary is not None and primary.rank is not None:
        rank = primary.rank + 1
    else:
        rank = rank_of(stem, name.startswith("torch.Tensor."), inputs, args)
    dtype = result_dtype(stem, inputs, values, kwargs)
    known = stem in _SCALARS and _known_number(args)
    if not inputs and values and "pointwise" in tags:
        # `torch.div(size, 2)`: Dynamo knows the value of what plain numbers give, also of those
        # that broke the graph where they were read
        known = _number(values[0]) and all(_number(v) or isinstance(v, Unknown) for v in values)
        rank, single = (0, True) if known else (rank, single)
    role = "constant" if known else ""
    return Tensor(rank, dtype, single, ragged, role, origin=at(frame, node, parent), sure=sure)


def _nesting(fact: Fact) -> int | None:
    """Return the rank of a tensor made of a nested list of numbers, None when it isn't known."""
    if isinstance(fact, Tensor):
        return fact.rank
    if isinstance(fact, Sequence) and fact.items:
        inner = _nesting(fact.items[0])
        return None if inner is None else inner + 1
    return 0 if isinstance(fact, (Const, Static, ShapeInt, FromTensor)) else None


def _number(fact: Fact) -> bool:
    return all(
        isinstance(option, (Const, Static, ShapeInt))
        or (isinstance(option, FromTensor) and option.how != "random")
        for option in options(fact)
    )


def _known_number(args: list[Fact]) -> bool:
    return bool(args) and isinstance(args[0], (Const, Static, ShapeInt))


def tensors_in(values: Iterable[Fact]) -> list[Tensor]:
    """Return the tensors among facts, also those inside sequences (torch.cat, stack, einsum)."""
    found: list[Tensor] = []
    for value in values:
        if type(value) is Tensor:
            found.append(value)
            continue
        for option in options(value):
            if isinstance(option, Tensor):
                found.append(option)
            elif isinstance(option, Sequence):
                inner = option.items if option.items is not None else (option.elem,)
                for item in inner:
                    found += [o for o in options(item) if isinstance(o, Tensor)]
    return found


def _parent(values: Iterable[Fact]) -> Origin | None:
    return next((v.origin for v in values if v.origin is not None), None)


def at(frame: Frame, node: ast.Call, parent: Origin | None) -> Origin:
    return frame.origin(node, f"`{frame.module.segment(node)}`", parent)


def _to_list(
    frame: Frame, node: ast.Call, tensor: Tensor | None, parent: Origin | None, sure: bool
) -> Fact:
    dtype = tensor.dtype if tensor is not None else ""
    element = FromTensor(dtype, origin=at(frame, node, parent), sure=sure)
    if tensor is not None and tensor.rank == 0:
        return element
    if tensor is not None and tensor.rank == 1:
        return Sequence("list", None, element, origin=element.origin, sure=sure)
    nested = Sequence("list", None, element, origin=element.origin, sure=sure)
    if tensor is not None and tensor.rank is not None:
        return Sequence("list", None, nested, origin=element.origin, sure=sure)
    return Sequence("list", None, join(element, nested), origin=element.origin, sure=sure)


def _size(
    frame: Frame,
    node: ast.Call,
    last: str,
    tensor: Tensor | None,
    args: list[Fact],
    parent: Origin | None,
) -> Fact:
    if last in ("dim", "ndimension"):
        return Static("int")
    ragged = tensor is not None and tensor.ragged and last != "stride"
    if last == "size" and not args:
        return shape_of(frame, node, tensor)
    if ragged and last == "size" and not (isinstance(args[0], Const) and args[0].value == 0):
        ragged = False
    if ragged:
        origin = at(frame, node, parent)
        return FromTensor("int", "size", origin=origin, sure=tensor.sure if tensor else False)
    if last == "stride" and not args:
        return Sequence("tuple", None, ShapeInt())
    return ShapeInt()


def _extremum(args: list[Fact], kwargs: dict[str, Fact], method: bool, inputs: list[Tensor]) -> str:
    extra = len(args) if method else len(args) - 1
    if "dim" in kwargs or "axis" in kwargs:
        return "tensors:2"
    if extra >= 1 and len(inputs) < 2 and "other" not in kwargs:
        return "tensors:2"
    return "tensor"


def _unique(kwargs: dict[str, Fact], args: list[Fact], method: bool) -> str:
    wanted = [
        not (isinstance(kwargs.get(n), Const) and not kwargs[n].value)  # type: ignore[attr-defined]
        for n in ("return_inverse", "return_counts")
        if n in kwargs
    ]
    if len(args) > (1 if method else 2):
        return "tensor|tensors"
    return f"tensors:{1 + sum(wanted)}" if any(wanted) else "tensor"


def _one_argument_where(last: str, args: list[Fact], kwargs: dict[str, Fact], method: bool) -> bool:
    if last == "nonzero":
        flag = kwargs.get("as_tuple")
        return isinstance(flag, Const) and bool(flag.value)
    return len(args) + len(kwargs) == 1 and not method


def _tensor_repeats(args: list[Fact], kwargs: dict[str, Fact], name: str) -> bool:
    if "output_size" in kwargs:
        return False
    position = 0 if name.startswith("torch.Tensor.") else 1
    repeats = args[position] if len(args) > position else kwargs.get("repeats")
    if repeats is None:
        return name.startswith("torch.") and len(args) == 1
    return any(isinstance(o, Tensor) for o in options(repeats))
