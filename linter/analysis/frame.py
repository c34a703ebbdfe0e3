"""One function under analysis: its environment, and what was learnt about its nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...rules.base.context import Callee, RegionOptions
from ...rules.base.facts import (
    UNKNOWN,
    BoundMethod,
    Const,
    Fact,
    Function,
    Instance,
    Mapping,
    Origin,
    Sequence,
    Static,
    Tensor,
    Union,
    join,
    join_all,
    options,
)
from ..index import FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from .analyzer import Analyzer
    from .summary import Summary

MAX_FIELDS = 4
NO_OPTIONS = RegionOptions()
Env = dict[str, Fact]


@dataclass(eq=False, slots=True)
class Loop:
    """Environments that leave a loop body by `break` or `continue`."""

    breaks: list[Env] = field(default_factory=list)
    continues: list[Env] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Frame:
    """The state of analysing one function with one set of argument facts.

    `env` maps names, and dotted paths such as "self.cache" that were stored to or narrowed, to
    facts; it is None where the code can't be reached. `facts` and `callees` gather what each
    expression may be over all visits. `parameters` is what `env` was at the start.
    """

    analyzer: Analyzer
    module: ModuleInfo
    function: FunctionInfo | None
    env: Env | None
    closure: Env = field(default_factory=dict)
    depth: int = 0
    entry: bool = False
    options: RegionOptions = NO_OPTIONS
    facts: dict[ast.AST, Fact] = field(default_factory=dict)
    callees: dict[ast.Call, Callee] = field(default_factory=dict)
    visited: set[ast.AST] = field(default_factory=set)
    returns: list[Fact] = field(default_factory=list)
    yields: list[Fact] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    stores: dict[str, Fact] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    raised: list[Env] = field(default_factory=list)
    children: list[Summary] = field(default_factory=list)
    parameters: Env = field(default_factory=dict)
    holders: set[str] = field(default_factory=set)  # "self" where "self.cache" was put into env
    stored_only: bool = False  # no rule sees it: what changes nothing that is stored is left out

    @property
    def path(self) -> str:
        """The path of the file the function is in."""
        return self.module.path

    def put(self, path: str, fact: Fact) -> None:
        """Say what a name or dotted path is now; what is known below it stays."""
        assert self.env is not None
        self.env[path] = fact
        if "." not in path:
            return
        holder = path
        while "." in holder:
            holder = holder.rpartition(".")[0]
            self.holders.add(holder)

    def assign(self, path: str, fact: Fact) -> None:
        """Bind a name or dotted path, forgetting what was known below it."""
        env = self.env
        assert env is not None
        if path in self.holders:
            below = path + "."
            for name in [n for n in env if n.startswith(below)]:
                del env[name]
        self.put(path, fact)

    def record(self, node: ast.expr, fact: Fact) -> Fact:
        """Remember what an expression is here, joined with what it was on other visits."""
        old = self.facts.setdefault(node, fact)
        if old is not fact:
            self.facts[node] = join(old, fact)
        return fact

    def origin(self, node: ast.AST, message: str, parent: Origin | None = None) -> Origin:
        """Return an origin at a node of this function."""
        line = getattr(node, "lineno", 1)
        column = getattr(node, "col_offset", 0) + 1
        return Origin(self.path, line, column, message, parent)


def join_envs(envs: Iterable[Env | None]) -> Env | None:
    """Join environments of paths that meet; None when none of them is reached.

    A name bound on some paths only keeps its fact (using it unbound would raise), while a dotted
    path known on some paths only is forgotten: there the object's own attributes speak.
    """
    reached = [env for env in envs if env is not None]
    if len(reached) < 2:
        return reached[0] if reached else None
    result = dict(reached[0])
    for env in reached[1:]:
        if env is reached[0]:
            continue
        for name in result.keys() - env.keys():
            if "." in name:
                del result[name]
        for name, fact in env.items():
            old = result.get(name)
            if old is None:
                if "." not in name:
                    result[name] = fact
            elif old is not fact:
                result[name] = join(old, fact)
    return result


def path_of(node: ast.AST) -> str | None:
    """Return "a.b.c" for a name or a chain of attributes on a name, else None."""
    tail = ""
    while type(node) is ast.Attribute:
        tail = f".{node.attr}{tail}"
        node = node.value
    return node.id + tail if type(node) is ast.Name else None


__all__ = ["UNKNOWN", "Env", "Frame", "Loop", "join_envs", "path_of"]


def resumable(fact: Fact) -> bool:
    """Say whether `resumed` may change a fact."""
    if isinstance(fact, Tensor):
        return fact.role == ""
    if isinstance(fact, Sequence):
        return resumable(fact.elem) or any(map(resumable, fact.items or ()))
    return isinstance(fact, Union) and any(map(resumable, fact.options))


def resumed(fact: Fact) -> Fact:
    """Return what a call gives after which Dynamo starts a new graph: tensors are inputs of it."""
    if isinstance(fact, Tensor) and fact.role == "":
        return replace(fact, role="resumed")
    if isinstance(fact, Sequence):
        items = None if fact.items is None else tuple(map(resumed, fact.items))
        return replace(fact, items=items, elem=resumed(fact.elem))
    parts = options(fact)
    return join_all(map(resumed, parts)) if len(parts) > 1 else fact


def storyless(fact: Fact) -> bool:
    """Say whether nothing in a fact tells where it comes from: equal ones are the same then."""
    if fact.origin is not None or fact.rare:
        return False
    if isinstance(fact, Sequence):
        return all(map(storyless, (fact.elem, *(fact.items or ()), *fact.head)))
    if isinstance(fact, Mapping):
        return all(map(storyless, (fact.key, fact.elem, *[item for _, item in fact.items])))
    if isinstance(fact, Instance):
        return all(storyless(item) for _, item in fact.attrs)
    if isinstance(fact, Union):
        return all(map(storyless, fact.options))
    if isinstance(fact, Function):
        held = (*fact.partial, *[item for _, item in fact.closure])
        return (fact.bound is None or storyless(fact.bound)) and all(map(storyless, held))
    return not isinstance(fact, BoundMethod) or storyless(fact.receiver)


def widen(fact: Fact) -> Fact:
    """Forget constants and lengths, so that many signatures become few."""
    if isinstance(fact, Const) and fact.value is not None:
        return Static(fact.kind)
    if isinstance(fact, Sequence) and fact.items is not None:
        if len(fact.items) <= MAX_FIELDS:  # a pair, not a collection
            return Sequence(fact.kind, tuple(map(widen, fact.items)), origin=fact.origin)
        return Sequence(fact.kind, None, widen(fact.element()), origin=fact.origin)
    if isinstance(fact, Tensor):
        return Tensor(None, fact.dtype, False, fact.ragged, origin=fact.origin, sure=fact.sure)
    parts = options(fact)
    return join_all(widen(option) for option in parts) if len(parts) > 1 else fact
