"""Torch functions that call, or wrap, the functions they are given."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from ...rules.base.facts import (
    UNKNOWN,
    ClassRef,
    Const,
    Fact,
    Function,
    Instance,
    Sequence,
    ShapeInt,
    Tensor,
    Unknown,
    join,
    options,
)
from ...rules.base.hops import COMPILED, operator_of
from . import calls
from .frame import Frame

if TYPE_CHECKING:
    from .calls import Arguments

# The wrapped callable acts as the one that is passed in, as far as facts go.
_WRAPPERS = frozenset(
    {
        "torch.compile",
        "torch.vmap",
        "torch.func.vmap",
        "torch.func.functionalize",
        "torch.jit.script",
        "torch.jit.script_if_tracing",
        "torch.jit.trace",
        "torch.no_grad",
        "torch.compiler.allow_in_graph",
    }
)
_CHECKPOINT = frozenset(
    {"torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential"}
)
# TorchScript: Dynamo traces the Python source of a scripted function, and no scripted module.
_SCRIPTED = frozenset({"torch.jit.script", "torch.jit.trace"})
_SCRIPT_FILES = frozenset({"torch.jit.load", "torch.jit.freeze"})
_TREE_MAP = "torch.utils._pytree.tree_map"
_CALLABLE = (Function, ClassRef, Instance)


def apply(frame: Frame, node: ast.Call, function: Fact, args: list[Fact]) -> Fact:
    """Return what the callee of `node` gets when it calls `function` with these arguments."""
    return _run(frame, node, function, args, {})


def concerns(name: str) -> bool:
    """Say whether `higher_order` may have something to say about calls of that name."""
    known = name in _WRAPPERS or name in _CHECKPOINT or name in _SCRIPT_FILES
    return known or name == _TREE_MAP or operator_of(name) != ""


def higher_order(frame: Frame, node: ast.Call, name: str, given: Arguments) -> Fact | None:
    """Return the result of a higher-order torch function; None when `name` isn't one."""
    args = [*given.args]
    if name in _WRAPPERS:
        wrapped = args[0] if args else UNKNOWN
        if not any(isinstance(o, _CALLABLE) for o in options(wrapped)):
            return None
        if name in _SCRIPTED and isinstance(wrapped, Instance) and wrapped.module:
            return _scripted(frame, node)
        if name != "torch.compile":
            return wrapped
        text = f"{COMPILED} `{frame.module.segment(node)}`"
        return replace(wrapped, origin=frame.origin(node, text, wrapped.origin))
    if name in _CHECKPOINT and args:
        extra = {k: v for k, v in given.kwargs.items() if k not in _CHECKPOINT_OPTIONS}
        return _run(frame, node, args[0], args[1:], extra)
    if name in _SCRIPT_FILES:
        return _scripted(frame, node)
    operator = operator_of(name)
    if operator == "cond":
        return _cond(frame, node, args, given.kwargs)
    if operator == "while_loop":
        return _while(frame, node, args, given.kwargs)
    if operator == "scan":
        return _scan(frame, node, args, given.kwargs)
    if (operator == "map" or name == _TREE_MAP) and len(args) >= 2:
        inner = args[1].element() if isinstance(args[1], Sequence) else args[1]
        return Sequence("list", None, _run(frame, node, args[0], [inner, *args[2:]], {}))
    return None


def _scripted(frame: Frame, node: ast.Call) -> Instance:
    origin = frame.origin(node, f"`{frame.module.segment(node)}`")
    return Instance("torch.jit.ScriptModule", module=True, origin=origin)


_CHECKPOINT_OPTIONS = frozenset(
    {"use_reentrant", "context_fn", "determinism_check", "debug", "preserve_rng_state"}
)


def _run(
    frame: Frame, node: ast.AST, function: Fact, args: list[Fact], kwargs: dict[str, Fact]
) -> Fact:
    result: Fact | None = None
    for option in options(function):
        if isinstance(option, _CALLABLE):
            made = calls.call_function(frame, node, option, args, kwargs)
            result = made if result is None else join(result, made)
    return UNKNOWN if result is None else result


def _operands(fact: Fact) -> list[Fact]:
    """The facts of a tuple of operands; what isn't known is a tensor, as nothing else is taken."""
    if isinstance(fact, Sequence):
        found = list(fact.items) if fact.items is not None else [fact.elem]
    else:
        found = [fact]
    return [Tensor(sure=False) if isinstance(f, Unknown) else f for f in found]


def _cond(frame: Frame, node: ast.AST, args: list[Fact], kwargs: dict[str, Fact]) -> Fact:
    names = ("pred", "true_fn", "false_fn", "operands")
    named = dict(zip(names, args)) | kwargs
    operands = _operands(named.get("operands", Sequence("tuple", ())))
    given = [named[arm] for arm in ("true_fn", "false_fn") if arm in named]
    arms = [_run(frame, node, arm, operands, {}) for arm in given]
    return join(arms[0], arms[1]) if len(arms) == 2 else UNKNOWN


def _while(frame: Frame, node: ast.AST, args: list[Fact], kwargs: dict[str, Fact]) -> Fact:
    names = ("cond_fn", "body_fn", "carried_inputs")
    named = dict(zip(names, args)) | kwargs
    carried = [_symbolic(f) for f in _operands(named.get("carried_inputs", Sequence("tuple", ())))]
    for part in ("cond_fn", "body_fn"):
        if part in named:
            _run(frame, node, named[part], carried, {})
    return Sequence("tuple", tuple(carried))


def _symbolic(fact: Fact) -> Fact:
    """A number carried around a loop changes: inside it is a symbol."""
    return ShapeInt(fact.kind) if isinstance(fact, Const) and fact.kind == "int" else fact


def _scan(frame: Frame, node: ast.AST, args: list[Fact], kwargs: dict[str, Fact]) -> Fact:
    """`scan(step, init, xs)`: the step sees the carry and a row, and returns carry and output."""
    named = dict(zip(("combine_fn", "init", "xs"), args)) | kwargs
    init = _operands(named.get("init", UNKNOWN))[0]
    made = _run(frame, node, named.get("combine_fn", UNKNOWN), [init, _row(named.get("xs"))], {})
    if isinstance(made, Sequence) and made.items is not None and len(made.items) == 2:
        return Sequence("tuple", (join(init, made.items[0]), _stacked(made.items[1])))
    return Sequence("tuple", (init, UNKNOWN))


def _row(fact: Fact | None) -> Fact:
    if isinstance(fact, Tensor):
        return replace(fact, rank=fact.rank - 1 if fact.rank else None)
    if isinstance(fact, Sequence) and fact.items is not None:
        return replace(fact, items=tuple(_row(item) for item in fact.items))
    return Tensor(sure=False)


def _stacked(fact: Fact) -> Fact:
    if isinstance(fact, Tensor):
        return replace(fact, rank=None if fact.rank is None else fact.rank + 1, single=False)
    if isinstance(fact, Sequence) and fact.items is not None:
        return replace(fact, items=tuple(_stacked(item) for item in fact.items))
    return fact
