"""Facts from annotations and docstrings."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    NONE,
    UNKNOWN,
    Array,
    ClassRef,
    Extern,
    Fact,
    Instance,
    Mapping,
    Sequence,
    Static,
    Tensor,
    Unknown,
    const,
    join_all,
)
from ...rules.calls.packages import PACKAGES
from ..index import Assigned, Imported, ModuleInfo
from . import classes, construction, stdlib

if TYPE_CHECKING:
    from .analyzer import Analyzer

_MAX_HOPS = 6  # imports that an alias is followed through
_SCALARS = {
    "builtins.int": "int",
    "builtins.float": "float",
    "builtins.bool": "bool",
    "builtins.str": "str",
    "builtins.bytes": "bytes",
    "builtins.complex": "complex",
    "torch.dtype": "dtype",
    "torch.device": "device",
    "torch.types.Device": "device",
    "torch.layout": "layout",
    "torch.types._dtype": "dtype",
    "torch.types._int": "int",
    "torch.types._bool": "bool",
    "torch.types._float": "float",
}
_TENSORS = {
    "torch.Tensor": "",
    "torch.nn.Parameter": "",
    "torch.nn.parameter.Parameter": "",
    "torch.FloatTensor": "float",
    "torch.HalfTensor": "float",
    "torch.DoubleTensor": "float",
    "torch.LongTensor": "int",
    "torch.IntTensor": "int",
    "torch.ByteTensor": "int",
    "torch.BoolTensor": "bool",
    "torch.autograd.Variable": "",
    "torch.cuda.FloatTensor": "float",
}
_TENSOR_TYPE = "torchtyping.TensorType"
_LISTS = {
    "list": "list",
    "List": "list",
    "Sequence": "list",
    "MutableSequence": "list",
    "Iterable": "generator",
    "Iterator": "generator",
    "Generator": "generator",
    "Collection": "list",
    "set": "set",
    "Set": "set",
    "frozenset": "frozenset",
    "deque": "deque",
    "Deque": "deque",
}
_DICTS = frozenset("dict Dict Mapping MutableMapping OrderedDict DefaultDict defaultdict".split())
_JAXTYPING = frozenset(
    "Float Int Bool Complex Shaped Num Real Inexact Integer UInt Float16 Float32 Float64 BFloat16 "
    "Int8 Int16 Int32 Int64 UInt8 Key".split()
)


def annotation_fact(analyzer: Analyzer, module: ModuleInfo, node: ast.expr | None) -> Fact:
    """Return the fact of a value annotated so; Unknown when the annotation says nothing."""
    if node is None:
        return UNKNOWN
    if isinstance(node, ast.Constant):
        if node.value is None:
            return NONE
        if isinstance(node.value, str):
            return _from_text(analyzer, module, node.value)
        return UNKNOWN
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _alternatives(
            annotation_fact(analyzer, module, side) for side in (node.left, node.right)
        )
    if isinstance(node, ast.Subscript):
        return _subscript(analyzer, module, node)
    if isinstance(node, (ast.Name, ast.Attribute)):
        named = _named(analyzer, analyzer.static_value(module, node))
        if isinstance(named, Unknown) and isinstance(node, ast.Name):
            return _alias(analyzer, module, node.id)
        return named
    return UNKNOWN


def _alias(analyzer: Analyzer, module: ModuleInfo, name: str) -> Fact:
    """Return what a name for a longer annotation stands for: `Arrays = Union[Tensor, ndarray]`."""
    for _ in range(_MAX_HOPS):
        bound = module.bindings.get(name)
        if isinstance(bound, Imported) and bound.name:
            source = analyzer.project.find(bound.module, module)
            if source is None:
                return UNKNOWN
            module, name = source, bound.name
        elif isinstance(bound, Assigned) and len(bound.values) == 1:
            value = bound.values[0]
            if isinstance(value, ast.Call):
                return _new_type(analyzer, module, value)
            longer = isinstance(value, (ast.Subscript, ast.BinOp)) and not bound.partial
            known = analyzer.aliases.get(value) if longer else UNKNOWN
            if known is None:
                analyzer.aliases[value] = UNKNOWN  # an alias that names itself ends here
                known = analyzer.aliases[value] = annotation_fact(analyzer, module, value)
            return known
        else:
            return UNKNOWN
    return UNKNOWN


def _new_type(analyzer: Analyzer, module: ModuleInfo, call: ast.Call) -> Fact:
    """Return what a new type is made of: `Points = NewType("Points", torch.Tensor)`."""
    made = analyzer.static_value(module, call.func)
    if getattr(made, "name", "") != "typing.NewType" or len(call.args) != 2:
        return UNKNOWN
    return annotation_fact(analyzer, module, call.args[1])


def _from_text(analyzer: Analyzer, module: ModuleInfo, text: str) -> Fact:
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return UNKNOWN
    return annotation_fact(analyzer, module, parsed)


def _alternatives(facts: object) -> Fact:
    return join_all(facts)


def _named(analyzer: Analyzer, value: Fact) -> Fact:
    if isinstance(value, ClassRef):
        if _TENSOR_TYPE in classes.resolve_ancestry(analyzer, value.cls).external:
            return Tensor()  # `class Data(TensorType["batch", "time"]): ...`
        return construction.instance(analyzer, value)
    name = value.name if isinstance(value, Extern) else ""
    if name == _TENSOR_TYPE:
        return Tensor()
    if name in _TENSORS:
        return Tensor(dtype=_TENSORS[name])
    if name in _SCALARS:
        return Static(_SCALARS[name])
    if name == "numpy.ndarray":
        return Array()
    last = name.rpartition(".")[2]
    if name.startswith(("builtins.", "typing.", "collections.")):
        if last in ("tuple", "Tuple"):
            return Sequence("tuple")
        if last in _LISTS:
            return Sequence(_LISTS[last])
        if last in _DICTS:
            return Mapping("dict")
        if last == "NoneType":
            return NONE
        if name in ("builtins.type", "typing.Type"):
            return Static("type")
    if name == "torch.Size":
        return Sequence("size", None, Static("int"))
    if name and analyzer.torch.module(name) is not None:
        return Instance(name, module=True)
    if name in stdlib.OBJECTS:
        return Instance(name)
    if name.partition(".")[0] in PACKAGES and last[:1].isupper():
        return Instance(name)  # such as `PIL.Image.Image`: calls of its methods leave Python
    if name.startswith("torch.distributions.") and last[:1].isupper():
        return Instance(analyzer.torch.canonical(name))
    return UNKNOWN


def _subscript(analyzer: Analyzer, module: ModuleInfo, node: ast.Subscript) -> Fact:
    base = analyzer.static_value(module, node.value)
    name = base.name if isinstance(base, Extern) else ""
    last = name.rpartition(".")[2]
    args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]

    def fact(arg: ast.expr) -> Fact:
        return annotation_fact(analyzer, module, arg)

    if name == _TENSOR_TYPE:
        return Tensor()
    if name.startswith("jaxtyping.") and last in _JAXTYPING:
        return fact(args[0])
    if last == "Optional":
        return _alternatives([fact(args[0]), NONE])
    if last == "Union":
        return _alternatives(fact(arg) for arg in args)
    if last == "Literal":
        return join_all(const(a.value) for a in args if isinstance(a, ast.Constant))
    if last in ("Annotated", "Final", "ClassVar", "Required", "NotRequired"):
        return fact(args[0])
    if name in ("builtins.type", "typing.Type"):
        return Static("type")
    if last in ("tuple", "Tuple"):
        if len(args) == 2 and isinstance(args[1], ast.Constant) and args[1].value is Ellipsis:
            return Sequence("tuple", None, fact(args[0]))
        return Sequence("tuple", tuple(fact(arg) for arg in args))
    if last in _LISTS:
        return Sequence(_LISTS[last], None, fact(args[0]))
    if last in _DICTS and len(args) == 2:
        value = fact(args[1])
        if isinstance(value, Tensor):  # where most values are tensors, not all of them need be
            value = replace(value, sure=False)
        return Mapping("dict", (), fact(args[0]), value)
    return UNKNOWN


# `name (torch.Tensor)`, `name (`torch.FloatTensor` of shape …)`, `name: Tensor …`,
# `:param Tensor name:`, `:type name: Tensor`, numpy's `name : Tensor`
_GOOGLE = re.compile(r"^\s*\**`?(\w+)`?\s*\(([^)\n]{1,120})", re.M)
_NUMPY = re.compile(r"^\s*`?(\w+)`?\s*:\s*([^\n]{1,120})$", re.M)
_SPHINX = re.compile(r":(?:param|type)\s+(?:([\w.\[\], |]+?)\s+)?(\w+)\s*:\s*([^\n]{0,60})")
# `points: where they are,` with the rest on lines that stand further in
_STORY = re.compile(
    r"^([ \t]*)`?(\w+)`?\s*(?:\([^)\n]*\))?\s*:[ \t]+([^\n]+(?:\n\1[ \t]+[^\n]+)*)", re.M
)
_SHAPED = re.compile(r"\btensor (?:of|with) (?:shape|size)\b", re.I)
_TENSOR_WORD = re.compile(
    r"(?:^|[\s`~(.])(?:torch\.)?(?:autograd\.)?"
    r"(Tensor|FloatTensor|LongTensor|BoolTensor|IntTensor|HalfTensor|Variable|ByteTensor)\b"
)
# `tensor`, `a 2D tensor of labels`; not `tensor dimension`
_PLAIN_TENSOR = re.compile(
    r"\s*`*(?:(?:an?|the|input|output|batched|bool|boolean|float|integer|\d-?[dD])\s)*"
    r"((?:torch\.)?tensor)\b(?=`*\s*(?:$|[,.;)\[]|(?:of|with|containing|holding)\s))",
    re.I,
)
# `keep (torch.Tensor, bool)`, `keep: a boolean mask`, `keep should be a boolean tensor`
_MASK = re.compile(
    r"^[ \t]*(?::param[ \t]+)?\**`*(\w+)`*[ \t]*"
    r"(?:\((?:torch\.)?(?:Tensor\b(?![^)\n]*\bor\b)[^)\n]*\bbool(?:ean)?\b|Bool(?:ean)?Tensor\b)|"
    r"(?:\([^)\n]*\))?[ \t]*(?::|\b(?:should|must|has to) be\b|\bis\b)"
    r"[ \t]*(?:an?\b|the\b|optional\b,?|\d-?[dD]\b|[ \t])*bool(?:ean)?[ \t]+(?:tensor|mask)\b)",
    re.M | re.I,
)
_HEADINGS = frozenset(
    "args arguments parameters params returns return yields inputs outputs".split()
)
_ARRAY_WORD = re.compile(r"\s*`*(?:(?:np\.|numpy\.)?ndarray|array[_-]like)\b(?![^,\n]*\bor\b)")
_CONTAINER_WORD = re.compile(r"\b(list|tuple|dict|sequence|iterable|Dict|List|Tuple)\b", re.I)
_SCALAR_WORD = re.compile(r"\b(int|float|bool|str|string|number|scalar)\b")


def docstring_facts(text: str | None) -> dict[str, Fact]:
    """Return what a docstring (Google, numpy or Sphinx style) says of tensor and array parameters.

    A guess, never sure: documentation isn't checked by anything. A parameter documented as a
    tensor *or* a number is left out.
    """
    if not text or not ("ensor" in text or "array" in text):
        return {}
    found: dict[str, Fact] = {}
    pairs = [(m[1], m[2]) for m in _GOOGLE.finditer(text)]
    pairs += [(m[1], m[2]) for m in _NUMPY.finditer(text)]
    pairs += [(m[2], m[1] or m[3]) for m in _SPHINX.finditer(text)]
    for name, kind in pairs:
        if name in found or name.endswith(("type", "cls", "class")):
            continue  # `output_type: torch.Tensor or np.ndarray` speaks of the class
        hit = _TENSOR_WORD.search(kind) or _PLAIN_TENSOR.match(kind)
        if hit is None and _ARRAY_WORD.match(kind):
            found[name] = Array(sure=False)
        if hit is None or hit.start() > 40:
            continue
        if _CONTAINER_WORD.search(kind[: hit.start()]) or _SCALAR_WORD.search(kind):
            continue
        dtype = {"LongTensor": "int", "IntTensor": "int", "BoolTensor": "bool"}.get(hit[1], "")
        if hit[1] in ("FloatTensor", "HalfTensor"):
            dtype = "float"
        fact: Fact = Tensor(dtype=dtype, role="input", sure=False)
        optional = "optional" in kind.lower() or "None" in kind
        found[name] = join_all([fact, NONE]) if optional else fact
    if "of shape" in text or "of size" in text or "with shape" in text:
        _from_stories(text, found)
    return found


def documented_masks(text: str | None) -> frozenset[str]:
    """Return the parameters that a docstring says are tensors of bools."""
    if not text or "ool" not in text:
        return frozenset()
    return frozenset(match[1] for match in _MASK.finditer(text))


def _from_stories(text: str, found: dict[str, Fact]) -> None:
    """Add what is described as a tensor of some shape, wherever its description says so."""
    for match in _STORY.finditer(text):
        name, story = match[2], match[3]
        hit = _SHAPED.search(story)
        if hit is None or name in found or name.lower() in _HEADINGS or name.endswith("type"):
            continue
        before = story[: hit.start()]
        if _CONTAINER_WORD.search(before) or _SCALAR_WORD.search(story) or " or " in before:
            continue
        fact: Fact = Tensor(role="input", sure=False)
        optional = "optional" in match[0].lower() or "None" in story
        found[name] = join_all([fact, NONE]) if optional else fact
