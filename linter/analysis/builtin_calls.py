"""Builtins: what calls of them give."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    NONE,
    UNKNOWN,
    Array,
    ClassRef,
    Const,
    Extern,
    Fact,
    FromTensor,
    Function,
    Instance,
    Mapping,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    Unknown,
    const,
    join,
    join_all,
    options,
)
from . import calls, expressions, members, stdlib, tensors
from .frame import Frame
from .narrow import class_options, is_instance

if TYPE_CHECKING:
    from .calls import Arguments

Model = Callable[[Frame, ast.Call, "Arguments"], Fact]


def builtin(frame: Frame, node: ast.Call, name: str, given: Arguments) -> Fact:
    """Return the result of a builtin function or class."""
    model = _BUILTINS.get(name)
    if model is not None:
        return model(frame, node, given)
    if name == "open":
        return stdlib.made(frame, node, "builtins.open") or UNKNOWN
    if name[:1].isupper():
        return Instance(f"builtins.{name}")
    return UNKNOWN


def data_of(fact: Fact) -> Fact | None:
    """Return the alternative of a fact that depends on tensor data, None when there is none."""
    for option in options(fact):
        if isinstance(option, (Tensor, FromTensor)):
            return option
        if isinstance(option, Array) and not option.constant:
            return option
    return None


def first(given: Arguments) -> Fact:
    return given.args[0] if given.args else UNKNOWN


def read_into(
    frame: Frame, node: ast.Call, fact: Fact, kind: str, drawn: str = "random"
) -> FromTensor:
    """Return the value read out of `fact`; `drawn` says how it is known if that was a draw."""
    how = fact.how if isinstance(fact, FromTensor) else "item"
    how = drawn if how == "random" else how
    origin = frame.origin(node, f"`{frame.module.segment(node)}`", fact.origin)
    return FromTensor(kind, how, origin=origin, sure=fact.sure)


def _len(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    fact = first(given)
    for option in options(fact):
        if isinstance(option, Tensor) and option.ragged:
            origin = frame.origin(node, f"`{frame.module.segment(node)}`", option.origin)
            return FromTensor("int", "size", origin=origin, sure=option.sure)
    if isinstance(fact, Sequence) and fact.items is not None and fact.kind in ("tuple", "size"):
        return const(len(fact.items))
    if any(isinstance(o, (Tensor, Array)) for o in options(fact)):
        return ShapeInt()
    return Static("int")


def _range(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    for fact in given.args:
        found = data_of(fact)
        if found is not None:
            return Sequence("range", None, read_into(frame, node, found, "int"))
    if any(isinstance(o, ShapeInt) for fact in given.args for o in options(fact)):
        return Sequence("range", None, ShapeInt())
    return Sequence("range", None, Static("int"))


def _enumerate(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    elem = expressions.element_of(frame, first(given), node)
    return Sequence("enumerate", None, Sequence("tuple", (Static("int"), elem)))


def _zip(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    if given.open:
        each = join_all(expressions.element_of(frame, fact, node) for fact in given.args)
        return Sequence("zip", None, Sequence("tuple", None, each))
    elems = tuple(expressions.element_of(frame, fact, node) for fact in given.args)
    return Sequence("zip", None, Sequence("tuple", elems))


def make_sequence(kind: str) -> Model:
    def model(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
        if not given.args:
            return Sequence(kind, ())
        fact = given.args[0]
        if isinstance(fact, Sequence) and fact.items is not None:
            items = tuple(reversed(fact.items)) if kind == "reversed" else fact.items
            return Sequence("list" if kind == "reversed" else kind, items, origin=fact.origin)
        kind_made = "list" if kind == "reversed" else kind
        return Sequence(kind_made, None, expressions.element_of(frame, fact, node))

    return model


def _sorted(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    elem = expressions.element_of(frame, first(given), node)
    _call_key(frame, node, given, elem)
    return Sequence("list", None, elem)


def _call_key(frame: Frame, node: ast.Call, given: Arguments, elem: Fact) -> None:
    key = given.kwargs.get("key")
    if key is not None:
        apply(frame, node, key, [elem])


def apply(frame: Frame, node: ast.Call, function: Fact, args: list[Fact]) -> Fact:
    """Call a function that was passed in (a sort key, a predicate); note what it gives."""
    result: Fact = UNKNOWN
    if isinstance(function, Function):
        result = calls.call_function(frame, node, function, args, {})
    elif isinstance(function, Extern) and function.name.startswith("torch."):
        result = tensors.tensor_call(frame, node, function.name, None, args, {})
    callee = frame.callees.get(node)
    if callee is not None and not isinstance(result, Unknown):
        seen = result if callee.inner is None else join(callee.inner, result)
        frame.callees[node] = replace(callee, inner=seen)
    return result


_NUMBERS = {"int": int, "float": float, "bool": bool, "complex": complex}


def _number(kind: str) -> Model:
    def model(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
        fact = first(given)
        found = data_of(fact)
        if kind == "int" and isinstance(found, Tensor) and tensors.specialised(found):
            return Static("int", origin=found.origin)
        if found is not None:
            return read_into(frame, node, found, kind, "call")
        if kind != "complex" and isinstance(fact, Const) and isinstance(fact.value, (int, float)):
            try:
                made = _NUMBERS[kind](fact.value)
            except (ValueError, OverflowError):
                return Static(kind)
            return const(made)
        if isinstance(fact, ShapeInt):
            return ShapeInt(kind)
        return Static(kind)

    return model


def _arithmetic(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    """min, max, abs, round, pow, sum, divmod: as wide as their operands."""
    values = list(given.args)
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in ("min", "max", "sum") and (len(values) == 1 or name == "sum") and values:
        if name != "sum":
            _call_key(frame, node, given, expressions.element_of(frame, values[0], node))
        values[0] = expressions.element_of(frame, values[0], node)
    found = [f for f in map(data_of, values) if f is not None]
    for kind in (Tensor, Array):
        picked = next((f for f in found if isinstance(f, kind)), None)
        if picked is not None:
            return picked
    if found:
        drawn = "call" if name == "round" else "random"
        return read_into(frame, node, found[0], getattr(found[0], "kind", ""), drawn)
    if any(isinstance(o, ShapeInt) for v in values for o in options(v)):
        return ShapeInt()
    if all(isinstance(v, (Const, Static)) for v in values):
        return Static(values[0].kind if values else "")  # type: ignore[attr-defined]
    return join_all(values) if name in ("min", "max") else UNKNOWN


def _any_all(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    fact = first(given)
    elem = expressions.element_of(frame, fact, node)
    found = data_of(elem)
    if found is not None:  # the builtin tests each element: what it gives is an ordinary bool
        origin = frame.origin(node, f"`{frame.module.segment(node)}`", found.origin)
        return FromTensor("bool", "call", origin=origin, sure=found.sure)
    if any(isinstance(o, ShapeInt) for o in options(elem)):
        return ShapeInt("bool")
    return Static("bool")


def _isinstance(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    if len(given.args) != 2:
        return Static("bool")
    classes = class_options(given.args[1])
    return is_one_of(given.args[0], classes) if classes else Static("bool")


def is_one_of(fact: Fact, classes: list[Fact]) -> Fact:
    """Return what asking for the class of a value gives."""
    verdicts = {is_instance(option, classes) for option in options(fact)}
    if len(verdicts) == 1:
        verdict = verdicts.pop()
        if verdict is not None:
            return const(verdict)
    return Static("bool")


def _getattr(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    if len(given.args) < 2:
        return UNKNOWN
    name = given.args[1]
    if isinstance(name, (Static, Unknown)) and given.args[0] == Extern("torch.optim"):
        return Extern("torch.optim.Optimizer")  # whichever is asked for
    if isinstance(name, (Static, Unknown)) and given.args[0] == Extern("torch.nn"):
        made = frame.function.parents.get(node) if frame.function is not None else None
        keywords = {k.arg for k in made.keywords} if isinstance(made, ast.Call) else set()
        if keywords & {"bidirectional", "num_layers"}:  # what no other class of torch.nn takes
            return Extern("torch.nn.RNN")
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return UNKNOWN
    target = ast.copy_location(ast.Attribute(node.args[0], name.value, ast.Load()), node)
    found = members.attribute_of(frame, target, given.args[0])
    if len(given.args) > 2 and not _exists(frame, found):
        return join(found, given.args[2])
    return found


def _exists(frame: Frame, fact: Fact) -> bool:
    """Say whether an external name is one that the torch linted for surely has."""
    if not isinstance(fact, Extern):
        return False
    return fact.name in calls.CONSTANT_CALLS or frame.analyzer.torch.function(fact.name) is not None


def _hasattr(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    return Static("bool")


def _type(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    fact = first(given)
    if isinstance(fact, Instance) and not isinstance(fact.cls, str):
        return ClassRef(fact.cls)
    if isinstance(fact, Tensor):
        return Extern("torch.Tensor", sure=fact.sure)
    return UNKNOWN


def _map(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    if len(given.args) < 2:
        return UNKNOWN
    elems = [expressions.element_of(frame, fact, node) for fact in given.args[1:]]
    function = given.args[0]
    if isinstance(function, Function):
        return Sequence("generator", None, calls.call_function(frame, node, function, elems, {}))
    if isinstance(function, Extern) and function.name in ("builtins.int", "builtins.float"):
        inner = calls.Arguments([elems[0]])
        return Sequence("generator", None, builtin(frame, node, function.name[9:], inner))
    return Sequence("generator")


def _filter(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    if len(given.args) < 2:
        return UNKNOWN
    elem = expressions.element_of(frame, given.args[1], node)
    apply(frame, node, given.args[0], [elem])
    return Sequence("generator", None, elem)


def _next(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    elem = expressions.element_of(frame, first(given), node)
    return join(elem, given.args[1]) if len(given.args) > 1 else elem


def make_dict(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    items = tuple(given.kwargs.items())
    if not given.args:
        return Mapping("dict", items, exact=not given.open)
    source = given.args[0]
    if isinstance(source, Mapping):
        kept = tuple(kv for kv in source.items if kv[0] not in given.kwargs)
        return Mapping("dict", kept + items, source.key, source.elem, source.exact)
    pair = expressions.element_of(frame, source, node)
    if isinstance(pair, Sequence) and pair.items is not None and len(pair.items) == 2:
        return Mapping("dict", items, pair.items[0], pair.items[1])
    return Mapping("dict", items)


def _kind(kind: str) -> Model:
    def model(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
        return Static(kind)

    return model


def _nothing(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    return NONE


def _slice(frame: Frame, node: ast.Call, given: Arguments) -> Fact:
    none = const(None)
    if len(given.args) == 1:
        return Sequence("slice", (none, given.args[0], none))
    padded = [*given.args, none, none, none][:3]
    return Sequence("slice", tuple(padded))


_BUILTINS: dict[str, Model] = {
    "len": _len,
    "range": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "list": make_sequence("list"),
    "tuple": make_sequence("tuple"),
    "set": make_sequence("set"),
    "frozenset": make_sequence("frozenset"),
    "reversed": make_sequence("reversed"),
    "iter": make_sequence("generator"),
    "sorted": _sorted,
    "int": _number("int"),
    "float": _number("float"),
    "bool": _number("bool"),
    "complex": _number("complex"),
    "min": _arithmetic,
    "max": _arithmetic,
    "sum": _arithmetic,
    "abs": _arithmetic,
    "round": _arithmetic,
    "pow": _arithmetic,
    "any": _any_all,
    "all": _any_all,
    "isinstance": _isinstance,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "callable": _hasattr,
    "issubclass": _hasattr,
    "type": _type,
    "map": _map,
    "filter": _filter,
    "next": _next,
    "dict": make_dict,
    "str": _kind("str"),
    "repr": _kind("str"),
    "format": _kind("str"),
    "id": _kind("int"),
    "hash": _kind("int"),
    "print": _nothing,
    "setattr": _nothing,
    "slice": _slice,
}
