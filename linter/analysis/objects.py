"""Calls of torch classes and modules, and of numpy: what objects and arrays they give."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    NONE,
    UNKNOWN,
    Array,
    Const,
    Extern,
    Fact,
    FromTensor,
    Instance,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    Unknown,
    join_all,
    options,
)
from ...rules.torch_facts import NUMPY_COUNTING
from .dtypes import BOOL
from .frame import Frame
from .operators import boolean
from .subscripts import simple
from .tensors import REDUCE, at, tensors_in

if TYPE_CHECKING:
    from .analyzer import Analyzer

_TENSOR_CLASSES = {
    "torch.Tensor": "float",
    "torch.FloatTensor": "float",
    "torch.DoubleTensor": "float",
    "torch.HalfTensor": "float",
    "torch.LongTensor": "int",
    "torch.IntTensor": "int",
    "torch.ByteTensor": "int",
    "torch.BoolTensor": "bool",
    "torch.cuda.FloatTensor": "float",
    "torch.cuda.LongTensor": "int",
}
# NumPy functions that make a whole array out of plain numbers.
_FROM_SCALARS = frozenset(
    "arange linspace logspace geomspace zeros ones full empty eye identity "
    "indices tri hanning hamming blackman bartlett kaiser".split()
)
# Whatever these are given, an array comes out, of which Dynamo knows no elements.
_TO_ARRAY = frozenset({"array", "asarray", "ascontiguousarray", "atleast_1d", "atleast_2d"})
_ELEMENTWISE = frozenset(
    "ceil floor rint round sqrt cbrt exp exp2 log log2 log10 log1p abs absolute sign power lcm gcd "
    "mod remainder floor_divide maximum minimum clip isnan isinf isfinite isclose".split()
)
_PLAIN = (Const, Static, ShapeInt, Sequence)
GRAD_MODES = frozenset(
    {"torch.no_grad", "torch.enable_grad", "torch.inference_mode", "torch.set_grad_enabled"}
)
CONTAINERS = ("ModuleList", "Sequential", "ModuleDict", "ParameterList", "ParameterDict")


def construct(
    frame: Frame, node: ast.Call, name: str, args: list[Fact], kwargs: dict[str, Fact]
) -> Fact | None:
    """Return the object that calling a torch class makes; None when `name` isn't a class."""
    last = name.rpartition(".")[2]
    if name in _TENSOR_CLASSES:
        single = (
            len(args) == 1 and isinstance(args[0], (FromTensor, Static)) and not single_int(args[0])
        )
        return Tensor(1 if single else None, _TENSOR_CLASSES[name], origin=at(frame, node, None))
    if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer"):
        source = next(iter(tensors_in(args)), None)
        rank = source.rank if source is not None else None
        role = "buffer" if last == "Buffer" else "param"
        dtype = source.dtype if source is not None else "float"
        return Tensor(rank, dtype, role=role, origin=at(frame, node, None))
    if name == "torch.autograd.Variable":  # breaks the graph: what it gives is an input
        source = next(iter(tensors_in(args)), None)
        dtype = source.dtype if source is not None else ""
        return Tensor(None, dtype, role="resumed", origin=at(frame, node, None))
    if name == "torch.Size":
        return Sequence("size", None, ShapeInt())
    if name in ("torch.device", "torch.dtype"):
        return Static(last)
    if last in CONTAINERS and name.startswith("torch.nn."):
        return _container(frame, node, name, args)
    if frame.analyzer.torch.module(name) is not None:
        return Instance(name, module=True, origin=at(frame, node, None))
    if name == "torch.Generator":
        return Instance(name, origin=at(frame, node, None))
    if name.startswith("torch.distributions.") and last[:1].isupper():
        given = tuple(sorted(kwargs.items()))
        return Instance(
            frame.analyzer.torch.canonical(name), attrs=given, origin=at(frame, node, None)
        )
    if name in GRAD_MODES or (
        last[:1].isupper() and frame.analyzer.torch.function(name) in (None, "any")
    ):
        return Instance(name, origin=at(frame, node, None))
    return None


