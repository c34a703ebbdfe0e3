"""Parameters: binding arguments to them, and what is known of them without a caller."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    NONE,
    UNKNOWN,
    ClassRef,
    Const,
    Extern,
    Fact,
    FromTensor,
    Function,
    Mapping,
    Origin,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    Union,
    Unknown,
    join,
    join_all,
    options,
)
from ..index import ClassInfo, FunctionInfo
from . import annotations, tells
from .frame import Env

if TYPE_CHECKING:
    from .analyzer import Analyzer


def first_name(info: FunctionInfo) -> str:
    """Return the name of `self`, "" when there is none."""
    positional = info.signature.positional
    return positional[0] if positional else ""


def bind(
    analyzer: Analyzer,
    info: FunctionInfo,
    args: list[Fact],
    kwargs: dict[str, Fact],
    unknown_rest: bool,
) -> Env:
    """Bind facts of arguments to parameters, as a call does.

    A parameter left out takes its default's fact; an argument of unknown type, what its
    annotation, its documentation or its uses say.
    """
    takes = info.signature
    given: Env = dict(zip(takes.positional, args))
    extra = []
    for name, fact in kwargs.items():
        if name in takes.named:
            given[name] = fact
        else:
            extra.append((name, fact))
    env: Env = {}
    guessed: Env | None = None
    for name, param in takes.named.items():
        fact = given.get(name)
        if fact is None and name in takes.defaults and not unknown_rest:
            fact = analyzer.static_value(info.module, takes.defaults[name])
        elif fact is None or isinstance(fact, Unknown):
            if guessed is None:
                guessed = guess(analyzer, info)
            fact = guessed.get(name, UNKNOWN)
        elif isinstance(fact, Union) and param.annotation is not None:
            fact = _declared_rest(fact, analyzer.annotation(info.module, param.annotation))
        env[name] = fact
    if takes.vararg:
        rest = tuple(args[len(takes.positional) :])
        exact = not unknown_rest and len(rest) <= 16
        env[takes.vararg] = Sequence("tuple", rest) if exact else Sequence("tuple", None, UNKNOWN)
    if takes.kwarg:
        env[takes.kwarg] = Mapping("dict", tuple(extra), exact=not unknown_rest)
    return env


def entered(analyzer: Analyzer, info: FunctionInfo, params: Env) -> Env:
    """Bind an entry's parameters to the wrapper around it; whoever calls may name more."""
    env = bind(analyzer, info, list(params.values()), {}, False)
    if info.signature.kwarg:
        env[info.signature.kwarg] = Mapping("dict", (), Static("str"))
    return env


def _declared_rest(fact: Union, declared: Fact) -> Fact:
    """Of a value known in part, the rest is what the annotation says.

    Of several things that it may be, a tensor that the annotation has no room for is a path that
    the code doesn't take: `cache: dict | None`.
    """
    stated = {_family(option) for option in options(declared)}
    if stated == {"Tensor"} and "Tensor" in {_family(option) for option in fact.options}:
        # what a wrapper's `function(*args)` hands on is of the kinds of all its arguments
        return join_all(o for o in fact.options if _family(o) in ("Tensor", "None"))
    if stated <= _PLAIN_FAMILIES and stated - {"None"}:
        fitting = [option for option in fact.options if not isinstance(option, Tensor)]
        told = any(_family(option) != "None" for option in fitting)
        if told and len(fitting) < len(fact.options):
            rest = join_all(fitting)
            return _declared_rest(rest, declared) if isinstance(rest, Union) else rest
    kept = [option for option in fact.options if not isinstance(option, Unknown)]
    if len(kept) == len(fact.options) or isinstance(declared, Unknown):
        return fact
    known = {_family(option) for option in kept}
    return join_all([*kept, *(o for o in options(declared) if _family(o) not in known)])


def _family(fact: Fact) -> str:
    if isinstance(fact, Const) and fact.value is None:
        return "None"
    numbers = isinstance(fact, (Const, Static, ShapeInt, FromTensor))
    return "number" if numbers else type(fact).__name__


def guess(analyzer: Analyzer, info: FunctionInfo) -> Env:
    """Return what is known of each parameter with no caller in sight.

    Best source first: annotation, then default, docstring and how the body uses it. A default
    is one of the values a caller may pass, never the only one.
    """
    cached = analyzer.guesses.get(info)
    if cached is not None:
        return cached
    result: Env = {}
    analyzer.guesses[info] = result
    default = info.signature.defaults
    documented: Env | None = None  # asked for where an annotation says nothing
    masks: frozenset[str] | None = None
    spec = info.node.args
    stated: Env = {}
    this = first_name(info) if _has_self(info) else ""
    for name, param in info.signature.named.items():
        fact = analyzer.annotation(info.module, param.annotation)
        story = f"parameter `{name}`"
        if isinstance(fact, Unknown) and name != this:
            if documented is None:
                documented = tells.without_strangers(analyzer, info, _documented(info))
            if name in documented:
                story += ", documented as a tensor"
                fact = documented[name]
        if any(isinstance(option, Tensor) and not option.dtype for option in options(fact)):
            masks = _documented_masks(info) if masks is None else masks
            fact = _as_mask(fact) if name in masks else fact
        if isinstance(fact, (Tensor, Union, Sequence, Mapping)):
            place = (info.module.path, param.lineno, param.col_offset + 1)
            fact = _as_input(fact, Origin(*place, story))
        stated[name] = fact
    silent = {name for name, fact in stated.items() if isinstance(fact, Unknown)}
    silent.discard(this)
    stated.update(tells.use_tells(analyzer, info, silent))
    asked: set[str] | None = None
    for name, fact in stated.items():
        if name in default:
            told = _with_default(analyzer.static_value(info.module, default[name]), fact)
            if isinstance(fact, Unknown) and isinstance(told, Static):
                asked = tells.asked_for(info) if asked is None else asked
                # `tails="linear"` of which the body asks if it is a list
                told = join(told, UNKNOWN) if name in asked else told
            fact = told
        result[name] = fact
    if spec.vararg is not None:
        declared = analyzer.annotation(info.module, spec.vararg.annotation)
        result[spec.vararg.arg] = Sequence("tuple", None, declared)
    if spec.kwarg is not None:
        declared = analyzer.annotation(info.module, spec.kwarg.annotation)
        result[spec.kwarg.arg] = Mapping("dict", (), Static("str"), declared)
    if this and info.cls is not None and not isinstance(info.node, ast.Lambda):
        names = {getattr(d, "id", "") for d in info.decorators}
        ref = analyzer.class_ref(info.cls)
        made = ref if "classmethod" in names or info.name == "__new__" else analyzer.own(info.cls)
        result[this] = made
    return result


