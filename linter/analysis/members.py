"""Attribute access: what `value.name` is for every kind of fact."""

from __future__ import annotations

import ast

from ...rules.base.facts import (
    UNKNOWN,
    Array,
    BoundMethod,
    ClassRef,
    Const,
    Extern,
    Fact,
    FromTensor,
    Function,
    Instance,
    Mapping,
    ModuleRef,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    Union,
    Unknown,
    join_all,
)
from . import calls, expressions, imports, stores, subscripts
from .classes import after, find_method, is_property, resolve_ancestry
from .constants import HOOKS
from .frame import Frame

FUNCTION_CLASSES = ("torch.autograd.Function", "torch.autograd.function.Function")


def attribute_of(frame: Frame, node: ast.Attribute, base: Fact) -> Fact:
    """Return what `base.attr` is."""
    if type(base) is not Union:
        return _attribute_of(frame, node, base)
    # None has no attributes to speak of: the code guards against it
    choices = [o for o in base.options if not (isinstance(o, Const) and o.value is None)]
    return join_all(_attribute_of(frame, node, option) for option in choices)


_CONFIG = {
    "dtype": "dtype",
    "device": "device",
    "training": "bool",
    "requires_grad": "bool",
    "is_cuda": "bool",
    "layout": "layout",
}


# Methods that, on a value of unknown type in code about tensors, tell that it is one.
TENSOR_METHODS = frozenset(
    "any all isnan isinf isfinite abs abs_ item tolist numpy cpu detach unsqueeze squeeze "
    "permute masked_fill masked_fill_ masked_select nonzero softmax log_softmax sigmoid relu "
    "expand_as view_as contiguous clamp clamp_ clamp_min clamp_max cumsum argmax argmin topk "
    "scatter_ scatter_add scatter_add_ index_select index_add_ index_copy_ "
    "bmm logsumexp repeat_interleave numel requires_grad_ retain_grad bfloat16 "
    "mul_ add_ div_ sub_ zero_ fill_ copy_ amax amin logical_and logical_or "
    "logical_not isclose unbind tril triu new_zeros new_ones "
    "new_full new_tensor new_empty type_as bernoulli_ normal_ uniform_ exp_ sqrt_ rsqrt "
    "backward".split()
)


# ... and these on a comparison, or a mask made of comparisons.
_MASK_METHODS = frozenset("sum float long int to squeeze unsqueeze".split())


def _attribute_of(frame: Frame, node: ast.Attribute, base: Fact) -> Fact:
    name = node.attr
    if type(base) is Instance:  # most of them: `self.…`
        return _instance_attribute(frame, node, base)
    if isinstance(base, Tensor):
        found = subscripts.attribute(frame, node, base)
        return found if found is not None else BoundMethod(base, name)
    if isinstance(base, Extern):
        return frame.analyzer.extern(f"{base.name}.{name}")
    if isinstance(base, ModuleRef):
        return imports.member(frame.analyzer, base.module, name, frame.module)
    if isinstance(base, ClassRef):
        method = find_method(frame.analyzer, base.cls, name)
        if method is not None:
            names = {getattr(d, "id", "") for d in method.decorators}
            return Function(method, base if "classmethod" in names else None)
        if name == "apply" and frame.analyzer.external_base(base.cls) in FUNCTION_CLASSES:
            return BoundMethod(base, name)
        return stores.attributes(frame.analyzer, base.cls).get(name, UNKNOWN)
    if isinstance(base, Array):
        return _array_attribute(frame, node, base)
    if isinstance(base, Mapping):
        item = base.get(name) if base.kind != "dict" else None
        return item if item is not None else BoundMethod(base, name)
    if isinstance(base, (Const, Static)) and base.kind == "str" and not hasattr(str, name):
        return UNKNOWN  # it isn't one here: `wavelet.dec_len` where names are taken, too
    if isinstance(base, (Sequence, Const, ShapeInt, FromTensor)):
        if isinstance(base, Sequence) and base.kind.startswith("named:"):
            fields = base.kind[6:].split(",")
            if name in fields and base.items is not None:
                return base.items[fields.index(name)]
        return BoundMethod(base, name)
    if isinstance(base, Static):
        if base.kind in ("str", "int", "float", "bool", "bytes"):
            return BoundMethod(base, name)
        return Static() if not base.kind else UNKNOWN
    if isinstance(base, Unknown):
        return _guess(node)
    return UNKNOWN