def is_layer(analyzer: Analyzer, name: str) -> bool:
    """Say whether a class of torch's makes modules of which `construct` tells the class alone."""
    if not name.startswith("torch.nn.") or name.rpartition(".")[2] in CONTAINERS:
        return False
    return analyzer.torch.module(name) is not None


def single_int(fact: Fact) -> bool:
    """Say whether a fact is one Python int, which torch.Tensor() takes as a size."""
    return getattr(fact, "kind", "") == "int"


def _container(frame: Frame, node: ast.Call, name: str, args: list[Fact]) -> Instance:
    """ModuleList and its like keep their elements under the attribute "*"."""
    items: Fact = Sequence("list", ())
    if len(args) == 1 and isinstance(args[0], Sequence):
        items = Sequence("list", args[0].items, args[0].elem)
    elif args and name.endswith("Sequential"):
        first = args[0]
        if len(args) == 1 and getattr(first, "elem", None) is not None:
            items = Sequence("list", None, first.element())  # type: ignore[attr-defined]
        else:
            items = Sequence("list", tuple(args))
    elif args:
        element = getattr(args[0], "element", None)
        items = Sequence("list", None, element() if element else UNKNOWN)
    return Instance(name, module=True, attrs=(("*", items),), origin=at(frame, node, None))


def module_call(
    frame: Frame, node: ast.AST, name: str, args: list[Fact], kwargs: dict[str, Fact]
) -> Fact:
    """Return what calling an object of a torch nn.Module class gives."""
    kind = frame.analyzer.torch.module(name)
    if kind is None or name in ("torch.nn.Module",):
        return UNKNOWN
    source = next(iter(tensors_in([*args, *kwargs.values()])), None)
    text = frame.module.segment(node)
    origin = frame.origin(node, f"`{text}`", source.origin if source is not None else None)
    rank = source.rank if source is not None else None
    tensor = Tensor(rank, "float", origin=origin)
    if kind == "tensor":
        return tensor
    parts = [_module_part(part, tensor) for part in kind.split(",")]
    return parts[0] if len(parts) == 1 else Sequence("tuple", tuple(parts))


def _module_part(kind: str, tensor: Tensor) -> Fact:
    facts: list[Fact] = []
    for option in kind.split("|"):
        if option == "tensor":
            facts.append(tensor)
        elif option.startswith("tensors:"):
            facts.append(Sequence("tuple", (tensor,) * int(option[8:])))
        elif option == "tensors":
            facts.append(Sequence("tuple", None, tensor))
        elif option == "none":
            facts.append(NONE)
        else:
            facts.append(simple(option))
    return join_all(facts)


def numpy_call(
    frame: Frame, node: ast.Call, name: str, args: list[Fact], kwargs: dict[str, Fact]
) -> Fact:
    """Return the fact of a numpy function call: arrays from tensor data, or from constants."""
    values = [*args, *kwargs.values()]
    data = [o for v in values for o in options(v) if isinstance(o, (Array, Tensor, FromTensor))]
    nested = [
        o
        for v in values
        if isinstance(v, Sequence)
        for o in options(v.element())
        if isinstance(o, (Array, Tensor, FromTensor))
    ]
    source = next(iter([*data, *nested]), None)
    last = name.rpartition(".")[2]
    if name.startswith("numpy.random."):
        return _numpy_draw(frame, node, last, args, kwargs)
    if of_objects(kwargs.get("dtype")):
        return Array(None, "object", origin=at(frame, node, None))
    if last in ("shape", "ndim", "size"):
        return simple("size" if last == "shape" else "int")
    if last in ("dtype", "finfo", "iinfo", "result_type", "promote_types"):
        return Static("dtype")
    if last in ("isscalar", "iscomplexobj", "isrealobj", "issubdtype", "can_cast"):
        return Static("bool")
    if (rank := NUMPY_COUNTING.get(f"numpy.{last}")) is not None and (
        last != "where" or len(values) == 1
    ):
        found = Array(rank, "" if last == "unique" else "int", origin=at(frame, node, None))
        if last in ("where", "nonzero"):
            return Sequence("tuple", None, found)
        if len(args) > 1 or not all(key.startswith("return_") for key in kwargs):
            return UNKNOWN
        asked = sum(boolean(fact) is True for fact in kwargs.values())
        number = replace(found, dtype="int")
        return Sequence("tuple", (found, *(number,) * asked)) if asked else found
    if source is None:
        plain = [isinstance(o, _PLAIN) for v in values for o in options(v)]
        if not all(plain):
            return _of_unknown(frame, node, last, args, kwargs)
        # Dynamo knows the value of a NumPy scalar, not what is in an array
        scalar = not any(isinstance(o, Sequence) for v in values for o in options(v))
        scalar = scalar and last not in _FROM_SCALARS
        rank = 0 if scalar or (last in REDUCE and not kwargs and len(args) == 1) else None
        return Array(rank, "", scalar, origin=at(frame, node, None))
    constant = isinstance(source, Array) and source.carried
    if isinstance(source, FromTensor) and source.how != "random" and not nested:
        # A number that broke the graph where it was read is as well known as any other by then
        constant = len(data) == 1 and last not in _FROM_SCALARS | _TO_ARRAY
    rank = 0 if last in REDUCE and not kwargs and len(args) == 1 else None
    dtype = "bool" if last in BOOL else ""
    return Array(rank, dtype, constant, origin=at(frame, node, source.origin), sure=source.sure)


