"""Return kinds and tags of torch's callables, read from stubs, annotations, docs and schemas.

A part of ``generate_torch_facts.py``. Kinds: ``tensor``, ``tensors:N``, ``tensors``, ``bool``,
``int``, ``float``, ``number``, ``str``, ``dtype``, ``device``, ``size``, ``layout``,
``generator``, ``list``, ``array``, ``none``, ``any``; overloads that disagree are joined by ``|``.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

PACKAGE = Path(torch.__file__).parent

NAMED = {
    "Tensor": "tensor", "Parameter": "tensor", "Buffer": "tensor", "DTensor": "tensor",
    "bool": "bool", "_bool": "bool", "SymBool": "bool", "BoolLikeType": "bool",
    "int": "int", "_int": "int", "SymInt": "int", "IntLikeType": "int",
    "float": "float", "_float": "float", "SymFloat": "float", "FloatLikeType": "float",
    "Number": "number", "complex": "number", "_complex": "number", "Scalar": "number",
    "str": "str", "dtype": "dtype", "_dtype": "dtype", "device": "device", "_device": "device",
    "Device": "device", "ScalarType": "dtype", "Layout": "layout", "layout": "layout",
    "_layout": "layout", "Size": "size", "_size": "size", "Generator": "generator",
    "None": "none", "NoneType": "none", "ndarray": "array", "list": "list", "LongTensor": "tensor",
    "IntTensor": "tensor", "BoolTensor": "tensor", "PackedSequence": "any", "scalar": "number",
    "number": "number", "boolean": "bool", "FloatTensor": "tensor", "SparseTensor": "tensor",
}  # fmt: skip

# What neither a stub nor an annotation nor a docstring says. Kept short, each checked by a call
# in the tests.
MANUAL_FUNCTIONS = {
    "torch.norm": "tensor", "torch.cdist": "tensor", "torch.from_dlpack": "tensor",
    "torch.unique": "tensor|tensors:2|tensors:3",
    "torch.unique_consecutive": "tensor|tensors:2|tensors:3",
    "torch.meshgrid": "tensors", "torch.block_diag": "tensor", "torch.tensordot": "tensor",
    "torch.lu": "tensors:2|tensors:3", "torch.autograd.grad": "tensors",
    "torch.nn.functional.multi_head_attention_forward": "tensors:2",
    "torch.histogramdd": "any", "torch.split_copy": "tensors", "torch.unbind_copy": "tensors",
    "torch.split_with_sizes_copy": "tensors",
    "torch.is_tensor": "bool", "torch.is_storage": "bool", "torch.sym_int": "int",
    "torch.sym_float": "float", "torch.sym_max": "number", "torch.sym_min": "number",
    "torch.sym_sum": "int", "torch.sym_sqrt": "float", "torch.sym_not": "bool",
    "torch.sym_fresh_size": "int", "torch.set_printoptions": "none",
    "torch._check": "none", "torch._check_index": "none", "torch._check_is_size": "none",
    "torch._check_not_implemented": "none", "torch._check_tensor_all": "none",
    "torch._check_tensor_all_with": "none", "torch._check_type": "none",
    "torch._check_value": "none", "torch._check_with": "none", "torch._assert": "none",
}  # fmt: skip
MANUAL_METHODS = {
    # The stub has an overload for objects that are no tensor; between tensors it is elementwise.
    "__eq__": "tensor", "__ne__": "tensor",
    "__len__": "int", "__iter__": "tensors", "__hash__": "int", "__format__": "str",
    "__repr__": "str", "__reversed__": "tensor", "__contains__": "bool", "__array__": "array",
    "__index__": "int", "__rsub__": "tensor", "__rdiv__": "tensor", "__itruediv__": "tensor",
    "__rpow__": "tensor", "__ipow__": "tensor", "__matmul__": "tensor", "__rmatmul__": "tensor",
    "__rfloordiv__": "tensor", "__rlshift__": "tensor", "__rrshift__": "tensor",
    "__rmod__": "tensor", "__floordiv__": "tensor", "backward": "none", "tolist": "list",
    "norm": "tensor", "split": "tensors", "istft": "tensor", "stft": "tensor",
    "unique": "tensor|tensors:2|tensors:3", "unique_consecutive": "tensor|tensors:2|tensors:3",
    "lu": "tensors:2|tensors:3", "is_shared": "bool", "share_memory_": "tensor",
    "register_hook": "any", "is_xla": "bool", "new": "tensor", "unflatten": "tensor",
    "refine_names": "tensor",
    "align_to": "tensor", "rename": "tensor", "rename_": "tensor", "detach": "tensor",
    "detach_": "tensor", "to_sparse_coo": "tensor", "dim_order": "size", "grad_fn": "any",
    "names": "any", "storage": "any", "is_leaf": "bool", "is_view": "bool", "volatile": "bool",
    "name": "str", "requires_grad_": "tensor", "retain_grad": "none", "reinforce": "none",
}  # fmt: skip
MANUAL_MODULES = {
    "torch.nn.LSTM": "tensor,tensors:2", "torch.nn.GRU": "tensors:2", "torch.nn.RNN": "tensors:2",
    "torch.nn.RNNBase": "any", "torch.nn.LSTMCell": "tensors:2", "torch.nn.GRUCell": "tensor",
    "torch.nn.RNNCell": "tensor", "torch.nn.Module": "any", "torch.nn.Container": "any",
    "torch.nn.Sequential": "any", "torch.nn.ModuleList": "any", "torch.nn.ModuleDict": "any",
    "torch.nn.ParameterList": "any", "torch.nn.ParameterDict": "any",
    "torch.nn.MultiheadAttention": "tensors:2", "torch.nn.DataParallel": "any",
    "torch.nn.Identity": "any", "torch.nn.AdaptiveLogSoftmaxWithLoss": "tensors:2",
}  # fmt: skip


def join(found: Iterable[str]) -> str:
    parts = {part for kind in found for part in kind.split("|")}
    return "any" if "any" in parts or not parts else "|".join(sorted(parts))


def return_types_length(name: str) -> str:
    cls = getattr(torch.return_types, name, None)
    return f"tensors:{cls.n_sequence_fields}" if cls is not None else "any"


def kind_of(node: ast.expr | None) -> str:
    """The kind of an annotation; ``any`` for whatever is no torch or Python value of interest."""
    if node is None:
        return "any"
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return kind_of_text(node.value)
        return "none" if node.value is None else "any"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return join((kind_of(node.left), kind_of(node.right)))
    if isinstance(node, ast.Attribute):
        if ast.unparse(node.value).endswith("return_types"):
            return return_types_length(node.attr)
        return NAMED.get(node.attr, "any")
    if isinstance(node, ast.Name):
        return NAMED.get(node.id, "any")
    if isinstance(node, ast.Tuple):  # docstrings write ``-> (Tensor, Tensor)``
        return kind_of_tuple(list(node.elts))
    if isinstance(node, ast.Subscript):
        return kind_of_subscript(node)
    return "any"


def kind_of_subscript(node: ast.Subscript) -> str:
    outer = ast.unparse(node.value).rsplit(".", 1)[-1].lower()
    inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if outer == "optional":
        return join((kind_of(inner[0]), "none"))
    if outer == "union":
        return join(map(kind_of, inner))
    if outer in ("list", "sequence", "tuple"):
        last_is_dots = isinstance(inner[-1], ast.Constant) and inner[-1].value is Ellipsis
        if outer == "tuple" and not last_is_dots:
            return kind_of_tuple(inner)
        element = kind_of(inner[0])
        return {"tensor": "tensors", "int": "size"}.get(element, "list")
    if outer == "literal":
        value = inner[0]
        return "bool" if isinstance(value, ast.Constant) and value.value in (True, False) else "any"
    return "any"


def kind_of_tuple(elements: list[ast.expr]) -> str:
    parts = [kind_of(element) for element in elements]
    if all(part in ("tensor", "none|tensor") for part in parts):
        return f"tensors:{len(parts)}"
    return "size" if set(parts) == {"int"} else "any"


def kind_of_text(text: str) -> str:
    try:
        return kind_of(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        return "any"


def stub_kinds(body: list[ast.stmt]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            found.setdefault(node.name, set()).add(kind_of(node.returns))
    return {name: join(values) for name, values in found.items()}


@functools.cache
def parsed(name: str) -> ast.Module:
    return ast.parse((PACKAGE / name).read_text(encoding="utf-8"))


@functools.cache
def stubs(prefix: str) -> dict[str, str]:
    files = {"torch": "_C/_VariableFunctions.pyi", "torch.nn.functional": "nn/functional.pyi"}
    if prefix not in files:
        return {}
    found = stub_kinds(parsed(files[prefix]).body)
    if prefix == "torch":  # setters and getters of global state are functions of torch._C
        found = {**stub_kinds(parsed("_C/__init__.pyi").body), **found}
    return found


def class_body(file: str, name: str) -> list[ast.stmt]:
    return next(n.body for n in parsed(file).body if isinstance(n, ast.ClassDef) and n.name == name)


def annotated_kind(obj: Any) -> str:
    annotation = getattr(obj, "__annotations__", {}).get("return", inspect.Parameter.empty)
    if annotation is inspect.Parameter.empty:
        return "any"
    if annotation is None:
        return "none"
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return kind_of_text(text)


def doc_of(obj: Any) -> str:
    doc = getattr(obj, "__doc__", None)
    return doc if isinstance(doc, str) else ""


def documented_kind(obj: Any) -> str:
    """From a docstring's ``name(arguments) -> (Tensor, Tensor)``; several lines may say it."""
    lines = re.findall(r"^\s*[\w.]+\(.*\) *-> *(.+?)\s*$", doc_of(obj), re.M)
    return join(kind_of_text(line.replace(" or ", " | ")) for line in lines[:4])


