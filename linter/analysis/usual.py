"""What a test gives in the usual configuration, where the source says what that is.

Code behind `flag and …` runs when a caller or a configuration asks for it. Without either in sight
the usual case is: parameters and attributes have their defaults, modules are in evaluation mode
(or in training, as the settings say), and tensors aren't of half precision.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    UNKNOWN,
    Array,
    ClassRef,
    Const,
    Fact,
    FromTensor,
    Static,
    Tensor,
    const,
    join_all,
    options,
)
from ...rules.base.walking import all_nodes
from ..index import ClassInfo, FunctionInfo
from . import classes, parameters, stores
from .frame import Env, Frame
from .narrow import TENSOR_CLASSES, class_options, is_instance
from .operators import FOLD, boolean

if TYPE_CHECKING:
    from .analyzer import Analyzer

_HALF = frozenset({"float16", "half", "bfloat16"})
_MAX_HOPS = 4


def asks_mode(frame: Frame, test: ast.expr) -> bool:
    """Say whether a test asks for the mode that a module is in."""
    known = frame.analyzer.mode_tests.get(test)
    if known is None:
        names = (node.attr for node in all_nodes(test) if type(node) is ast.Attribute)
        known = frame.analyzer.mode_tests[test] = "training" in names
    return known


def rare(fact: Fact) -> Fact:
    """Mark what depends on tensor data as not the usual case."""
    if isinstance(fact, (Tensor, FromTensor, Array)):
        return replace(fact, rare=True)
    parts = options(fact)
    return join_all(map(rare, parts)) if len(parts) > 1 else fact


def usual_truth(frame: Frame, test: ast.expr, hops: int = 0) -> bool | None:
    """Return what a test gives in the usual configuration; None where nothing says."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = usual_truth(frame, test.operand, hops)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        decides = isinstance(test.op, ast.Or)
        truths = [usual_truth(frame, value, hops) for value in test.values]
        return decides if decides in truths else None if None in truths else not decides
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(frame, test, hops)
    if isinstance(test, ast.Call):
        return _instance_test(frame, test, hops)
    value = _value(frame, test, hops)
    return None if value is None else boolean(value)


def _compared(frame: Frame, test: ast.Compare, hops: int) -> bool | None:
    op, other = test.ops[0], test.comparators[0]
    if isinstance(test.left, ast.Attribute) and test.left.attr == "dtype":
        several = isinstance(other, (ast.Tuple, ast.List, ast.Set))
        named = other.elts if several else [other]  # type: ignore[attr-defined]
        if all(getattr(each, "attr", "") in _HALF for each in named):
            return isinstance(op, (ast.NotEq, ast.NotIn))
        return None
    left, right = _value(frame, test.left, hops), _value(frame, other, hops)
    if not isinstance(left, Const) or not isinstance(right, Const):
        return None
    if isinstance(op, (ast.Is, ast.IsNot)):
        same = left.value is right.value
        return same if isinstance(op, ast.Is) else not same
    compare = FOLD.get(type(op))
    try:
        return None if compare is None else bool(compare(left.value, right.value))
    except TypeError:
        return None


def _instance_test(frame: Frame, test: ast.Call, hops: int) -> bool | None:
    if getattr(test.func, "id", "") != "isinstance" or len(test.args) != 2:
        return None
    value = _value(frame, test.args[0], hops)
    asked = class_options(frame.facts.get(test.args[1], Static()))
    if value is None:
        known = options(frame.facts.get(test.args[0], UNKNOWN))
        if asked and all(getattr(cls, "name", "") in TENSOR_CLASSES for cls in asked):
            # `flag: bool | Tensor`: a flag that may come as a tensor comes as a flag
            flag = any(isinstance(option, Static) and option.kind == "bool" for option in known)
            return False if flag else None
        plain = all(isinstance(option, Tensor) for option in known)
        return False if plain and asked and all(map(_subclass, asked)) else None
    return is_instance(value, asked) if asked else None


def _subclass(asked: Fact) -> bool:
    """Say whether a class is one of the project's own tensors: most tensors are plain ones."""
    return isinstance(asked, ClassRef) and not TENSOR_CLASSES.isdisjoint(
        classes.ancestry(asked.cls).external
    )


def _value(frame: Frame, node: ast.expr, hops: int) -> Fact | None:
    """Return what an expression usually is: a constant, or what a default says."""
    fact = frame.facts.get(node)
    if isinstance(node, ast.Constant) or isinstance(fact, Const):
        return const(node.value) if isinstance(node, ast.Constant) else fact
    if isinstance(node, ast.Attribute):
        if node.attr == "training":
            return const(frame.analyzer.project.options.training)
        if node.attr == "requires_grad":
            return const(False) if _comes_in(frame.facts.get(node.value)) else None
        own = parameters.first_name(frame.function) if frame.function is not None else ""
        cls = getattr(frame.parameters.get(own), "cls", None)
        if isinstance(cls, ClassInfo) and getattr(node.value, "id", "") == own:
            return _initial(frame.analyzer, cls, node.attr)
        return None
    if not isinstance(node, ast.Name) or frame.function is None:
        return None
    function = frame.function
    stored = [n for n in function.nodes if type(n) is ast.Name and n.id == node.id and _bound(n)]
    if node.id in function.signature.defaults and not stored:
        return _default(frame.analyzer, function, node.id, frame.parameters)
    if len(stored) == 1 and hops < _MAX_HOPS:
        made = function.parents.get(stored[0])
        if isinstance(made, ast.Assign) and made.targets == stored:
            truth = usual_truth(frame, made.value, hops + 1)
            return None if truth is None else const(truth)
    return None


def _comes_in(fact: Fact | None) -> bool:
    """Say whether a value is an input of the region, or unknown: those ask for no gradient."""
    known = () if fact is None else options(fact)
    return all(not isinstance(o, Tensor) or o.role == "input" for o in known)


def _bound(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _default(analyzer: Analyzer, function: FunctionInfo, name: str, given: Env) -> Fact | None:
    """Return the default of a parameter, unless that is None where a tensor may be given."""
    default = analyzer.static_value(function.module, function.signature.defaults[name])
    optional = isinstance(default, Const) and default.value is None
    fact = given.get(name, UNKNOWN)
    if optional and any(isinstance(o, Tensor) and o.sure for o in options(fact)):
        return None
    return default


def _initial(analyzer: Analyzer, cls: ClassInfo, name: str) -> Fact | None:
    """Return what the constructor makes of an attribute when it is called with its defaults.

    An attribute that other methods assign is state, not configuration.
    """
    owners = classes.resolve_ancestry(analyzer, cls).classes
    if any(name in stores.state(owner) for owner in owners):
        return None
    for owner in owners:
        made = owner.methods.get("__init__")
        if made is None:
            continue
        values = [
            node.value
            for node in made.nodes
            if isinstance(node, ast.Assign)
            and any(
                isinstance(t, ast.Attribute)
                and t.attr == name
                and getattr(t.value, "id", "") == parameters.first_name(made)
                for t in node.targets
            )
        ]
        if len(values) == 1:
            value = values[0]
            if isinstance(value, ast.Name) and value.id in made.signature.defaults:
                return _default(analyzer, made, value.id, parameters.guess(analyzer, made))
            return const(value.value) if isinstance(value, ast.Constant) else None
        if values:
            return None
    return None


__all__ = ["asks_mode", "rare", "usual_truth"]
