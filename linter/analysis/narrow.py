"""What a condition says about the names in it, on the path where it holds or fails."""

from __future__ import annotations

import ast
from dataclasses import replace

from ...rules.base.facts import (
    NONE,
    Array,
    ClassRef,
    Const,
    Extern,
    Fact,
    FromTensor,
    Instance,
    Mapping,
    Sequence,
    ShapeInt,
    Static,
    Tensor,
    Unknown,
    join_all,
    options,
)
from .classes import ancestry
from .frame import Frame, path_of
from .operators import boolean

TENSOR_CLASSES = frozenset(
    {
        "torch.Tensor",
        "torch.FloatTensor",
        "torch.LongTensor",
        "torch.BoolTensor",
        "torch.IntTensor",
        "torch.HalfTensor",
        "torch.DoubleTensor",
        "torch.ByteTensor",
        "torch.nn.Parameter",
        "torch.nn.parameter.Parameter",
        "torch.autograd.Variable",
    }
)
_KINDS: dict[str, tuple[str, ...]] = {
    "builtins.int": ("int", "bool"),
    "builtins.float": ("float",),
    "builtins.bool": ("bool",),
    "builtins.str": ("str",),
    "builtins.bytes": ("bytes",),
    "builtins.complex": ("complex",),
    "numbers.Number": ("int", "float", "bool", "complex"),
    "numbers.Real": ("int", "float", "bool"),
    "numbers.Integral": ("int", "bool"),
}
_SEQUENCES: dict[str, tuple[str, ...]] = {
    "builtins.list": ("list",),
    "builtins.tuple": ("tuple", "size"),
    "builtins.set": ("set",),
    "builtins.frozenset": ("frozenset",),
    "collections.abc.Sequence": ("list", "tuple", "size"),
    "typing.Sequence": ("list", "tuple", "size"),
    "collections.abc.Iterable": ("list", "tuple", "size", "set", "generator"),
    "typing.Iterable": ("list", "tuple", "size", "set", "generator"),
    "torch.Size": ("size",),
    "collections.deque": ("deque",),
}
_MAPPINGS = frozenset(
    {"builtins.dict", "collections.abc.Mapping", "typing.Mapping", "collections.OrderedDict"}
)


def refine(frame: Frame, test: ast.expr, positive: bool) -> None:
    """Narrow the environment by a condition that held (`positive`) or failed."""
    if frame.env is None:
        return
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        refine(frame, test.operand, not positive)
    elif isinstance(test, ast.BoolOp):
        conjunction = isinstance(test.op, ast.And)
        deciding = test.values
        if conjunction is not positive:  # one operand decided: which, where others can't have
            truths = [boolean(frame.facts.get(value, Unknown())) for value in test.values]
            undecided = [v for v, truth in zip(test.values, truths) if truth is not conjunction]
            deciding = undecided if len(undecided) == 1 else []
        for value in deciding:
            refine(frame, value, positive)
    elif isinstance(test, ast.NamedExpr):
        refine(frame, test.target, positive)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        _refine_compare(frame, test, positive)
    elif isinstance(test, ast.Call):
        _refine_call(frame, test, positive)
    elif (path := path_of(test)) is not None:
        fact = frame.facts.get(test)
        current = frame.env.get(path, fact)
        if current is not None:
            _rebind(frame, path, without_none(current) if positive else _falsy(current))


def _rebind(frame: Frame, path: str, fact: Fact) -> None:
    """Note a narrowed fact. What is known below the path stays: it is the same object."""
    assert frame.env is not None
    if frame.env.get(path) != fact:
        frame.put(path, fact)


def without_none(fact: Fact) -> Fact:
    """Return the fact with the alternative None left out."""
    kept = [o for o in options(fact) if not (isinstance(o, Const) and o.value is None)]
    return join_all(kept) if kept else fact