def _has_self(info: FunctionInfo) -> bool:
    """Say whether the first parameter is `self` or `cls`."""
    names = {getattr(deco, "id", "") for deco in info.decorators}
    return info.cls is not None and "staticmethod" not in names


def _docstrings(info: FunctionInfo, *of_class: str) -> Iterator[str | None]:
    """Yield the function's docstring, and for methods of these names their class's."""
    if isinstance(info.node, ast.Lambda):
        return
    yield ast.get_docstring(info.node, clean=False)
    if info.cls is not None and info.name in of_class:
        yield ast.get_docstring(info.cls.node, clean=False)


def _documented(info: FunctionInfo) -> Env:
    found: Env = {}
    for text in _docstrings(info, "forward", "__call__", "__init__"):
        for name, fact in annotations.docstring_facts(text).items():
            found.setdefault(name, fact)
    return found


def _documented_masks(info: FunctionInfo) -> frozenset[str]:
    texts = _docstrings(info, "forward", "__call__")
    return frozenset().union(*map(annotations.documented_masks, texts))


def _as_mask(fact: Fact) -> Fact:
    """Return the fact with bools as the elements of its tensors: a guess, nothing checks it."""
    return join_all(
        replace(option, dtype="bool", sure=False)
        if isinstance(option, Tensor) and not option.dtype
        else option
        for option in options(fact)
    )


def _as_input(fact: Fact, origin: Origin) -> Fact:
    """Mark tensors as inputs of the function, made at the parameter where nothing else is said."""
    if isinstance(fact, Tensor):
        return replace(fact, role="input", origin=fact.origin or origin)
    if isinstance(fact, Sequence):
        items = None if fact.items is None else tuple(_as_input(o, origin) for o in fact.items)
        return replace(fact, items=items, elem=_as_input(fact.elem, origin))
    if isinstance(fact, Mapping):
        return replace(fact, elem=_as_input(fact.elem, origin))
    if isinstance(fact, Union):
        return join_all(_as_input(option, origin) for option in fact.options)
    return fact


def _with_default(default: Fact, fact: Fact) -> Fact:
    if isinstance(default, Const):
        if default.value is None:
            return join(fact, NONE)
        if isinstance(fact, Unknown):
            return Static(default.kind)
        if default.kind == "bool" and any(isinstance(o, Tensor) for o in options(fact)):
            return Static("bool")  # `flag: torch.Tensor = False` is a slip of the annotation
        return join(fact, Static(default.kind))
    if isinstance(fact, (Unknown, Static)) and isinstance(default, (Extern, ClassRef, Function)):
        return default  # `norm_layer: type = nn.LayerNorm`: another class would act alike
    if isinstance(fact, Unknown):
        return (
            default if isinstance(default, (Sequence, Mapping)) and not default.items else UNKNOWN
        )
    return fact


def constructor_guess(analyzer: Analyzer, info: FunctionInfo, cls: ClassInfo) -> Env:
    """Return parameter facts for a method that is run to learn attributes of `cls`."""
    env = dict(guess(analyzer, info))
    this = first_name(info)
    if this:
        env[this] = analyzer.own(cls)
    return env


_PLAIN_FAMILIES = frozenset({"Mapping", "Sequence", "number", "None"})
_HOLDERS = frozenset({"List", "list", "Tuple", "tuple", "Sequence"})
_PLAIN = frozenset({"int", "float", "bool", "str"})


def misread(info: FunctionInfo, returns: Fact) -> bool:
    """Say whether a tensor seems to come back where lists of numbers are declared.

    `-> List[int]` is believed: what a table of functions gives was taken for one of the others.
    """
    hint = None if isinstance(info.node, ast.Lambda) else info.node.returns
    if type(hint) is not ast.Subscript or not any(type(o) is Tensor for o in options(returns)):
        return False
    holder = getattr(hint.value, "attr", getattr(hint.value, "id", ""))
    names = {part.id for part in ast.walk(hint.slice) if isinstance(part, ast.Name)}
    return holder in _HOLDERS and bool(names) and names <= _PLAIN