def _guess(node: ast.Attribute) -> Fact:
    """An attribute of a value of unknown type: some names say enough."""
    if node.attr == "shape":
        return Sequence("size", None, ShapeInt(sure=False), sure=False)
    if node.attr in _CONFIG:
        return Static(_CONFIG[node.attr])
    if node.attr == "ndim":
        return ShapeInt(sure=False)
    if node.attr == "flatten_parameters":  # only recurrent modules have it
        return BoundMethod(Instance("torch.nn.RNN", module=True, sure=False), node.attr)
    if node.attr in MODULE_ONLY:
        return BoundMethod(Instance("torch.nn.Module", module=True, sure=False), node.attr)
    if node.attr in TENSOR_METHODS or (node.attr in _MASK_METHODS and _is_mask(node.value)):
        return BoundMethod(Tensor(sure=False), node.attr)
    return UNKNOWN


# Methods that only modules have.
MODULE_ONLY = frozenset(name for name in HOOKS if name != "apply")


def _is_mask(node: ast.expr) -> bool:
    """`a > b`, `(a > b) & ~(c == d)`: only tensors and arrays have methods on these."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        return _is_mask(node.left) or _is_mask(node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return _is_mask(node.operand)
    return isinstance(node, ast.Compare) and not isinstance(node.ops[0], (ast.In, ast.Is))


def _array_attribute(frame: Frame, node: ast.Attribute, base: Array) -> Fact:
    if node.attr == "shape":
        return Sequence("size", None, ShapeInt())
    if node.attr in ("ndim", "size", "itemsize", "nbytes"):
        return ShapeInt()
    if node.attr in ("T", "real", "imag", "flat"):
        return base
    if node.attr in ("dtype", "flags", "strides"):
        return Static("dtype")
    return BoundMethod(base, node.attr)


def _instance_attribute(frame: Frame, node: ast.Attribute, base: Instance) -> Fact:
    name = node.attr
    for key, fact in base.attrs:
        if key == name:
            return fact
    if isinstance(base.cls, str):
        if base.module and name == "training":
            return Static("bool")
        if base.module and name in ("weight", "bias", "running_mean", "running_var"):
            return Tensor(dtype="float", role="param", origin=base.origin)
        return BoundMethod(base, name)
    method = find_method(frame.analyzer, base.cls, name)
    if method is not None:
        if not method.decorators:
            return Function(method, base)
        if is_property(method):
            return calls.call_function(frame, node, Function(method, base), [], {})
        names = {getattr(d, "id", "") for d in method.decorators}
        if "staticmethod" in names:
            return Function(method)
        if "classmethod" in names:
            return Function(method, ClassRef(base.cls))
        return Function(method, base)
    if name == "__class__":
        return ClassRef(base.cls)
    if base.module and name == "training":
        return Static("bool")
    found = stores.attributes(frame.analyzer, base.cls).get(name)
    if found is not None:
        return found
    if name == "param_groups" and _optimizer(frame.analyzer.external_base(base.cls)):
        return _PARAM_GROUPS
    if base.module and name in _MODULE_METHODS:
        return BoundMethod(Instance("torch.nn.Module", module=True), name)
    above = frame.analyzer.inherited(base.cls, name)
    if above == "torch.Tensor":
        return _attribute_of(frame, node, Tensor(role="input", origin=base.origin, sure=False))
    return UNKNOWN if above is None else BoundMethod(base, name)


# What an optimizer holds: dicts with parameters under "params", and settings.
_PARAM_GROUPS = Sequence(
    "list",
    None,
    Mapping("dict", (("params", Sequence("list", None, Tensor(dtype="float", role="param"))),)),
)


def _optimizer(base: str) -> bool:
    return base.startswith("torch.optim.") and base.endswith(".Optimizer")


_MODULE_METHODS = frozenset(
    "parameters named_parameters buffers named_buffers modules named_modules children "
    "named_children state_dict train eval to cuda cpu half float double apply register_buffer "
    "register_parameter register_forward_hook register_forward_pre_hook requires_grad_ "
    "zero_grad add_module register_module get_submodule get_parameter load_state_dict "
    "register_full_backward_hook compile type share_memory".split()
)


def _this(frame: Frame) -> Fact | None:
    """Return the fact of `self` (or `cls`) in a method."""
    function = frame.function
    if function is None or isinstance(function.node, ast.Lambda) or function.cls is None:
        return None
    params = [*function.node.args.posonlyargs, *function.node.args.args]
    if not params:
        return frame.closure.get("self")
    env = frame.env or {}
    return env.get(params[0].arg) or frame.closure.get("self")


def is_super(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "super"


def super_attribute(frame: Frame, node: ast.Attribute) -> Fact:
    expressions.evaluate(frame, node.value)
    owner = frame.function.cls if frame.function is not None else None
    this = _this(frame)
    if owner is None or this is None:
        return UNKNOWN
    cls = this.cls if isinstance(this, (Instance, ClassRef)) else owner
    if isinstance(cls, str):
        cls = owner
    method = after(frame.analyzer, cls, owner, node.attr)
    if method is not None:
        bound = (
            calls.call_function(frame, node, Function(method, this), [], {})
            if is_property(method)
            else Function(method, this)
        )
        return bound
    base = frame.analyzer.inherited(owner, node.attr)
    if base is None:
        return UNKNOWN
    return BoundMethod(Instance(base, module=isinstance(this, Instance) and this.module), node.attr)


# Methods that `object` has in C, and classes that inherit them from there.
_SLOTS = frozenset({"__repr__", "__str__", "__eq__", "__ne__", "__hash__"})
# Those that Tensor has in C and that Dynamo doesn't find through `super()`.
_ITEM_SLOTS = frozenset({"__getitem__", "__setitem__"})
_TENSORS = frozenset({"torch.Tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter"})
_PLAIN_BASES = frozenset({"abc.ABC", "typing.Protocol", "typing.Generic"})
METACLASSES = frozenset({"builtins.type", "abc.ABCMeta", "enum.EnumMeta", "enum.EnumType"})
# What distributions of torch compute when it is asked for.
_COMPUTED = frozenset("mean variance stddev mode batch_shape event_shape".split())


def kind_above(frame: Frame, name: str) -> str:
    """Return what `super().name` is: "property", "method", or "slot" for one of Python's in C.

    "" where that isn't known.
    """
    owner = frame.function.cls if frame.function is not None else None
    if owner is None:
        return ""
    this = _this(frame)
    cls = this.cls if isinstance(this, (Instance, ClassRef)) else owner
    method = after(frame.analyzer, owner if isinstance(cls, str) else cls, owner, name)
    if method is not None:
        return "property" if is_property(method) else "method"
    found = resolve_ancestry(frame.analyzer, owner)
    bases = set(found.external)
    if name == "__call__" and bases & METACLASSES:
        return "slot"
    if name in _SLOTS and bases <= _PLAIN_BASES and (found.complete or not owner.node.bases):
        return "slot"
    if name in _ITEM_SLOTS and frame.entry and bases & _TENSORS:
        return "slot"
    base = frame.analyzer.inherited(owner, name) or ""
    return "property" if base.startswith("torch.distributions.") and name in _COMPUTED else ""