def _falsy(fact: Fact) -> Fact:
    """A value that tested false can't be an object that is always true."""
    kept = [o for o in options(fact) if boolean(o) is not True]
    return join_all(kept) if kept else fact


def _refine_compare(frame: Frame, test: ast.Compare, positive: bool) -> None:
    op, right = test.ops[0], test.comparators[0]
    is_none = isinstance(right, ast.Constant) and right.value is None
    if not is_none or not isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return
    left = test.left.target if isinstance(test.left, ast.NamedExpr) else test.left
    path = path_of(left)
    if path is None or frame.env is None:
        return
    current = frame.env.get(path, frame.facts.get(left))
    if current is None:
        return
    if isinstance(op, (ast.Is, ast.Eq)) is positive:
        _rebind(frame, path, NONE)
    else:
        _rebind(frame, path, without_none(current))


def _refine_call(frame: Frame, test: ast.Call, positive: bool) -> None:
    callee = frame.callees.get(test)
    if callee is None or not test.args or frame.env is None:
        return
    path = path_of(test.args[0])
    if path is None:
        return
    current = frame.env.get(path, frame.facts.get(test.args[0]))
    if current is None:
        return
    if callee.name == "torch.is_tensor":
        classes: list[Fact] = [Extern("torch.Tensor")]
    elif callee.name == "builtins.isinstance" and len(test.args) == 2:
        classes = class_options(frame.facts.get(test.args[1]))
    else:
        return
    if not classes:
        return
    kept = []
    for option in options(current):
        verdict = is_instance(option, classes)
        if verdict is None and not positive and _guessed(option) and _tensors(classes):
            continue  # it was only guessed to be a tensor, and here it isn't one
        if verdict is None or verdict is positive:
            kept.append(_sharpen(option, classes) if positive and verdict is None else option)
    if kept:
        _rebind(frame, path, join_all(kept))
    elif positive:
        _rebind(frame, path, instance_of(classes[0], current))
    elif any(_guessed(option) for option in options(current)):
        _rebind(frame, path, Unknown(origin=current.origin))


def _guessed(option: Fact) -> bool:
    return isinstance(option, Tensor) and not option.sure


def _tensors(classes: list[Fact]) -> bool:
    return any(isinstance(cls, Extern) and cls.name in TENSOR_CLASSES for cls in classes)


def _sharpen(option: Fact, classes: list[Fact]) -> Fact:
    if isinstance(option, Instance) and option.cls == "torch.nn.Module":  # some module: this one
        made = [instance_of(cls, option) for cls in classes]
        if all(isinstance(fact, Instance) for fact in made):
            return join_all(replace(fact, module=True) for fact in made)
    if isinstance(option, Static) and option.kind:
        return option  # a number or string that is of an abstract class as well
    if isinstance(option, (Unknown, Static)) and len(classes) == 1:
        return instance_of(classes[0], option)
    if isinstance(option, Unknown) or (_guessed(option) and not _tensors(classes)):
        made = [instance_of(cls, option) for cls in classes]
        if any(isinstance(fact, Sequence) for fact in made):
            # `isinstance(sizes, (list, tuple, ndarray))`: what is one for each part comes as a list
            made = [fact for fact in made if not isinstance(fact, (Tensor, Array))]
        return join_all(made)
    return option


def instance_of(cls: Fact, like: Fact) -> Fact:
    """Return the fact of an instance of a class."""
    if isinstance(cls, ClassRef):
        return Instance(cls.cls, origin=like.origin)
    name = cls.name if isinstance(cls, Extern) else ""
    if name in TENSOR_CLASSES:
        return Tensor(origin=like.origin)
    if name == "numpy.ndarray":
        return Array(origin=like.origin)
    if name in _KINDS:
        kinds = _KINDS[name]
        return Static(kinds[0] if name.startswith("builtins.") else "")
    if name in _SEQUENCES:
        return Sequence(_SEQUENCES[name][0])
    if name in _MAPPINGS:
        return Mapping("dict")
    return Instance(name, origin=like.origin) if name else Unknown()