# Python functions that stand for an operator of another name, and ones that share only the name.
WRITTEN_IN_PYTHON = {"unique": "_unique2", "manual_seed": None, "index": None}


def aten_name(dotted: str, obj: Any) -> str | None:
    """The ATen operator that a public function of torch stands for."""
    prefix, _, name = dotted.rpartition(".")
    if prefix not in ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special"):
        return None
    family = prefix.rsplit(".", 1)[-1]
    if name in WRITTEN_IN_PYTHON:
        return WRITTEN_IN_PYTHON[name]
    candidates = [getattr(obj, "__name__", name), f"{family}_{name}", name]
    return next((c for c in candidates if hasattr(torch.ops.aten, c)), None)


DUNDERS = {
    "truediv": "div", "div": "div", "floordiv": "floor_divide", "mod": "remainder",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "invert": "bitwise_not",
    "bool": "is_nonzero", "getitem": "index", "setitem": "index_put_", "lshift": "__lshift__",
    "rshift": "__rshift__", "int": "item", "float": "item", "index": "item", "complex": "item",
}  # fmt: skip


REFLECTED = re.compile(
    r"__[ri](add|sub|mul|div|truediv|floordiv|mod|pow|and|or|xor|lshift|rshift|matmul)__"
)


def aten_name_of_method(name: str) -> str | None:
    if name in WRITTEN_IN_PYTHON:
        return WRITTEN_IN_PYTHON[name]
    inner = name[2:-2] if name.startswith("__") else name
    reflected = REFLECTED.fullmatch(name)
    if reflected:
        inner = reflected.group(1)
    if name.startswith("__"):
        inner = DUNDERS.get(inner, inner)
    if reflected and name.startswith("__i"):
        inner += "_"
    return inner if hasattr(torch.ops.aten, inner) else None


