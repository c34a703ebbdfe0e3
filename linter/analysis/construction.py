"""Objects: what constructing them gives, and what containers of modules hold."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    UNKNOWN,
    ClassRef,
    Const,
    Extern,
    Fact,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    options,
)
from ..index import ClassInfo, FunctionInfo
from . import classes, objects, parameters, stores
from .frame import Env, Frame

if TYPE_CHECKING:
    from .analyzer import Analyzer
    from .summary import Summary


def construct(
    frame: Frame,
    node: ast.AST,
    ref: ClassRef,
    args: list[Fact],
    kwargs: dict[str, Fact],
    unknown_rest: bool,
) -> Fact:
    """Make an object: run `__init__` with the arguments, keep what it stores."""
    analyzer = frame.analyzer
    cls: ClassInfo = ref.cls
    fields = named_fields(analyzer, cls)
    if fields is not None:
        values = dict(zip(fields, args)) | kwargs
        items = tuple(values.get(name, UNKNOWN) for name in fields)
        return Sequence("named:" + ",".join(fields), items)
    module = classes.is_module_class(analyzer, cls)
    this = Instance(cls, module=module, origin=frame.origin(node, f"`{cls.name}` object"))
    method = classes.find_method(analyzer, cls, "__init__")
    if method is None:
        made = _dataclass(analyzer, cls, this, args, kwargs)
        after = classes.find_method(analyzer, cls, "__post_init__")
        if after is not None and not module:
            _run(frame, after, parameters.bind(analyzer, after, [made], {}, True))
        return made
    if module and frame.stored_only:
        return this
    if module:  # built once, outside, unless of tensors that the region makes, or to be called
        made = any(isinstance(fact, Tensor) for fact in (*args, *kwargs.values()))
        if not made and (frame.function is None or not called_here(frame.function, node)):
            return this  # its class's attribute table says more
    bound = parameters.bind(analyzer, method, [this, *args], kwargs, unknown_rest)
    summary = _run(frame, method, bound)
    if summary is None or module:
        return this
    name = parameters.first_name(method)
    attrs = {}
    for path, fact in summary.stores.items():
        first, _, rest = path.partition(".")
        if first == name and rest and "." not in rest:
            attrs[rest] = fact
    return Instance(cls, attrs=tuple(sorted(attrs.items())), origin=this.origin)


def told_by_class(analyzer: Analyzer, function: Fact) -> bool:
    """Say whether calling it outside of regions makes a module, whatever the arguments are."""
    for option in options(function):
        if isinstance(option, Extern):
            told = objects.is_layer(analyzer, option.name)
        else:
            told = (
                isinstance(option, ClassRef)
                and classes.is_module_class(analyzer, option.cls)
                and classes.find_method(analyzer, option.cls, "__init__") is not None
            )
        if not told:
            return False
    return True


def _run(frame: Frame, method: FunctionInfo, bound: Env) -> Summary | None:
    """Run a method of the object that is made; None where it is under way already."""
    summary = frame.analyzer.summary(method, bound, {}, frame.depth + 1)
    if summary is None or not summary.done:
        return None
    if summary not in frame.children:
        frame.children.append(summary)
    return summary


def called_here(function: FunctionInfo, node: ast.AST) -> bool:
    """Say whether a function calls what a call makes: `Loss(3)(x)`, `loss = Loss(3)`, `loss(x)`."""
    parent = function.parents.get(node)
    if isinstance(parent, ast.Call):
        return parent.func is node
    if not (isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name)):
        return False
    name = parent.targets[0].id
    return any(
        type(part) is ast.Call and type(part.func) is ast.Name and part.func.id == name
        for part in function.nodes
    )


def _dataclass(
    analyzer: Analyzer, cls: ClassInfo, this: Instance, args: list[Fact], kwargs: dict[str, Fact]
) -> Fact:
    names: list[str] = []
    defaults: dict[str, Fact] = {}
    for owner in reversed(classes.resolve_ancestry(analyzer, cls).classes):
        for name, assigned in owner.attributes.items():
            if assigned.annotation is not None:
                names = [n for n in names if n != name] + [name]
                if assigned.values:
                    defaults[name] = analyzer.static_value(owner.module, assigned.values[-1])
    if not names:
        return this
    given = dict(zip(names, args)) | {k: v for k, v in kwargs.items() if k in names}
    attrs = {name: given.get(name, defaults.get(name, UNKNOWN)) for name in names}
    if _is_output(analyzer, cls):
        items = tuple((n, attrs[n]) for n in names if not _none(attrs[n]))
        return Mapping("output", items, exact=False)
    return Instance(cls, attrs=tuple(sorted(attrs.items())), origin=this.origin)


def _is_output(analyzer: Analyzer, cls: ClassInfo) -> bool:
    """ModelOutput-like: a dataclass that is an OrderedDict as well."""
    found = classes.resolve_ancestry(analyzer, cls)
    return "collections.OrderedDict" in found.external


def instance(analyzer: Analyzer, ref: ClassRef) -> Fact:
    """Return the fact of some object of a class, as an annotation means it."""
    cls = ref.cls
    if named_fields(analyzer, cls) is not None:
        fields = named_fields(analyzer, cls) or {}
        return Sequence("named:" + ",".join(fields), tuple(fields.values()))
    return Instance(cls, module=classes.is_module_class(analyzer, cls))


def named_fields(analyzer: Analyzer, cls: ClassInfo) -> dict[str, Fact] | None:
    """Return the fields of a NamedTuple class, None for other classes."""
    if "typing.NamedTuple" not in classes.resolve_ancestry(analyzer, cls).external:
        return None
    known = analyzer.named_tuples.get(cls)
    if known is None:
        hints = {n: a.annotation for n, a in cls.attributes.items() if a.annotation is not None}
        analyzer.named_tuples[cls] = dict.fromkeys(
            hints, UNKNOWN
        )  # a field of its own type ends here
        known = {name: analyzer.annotation(cls.module, hint) for name, hint in hints.items()}
        analyzer.named_tuples[cls] = known
    return known


def contained(analyzer: Analyzer, this: Instance) -> Fact:
    """Return the join of the elements of a module container."""
    attrs = dict(this.attrs)
    if "*" not in attrs and isinstance(this.cls, ClassInfo):
        attrs = stores.attributes(analyzer, this.cls)
    layers = attrs.get("*")
    return layers.element() if isinstance(layers, Sequence) and layers.items != () else UNKNOWN


def _none(fact: Fact) -> bool:
    return isinstance(fact, Const) and fact.value is None