def of_objects(dtype: Fact | None) -> bool:
    """Say whether a dtype asks for an array of Python's objects, which torch hasn't."""
    return isinstance(dtype, Extern) and dtype.name == "builtins.object"


def of_integers(dtype: Fact) -> bool:
    """Say whether a dtype asks for integers."""
    if isinstance(dtype, Const):
        return isinstance(dtype.value, str) and dtype.value.startswith(("int", "uint"))
    return isinstance(dtype, Extern) and dtype.name.rpartition(".")[2].startswith(("int", "uint"))


def _of_unknown(
    frame: Frame, node: ast.Call, last: str, args: list[Fact], kwargs: dict[str, Fact]
) -> Fact:
    """What NumPy gives for a value of unknown type: an array, or a scalar if that was a number.

    Sums and the like are asked for of several values. Of a function of each element the least is
    taken that it may give: a scalar of a number, which Dynamo knows but for conditions.
    """
    if not args or not isinstance(args[0], Unknown):
        return UNKNOWN
    if last in _ELEMENTWISE:
        return Array(0, "", True, origin=at(frame, node, None), sure=False)
    if last in _TO_ARRAY:
        return Array(origin=at(frame, node, None), sure=False)
    if last not in REDUCE:
        return UNKNOWN
    rank = 0 if len(args) == 1 and not kwargs else None
    dtype = "bool" if last in BOOL else ""
    return Array(rank, dtype, last in ("max", "min"), origin=at(frame, node, None), sure=False)


def _numpy_draw(
    frame: Frame, node: ast.Call, last: str, args: list[Fact], kwargs: dict[str, Fact]
) -> Fact:
    """Generators, and draws: an array when a size is given, else a number that broke the graph."""
    origin = at(frame, node, None)
    if last[:1].isupper() or last == "default_rng":
        return Instance("numpy.random." + (last if last[:1].isupper() else "Generator"))
    if draws_array(last, args, kwargs):
        kind = "int" if last in ("randint", "permutation") else "float"
        return Array(None, kind, origin=origin)
    return FromTensor("int" if last == "randint" else "float", "call", origin=origin)


# Where `size` stands among the positional parameters; for rand and randn they all are sizes.
_SIZE_POSITION = {
    "rand": 0,
    "randn": 0,
    "random": 0,
    "random_sample": 0,
    "sample": 0,
    "ranf": 0,
    "permutation": 0,
    "choice": 1,
    "uniform": 2,
    "normal": 2,
    "randint": 2,
    "standard_normal": 0,
    "beta": 2,
    "binomial": 2,
    "integers": 2,
}


def draws_array(last: str, args: list[Fact], kwargs: dict[str, Fact]) -> bool:
    """Say whether a numpy.random function is asked for an array and not for one number."""
    size = kwargs.get("size")
    position = _SIZE_POSITION.get(last)
    if size is None and position is not None and len(args) > position:
        size = args[position]
    return size is not None and size != NONE