def method_overloads(op: str | None) -> list[Any]:
    """The overloads whose first parameter is a tensor: TorchScript has an ``aten::index``, too."""
    return [
        o for o in overloads(op)
        if o._schema.arguments and str(o._schema.arguments[0].type) == "Tensor"
    ]  # fmt: skip


def overloads(op: str | None) -> list[Any]:
    """Overloads that take or give tensors, without the ``out=`` ones and TorchScript's own."""
    if op is None:
        return []
    packet = getattr(torch.ops.aten, op)
    found = [getattr(packet, name) for name in packet.overloads()]
    return [
        o for o in found
        if not any(a.is_out for a in o._schema.arguments)
        and any("Tensor" in str(v.type) for v in (*o._schema.arguments, *o._schema.returns))
        and not any(n in o._overloadname for n in ("prim_", "hacked_twin", "list_", "_list"))
    ]  # fmt: skip


def schema_kind(op: str | None) -> str:
    return join(returned_kind(o._schema) for o in overloads(op)) if overloads(op) else "any"


def returned_kind(schema: Any) -> str:
    types = [str(r.type) for r in schema.returns]
    if not types:
        return "none"
    if len(types) > 1:
        return f"tensors:{len(types)}" if set(types) == {"Tensor"} else "any"
    if types[0] in ("List[Tensor]", "List[Optional[Tensor]]"):
        return "tensors"
    return "size" if types[0] == "List[int]" else NAMED.get(types[0], "any")


def function_kind(dotted: str, obj: Any, op: str | None) -> str:
    if dotted in MANUAL_FUNCTIONS:
        return MANUAL_FUNCTIONS[dotted]
    if dotted.startswith("torch._foreach_"):
        return "tensors"  # the stub says None of the in-place ones
    if inspect.isclass(obj):
        return class_kind(obj)
    prefix, _, name = dotted.rpartition(".")
    for kind in (
        stubs(prefix).get(name, "any"),
        annotated_kind(obj),
        documented_kind(obj),
        schema_kind(op),
    ):
        if kind != "any":
            return kind
    return "any"


def class_kind(cls: type) -> str:
    # Legacy constructors (torch.FloatTensor) have a metaclass of their own.
    if issubclass(cls, torch.Tensor) or type(cls).__name__ == "tensortype":
        return "tensor"
    return NAMED.get(cls.__name__, "any") if cls.__module__ in ("torch", "torch._C") else "any"


