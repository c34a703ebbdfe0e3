"""Expressions: the fact of every kind of expression node."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...rules.base.facts import (
    UNKNOWN,
    Array,
    BoundMethod,
    Const,
    Fact,
    FromTensor,
    Function,
    Instance,
    Mapping,
    Sequence,
    Static,
    Tensor,
    Union,
    Unknown,
    const,
    join,
    join_all,
    options,
)
from . import binding, calls, construction, containers, masks, members, subscripts, tells
from .classes import find_method
from .frame import Env, Frame, join_envs, path_of
from .narrow import refine
from .operators import binary, boolean, compare, unary


def evaluate(frame: Frame, node: ast.expr) -> Fact:
    """Return what an expression is, and record it for the rules."""
    if frame.env is None:
        return UNKNOWN
    handler = _HANDLERS.get(type(node))
    fact = UNKNOWN if handler is None else handler(frame, node)
    facts = frame.facts  # `Frame.record`, written out: most of its calls would be these
    old = facts.setdefault(node, fact)
    if old is not fact:
        facts[node] = join(old, fact)
    return fact


def _constant(frame: Frame, node: ast.Constant) -> Fact:
    return frame.analyzer.constants[node]


def _name(frame: Frame, node: ast.Name) -> Fact:
    env, name = frame.env, node.id
    assert env is not None
    fact = env.get(name)
    if fact is not None and name not in frame.globals:
        return fact
    fact = frame.closure.get(name)
    return frame.analyzer.module_value(frame.module, name) if fact is None else fact


def _attribute(frame: Frame, node: ast.Attribute) -> Fact:
    holder = node.value
    if type(holder) is ast.Call and members.is_super(holder):
        return members.super_attribute(frame, node)
    base = evaluate(frame, holder)
    plain = type(holder) is ast.Name and holder.id not in frame.holders
    if not plain and frame.holders and frame.env is not None:
        path = path_of(node)
        if path is not None and path in frame.env:
            return frame.env[path]
    found = members.attribute_of(frame, node, base)
    if plain and type(base) is Unknown and type(found) is BoundMethod:
        tells.told_by_use(frame, holder, found)  # type: ignore[arg-type]
    elif plain and node.attr in tells.BOTH and type(base) is Unknown:
        tells.told_by_both(frame, holder)  # type: ignore[arg-type]
    return found


def _subscript(frame: Frame, node: ast.Subscript) -> Fact:
    base = evaluate(frame, node.value)
    key = evaluate(frame, node.slice)
    if frame.function is not None and any(isinstance(o, Unknown) for o in options(key)):
        if masks.indexes_as_mask(frame.function, node.slice):
            origin = frame.origin(node.slice, f"`{frame.module.segment(node.slice)}` is a mask")
            key = frame.facts[node.slice] = Tensor(dtype="bool", origin=origin, sure=False)
    choices = options(base)
    if len(choices) == 1:
        return _item(frame, node, base, key)
    choices = [o for o in choices if not (isinstance(o, Const) and o.value is None)]
    return join_all(_item(frame, node, option, key) for option in choices)


def _item(frame: Frame, node: ast.Subscript, base: Fact, key: Fact) -> Fact:
    if isinstance(base, (Tensor, Array)):
        return subscripts.index(frame, node, base, key)
    if isinstance(base, Sequence):
        return containers.sequence_item(base, key)
    if isinstance(base, Mapping):
        return containers.mapping_item(base, key)
    if isinstance(base, Instance):
        if isinstance(base.cls, str):
            sliced = isinstance(key, Sequence) and key.kind == "slice"
            return base if sliced else construction.contained(frame.analyzer, base)
        return calls.call_method_named(frame, node, base, "__getitem__", [key])
    if isinstance(base, (Const, Static)) and base.kind == "str":
        return Static("str")
    if isinstance(base, Static) and not base.kind:
        return Static()
    mask = frame.function is not None and masks.indexes_as_mask(frame.function, node.slice)
    if isinstance(base, Unknown) and (mask or _looks_like_tensor_index(node.slice)):
        origin = frame.origin(node, f"`{frame.module.segment(node)}` is indexed as a tensor is")
        return Tensor(origin=origin, sure=False)
    return UNKNOWN


def _looks_like_tensor_index(index: ast.expr) -> bool:
    """`x[:, 2:]`, `x[..., 0]`: lists and dicts take no such key."""
    return isinstance(index, ast.Tuple) and any(
        isinstance(part, ast.Slice) or (isinstance(part, ast.Constant) and part.value is Ellipsis)
        for part in index.elts
    )


def _slice_node(frame: Frame, node: ast.Slice) -> Fact:
    parts = (node.lower, node.upper, node.step)
    items = tuple(const(None) if part is None else evaluate(frame, part) for part in parts)
    return Sequence("slice", items)


def _bin_op(frame: Frame, node: ast.BinOp) -> Fact:
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    if type(left) is Unknown and type(right) is Unknown:
        return tells.of_slices(frame, node)
    return binary(frame, node, node.op, left, right)


def _unary_op(frame: Frame, node: ast.UnaryOp) -> Fact:
    fact = evaluate(frame, node.operand)
    return (
        join_all(unary(node.op, o) for o in options(fact))
        if not isinstance(node.op, ast.Not)
        else unary(node.op, fact)
    )


def _bool_op(frame: Frame, node: ast.BoolOp) -> Fact:
    """`a and b` gives the first operand that decides; later ones see what that implies."""
    conjunction = isinstance(node.op, ast.And)
    results: list[Fact] = []
    saved = frame.env
    frame.env = dict(saved) if saved is not None else None
    for i, value in enumerate(node.values):
        fact = evaluate(frame, value)
        verdict = boolean(fact)
        last = i == len(node.values) - 1
        if last or verdict is (not conjunction):
            results.append(fact)
            break
        if verdict is None:
            results.append(_deciding(fact, not conjunction))
        refine(frame, value, conjunction)
    after_all = frame.env
    frame.env = saved
    if after_all is not None and saved is not None:
        for name, fact in after_all.items():  # walrus targets
            if name not in saved:
                saved[name] = fact
    return join_all(results)


def _deciding(fact: Fact, truth: bool) -> Fact:
    """The part of a fact that may end a chain of `and` (truth False) or `or` (truth True)."""
    if truth:
        kept = [o for o in options(fact) if boolean(o) is not False]
    else:
        kept = [o for o in options(fact) if boolean(o) is not True]
    return join_all(kept) if kept else fact


def _compare(frame: Frame, node: ast.Compare) -> Fact:
    left = evaluate(frame, node.left)
    return compare(frame, node, left, [evaluate(frame, right) for right in node.comparators])


def _if_exp(frame: Frame, node: ast.IfExp) -> Fact:
    verdict = boolean(evaluate(frame, node.test))
    before = frame.env
    results: list[Fact] = []
    after_arms: list[Env | None] = []
    for arm, positive in ((node.body, True), (node.orelse, False)):
        if verdict is (not positive):
            continue
        frame.env = dict(before) if before is not None else None
        refine(frame, node.test, positive)
        results.append(evaluate(frame, arm))
        after_arms.append(frame.env)
    frame.env = before if before is None else {**(join_envs(after_arms) or {}), **before}
    return join_all(results)


def _named_expr(frame: Frame, node: ast.NamedExpr) -> Fact:
    fact = evaluate(frame, node.value)
    frame.record(node.target, fact)
    if frame.env is not None and isinstance(node.target, ast.Name):
        frame.env[node.target.id] = fact
    return fact


def _tuple(frame: Frame, node: ast.Tuple | ast.List | ast.Set) -> Fact:
    kind = {ast.Tuple: "tuple", ast.List: "list"}.get(type(node), "set")
    items: list[Fact] | None = []
    head: tuple[Fact, ...] = ()
    rest: Fact | None = None
    for elt in node.elts:
        if isinstance(elt, ast.Starred):
            inner = evaluate(frame, elt.value)
            known = inner.items if isinstance(inner, Sequence) else None
            if known is not None and items is not None:
                items.extend(known)
                continue
            each = element_of(frame, inner, elt)
            rest = each if rest is None else join(rest, each)
            if items is not None:
                head, items = tuple(items), None
        else:
            fact = evaluate(frame, elt)
            if items is not None:
                items.append(fact)
            else:
                rest = fact if rest is None else join(rest, fact)
    if items is not None and len(items) <= 64:
        return Sequence(kind, tuple(items))
    if items is not None:
        return Sequence(kind, None, join_all(items))
    # what comes before something of unknown length has its place, and the rest none
    elem = containers.one_of(join_all([*head, rest]))
    return Sequence(kind, None, elem, head if kind == "tuple" else ())


def _dict(frame: Frame, node: ast.Dict) -> Fact:
    items: list[tuple[object, Fact]] = []
    key: Fact = UNKNOWN
    elem: Fact = UNKNOWN
    exact = True
    for name, value in zip(node.keys, node.values):
        fact = evaluate(frame, value)
        if name is None:
            if isinstance(fact, Mapping):
                items.extend(fact.items)
                exact, elem = exact and fact.exact, fact.elem if exact else join(elem, fact.elem)
            else:
                exact = False
            continue
        name_fact = evaluate(frame, name)
        if isinstance(name_fact, Const) and len(items) < 64:
            items = [kv for kv in items if kv[0] != name_fact.value]
            items.append((name_fact.value, fact))
        else:
            elem = fact if exact else join(elem, fact)
            key, exact = (name_fact if exact else join(key, name_fact)), False
    return Mapping("dict", tuple(items), key, elem, exact)


def _comprehension(
    frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> Fact:
    outer = frame.env
    frame.env = dict(outer or {})
    for generator in node.generators:
        iterable = evaluate(frame, generator.iter)
        binding.assign(frame, generator.target, element_of(frame, iterable, generator.iter))
        for condition in generator.ifs:
            evaluate(frame, condition)
            refine(frame, condition, True)
    if isinstance(node, ast.DictComp):
        key = evaluate(frame, node.key)
        result: Fact = Mapping("dict", (), key, evaluate(frame, node.value))
    else:
        kind = {ast.ListComp: "list", ast.SetComp: "set"}.get(type(node), "generator")
        result = Sequence(kind, None, evaluate(frame, node.elt))
    frame.env = outer
    return result


def element_of(frame: Frame, fact: Fact, node: ast.AST) -> Fact:
    """Return what iterating a value yields."""
    if type(fact) is not Union:
        return _element_of(frame, fact, node)
    return join_all(_element_of(frame, option, node) for option in fact.options)


def _element_of(frame: Frame, fact: Fact, node: ast.AST) -> Fact:
    if isinstance(fact, Sequence):
        return fact.element() if fact.items != () else UNKNOWN
    if isinstance(fact, Tensor):
        rank = fact.rank - 1 if fact.rank else None
        origin = frame.origin(node, "a row of it", fact.origin)
        return Tensor(rank, fact.dtype, origin=origin, sure=fact.sure)
    if isinstance(fact, Array):
        if fact.dtype == "object":
            return UNKNOWN  # an element is whatever was put in
        rank = fact.rank - 1 if fact.rank else None
        return Array(rank, fact.dtype, fact.constant, origin=fact.origin, sure=fact.sure)
    if isinstance(fact, Mapping):
        if fact.items:
            return join_all(const(key) for key, _ in fact.items)
        return fact.key
    if isinstance(fact, FromTensor) and fact.kind == "list":
        return FromTensor("", fact.how, origin=fact.origin, sure=fact.sure)
    if isinstance(fact, Instance):
        if isinstance(fact.cls, str):
            return construction.contained(frame.analyzer, fact)
        if find_method(frame.analyzer, fact.cls, "__iter__") is not None:
            made = calls.call_method_named(frame, node, fact, "__iter__")
            return UNKNOWN if made == fact else element_of(frame, made, node)
        return construction.contained(frame.analyzer, fact)
    if isinstance(fact, (Const, Static)) and fact.kind == "str":
        return Static("str")
    return UNKNOWN


def _call(frame: Frame, node: ast.Call) -> Fact:
    return calls.call(frame, node)


def _lambda(frame: Frame, node: ast.Lambda) -> Fact:
    info = frame.analyzer.nested(frame, node)
    fact = Function(info, closure=frame.analyzer.capture(frame, info))
    frame.analyzer.ledger.handed_on[info] = fact
    return fact


def _joined_str(frame: Frame, node: ast.JoinedStr) -> Fact:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            evaluate(frame, part.value)
    return Static("str")


def _yield(frame: Frame, node: ast.Yield) -> Fact:
    frame.yields.append(const(None) if node.value is None else evaluate(frame, node.value))
    return UNKNOWN


def _yield_from(frame: Frame, node: ast.YieldFrom) -> Fact:
    frame.yields.append(element_of(frame, evaluate(frame, node.value), node))
    return UNKNOWN


def _await(frame: Frame, node: ast.Await | ast.Starred) -> Fact:
    return evaluate(frame, node.value)


_HANDLERS: dict[type[ast.expr], Callable] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice_node,
    ast.Call: _call,
    ast.BinOp: _bin_op,
    ast.UnaryOp: _unary_op,
    ast.BoolOp: _bool_op,
    ast.Compare: _compare,
    ast.IfExp: _if_exp,
    ast.NamedExpr: _named_expr,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Set: _tuple,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.JoinedStr: _joined_str,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.Await: _await,
    ast.Starred: _await,
}