def class_options(fact: Fact | None) -> list[Fact]:
    """Return the classes an isinstance test names; empty when any of them isn't known."""
    if fact is None:
        return []
    if isinstance(fact, Sequence) and fact.items is not None:
        found: list[Fact] = []
        for item in fact.items:
            inner = class_options(item)
            if not inner:
                return []
            found.extend(inner)
        return found
    return [fact] if isinstance(fact, (Extern, ClassRef)) else []


def is_instance(fact: Fact, classes: list[Fact]) -> bool | None:
    """Say whether a value is surely, or surely not, an instance of one of the classes."""
    verdicts = [_is_instance(fact, cls) for cls in classes]
    if True in verdicts:
        return True
    return None if None in verdicts or not verdicts else False


def _is_instance(fact: Fact, cls: Fact) -> bool | None:
    name = cls.name if isinstance(cls, Extern) else ""
    if isinstance(fact, Unknown) or (isinstance(fact, Static) and not fact.kind):
        return None
    if isinstance(fact, Tensor):
        if not fact.sure:
            return None
        if name in ("torch.Tensor", "torch.autograd.Variable"):
            return True
        if name in TENSOR_CLASSES:
            return True if fact.role == "param" and name.endswith("Parameter") else None
        if isinstance(cls, ClassRef):
            bases = ancestry(cls.cls)
            settled = bases.complete or bool(bases.external)
            return False if settled and not TENSOR_CLASSES.intersection(bases.external) else None
        return False if _known(name) else None
    if isinstance(fact, Instance):
        return _instance_verdict(fact, cls, name)
    if isinstance(fact, (Const, Static, ShapeInt, FromTensor)):
        if isinstance(fact, Const) and fact.value is None:
            return name == "types.NoneType"
        if name in _KINDS:
            return fact.kind in _KINDS[name] if fact.kind else None
        return False if _known(name) or isinstance(cls, ClassRef) else None
    if isinstance(fact, Sequence):
        if name in _SEQUENCES:
            return fact.kind in _SEQUENCES[name]
        return False if _known(name) or name in ("builtins.dict",) else None
    if isinstance(fact, Mapping):
        if name in _MAPPINGS:
            return True
        return False if _known(name) else None
    if isinstance(fact, Array):
        return True if name == "numpy.ndarray" else (False if _known(name) else None)
    return None


def _known(name: str) -> bool:
    return (
        name in TENSOR_CLASSES
        or name in _KINDS
        or name in _SEQUENCES
        or name in _MAPPINGS
        or (name.startswith("builtins.") and name != "builtins.object")
        or name in ("numpy.ndarray", "torch.nn.Module", "torch.nn.modules.module.Module")
    )


def _instance_verdict(fact: Instance, cls: Fact, name: str) -> bool | None:
    if name in TENSOR_CLASSES or name in _KINDS or name in _SEQUENCES:
        return False if not isinstance(fact.cls, str) and _other(fact) else None
    if isinstance(fact.cls, str):
        if fact.cls == name:
            return True
        return None
    bases = ancestry(fact.cls)
    if isinstance(cls, ClassRef):
        if cls.cls in bases.classes:
            return True
        return False if bases.complete and not _subclass_possible(cls, fact) else None
    if name in bases.external:
        return True
    return None


def _other(this: Instance) -> bool:
    """Say whether an object of a project class is surely no tensor, number or sequence."""
    bases = ancestry(this.cls)
    outside = {base.partition(".")[0] for base in bases.external}
    settled = bases.complete or bool(outside)
    return this.module or (settled and outside.isdisjoint(("torch", "builtins", "collections")))


def _subclass_possible(cls: ClassRef, fact: Instance) -> bool:
    """A value known as a base class may be of a derived one."""
    return fact.cls in ancestry(cls.cls).classes