def tensor_members() -> dict[str, tuple[str, bool]]:
    """Name -> (kind, is it a property) for everything a tensor has."""
    base, python = class_body("_C/__init__.pyi", "TensorBase"), class_body("_tensor.py", "Tensor")
    found = {**stub_kinds(base), **stub_kinds(python)}
    declared = {n.target.id: kind_of(n.annotation) for n in base if isinstance(n, ast.AnnAssign)
                and isinstance(n.target, ast.Name)}  # fmt: skip
    members: dict[str, tuple[str, bool]] = {}
    for name in sorted(dir(torch.Tensor)):
        if name.startswith("_") and not (name.startswith("__") and name in found | MANUAL_METHODS):
            continue
        member = inspect.getattr_static(torch.Tensor, name)
        is_property = not callable(member) and not isinstance(member, (staticmethod, classmethod))
        kind = declared.get(name, "any") if is_property else "any"
        if kind == "any":
            kind = found.get(name, "any")
        if kind == "any" and not is_property:
            op = aten_name_of_method(name)
            kind = documented_kind(member)
            kind = schema_kind(op) if kind == "any" else kind
        members[name] = (MANUAL_METHODS.get(name, kind), is_property)
    return members


def methods_dynamo_refuses() -> set[str]:
    """Tensor methods whose handler in Dynamo does nothing but report a graph break."""
    refused = set()
    for node in ast.walk(parsed("_dynamo/variables/tensor.py")):
        found = isinstance(node, ast.FunctionDef) and re.match(
            r"method_(?:attr_)?(\w+)$", node.name
        )
        if found and isinstance(node, ast.FunctionDef) and any(
            isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)
            and ast.unparse(s.value.func).startswith("unimplemented") for s in node.body
        ) and not any(isinstance(inner, ast.Return) for inner in ast.walk(node)):  # fmt: skip
            refused.add(found.group(1))
    return refused


OTHER_TAGS = ("pointwise", "inplace_view", "nondeterministic_seeded")
# Read through Python code that ends in ``item`` calls of its own.
FROM_PYTHON = ("tensor", "as_tensor", "asarray", "from_numpy", "from_dlpack", "frombuffer")
READS_VALUES = ("tolist", "__contains__", "__format__", "__repr__")


def declared_tags(found: list[Any], name: str) -> set[str]:
    """What operator tags and alias annotations say; ``maybe_`` where overloads disagree."""
    tags = set()
    for tag in ("data_dependent_output", "dynamic_output_shape"):
        having = sum(getattr(torch.Tag, tag) in o.tags for o in found)
        if having:
            tags.add(tag if having == len(found) else "maybe_" + tag)
    for tag in OTHER_TAGS:
        if any(getattr(torch.Tag, tag) in o.tags for o in found):
            tags.add(tag)
    returned = {returned_kind(o._schema) for o in found}
    if "pointwise" in tags and returned != {"tensor"}:
        tags.remove("pointwise")  # ``max`` is elementwise only when it is given two tensors
        tags.update(("maybe_pointwise",) if "tensor" in returned else ())
    for value in (v for o in found for v in o._schema.arguments):
        written = value.alias_info is not None and value.alias_info.is_write
        if written and not str(value.type).startswith("List"):  # as TorchScript's ``sort`` does
            tags.add("inplace")
    for value in (v.alias_info for o in found for v in o._schema.returns):
        if value is not None and not value.is_write:
            tags.add("view")
    if name.endswith("_") and not name.endswith("__"):
        tags.add("inplace")
    taken = any("Tensor" in str(a.type) for o in found for a in o._schema.arguments)
    if name in FROM_PYTHON or (found and not taken and returned == {"tensor"}):
        tags.add("constructor")
    if name in READS_VALUES:
        tags.add("data_dependent_output")
    return tags


def module_kind(dotted: str, cls: type) -> str:
    if dotted in MANUAL_MODULES:
        return MANUAL_MODULES[dotted]
    if "return_indices" in inspect.signature(cls.__init__).parameters:
        return "tensor|tensors:2"
    forward = inspect.getattr_static(cls, "forward", None)
    if "_forward_unimplemented" in getattr(forward, "__name__", ""):
        return "any"
    kind = annotated_kind(forward)
    if kind != "any":
        return kind
    source = textwrap.dedent(inspect.getsource(forward)) if inspect.isfunction(forward) else ""
    # Modules of torch.nn proper return one tensor when they say nothing else.
    return "tensor" if source and cls.__module__.startswith("torch.nn.modules") else "any"
