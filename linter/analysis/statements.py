"""Statements: how control flows, and what each path leaves in the environment."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...rules.base.facts import (
    NONE,
    UNKNOWN,
    Const,
    Fact,
    Function,
    Instance,
    Sequence,
    Static,
    Unknown,
    join_all,
)
from . import imports, stores, usual
from .binding import assign, ranked
from .calls import CONSTANT_CALLS, call_method_named
from .expressions import element_of, evaluate
from .frame import Env, Frame, Loop, join_envs, path_of
from .narrow import refine
from .operators import binary, boolean

MAX_PASSES = 4  # the lattice is shallow: loops settle in two or three


def execute(frame: Frame, body: list[ast.stmt]) -> None:
    """Run statements in order; stops where the code can't be reached."""
    for stmt in body:
        if frame.env is None:
            return
        frame.visited.add(stmt)
        _HANDLERS.get(type(stmt), _ignore)(frame, stmt)


def _ignore(frame: Frame, stmt: ast.stmt) -> None:
    for child in ast.iter_child_nodes(stmt):
        if isinstance(child, ast.expr):
            evaluate(frame, child)


def _expr(frame: Frame, stmt: ast.Expr) -> None:
    if not frame.stored_only or _may_change(frame, stmt.value):
        evaluate(frame, stmt.value)


def _may_change(frame: Frame, value: ast.expr) -> bool:
    """Say whether an expression statement can change what a variable or an attribute is.

    Methods of local objects can, `self` among them. Functions that are only called can't, nor can
    `super().__init__()`: what bases store is learnt from them.
    """
    if type(value) is not ast.Call:
        return type(value) is not ast.Constant
    holder = value.func
    while type(holder) is ast.Attribute:
        holder = holder.value
    if type(holder) is not ast.Name or holder is value.func:
        return False
    base = (frame.env or {}).get(holder.id)
    if isinstance(base, Instance) and value.func.value is holder:  # type: ignore[attr-defined]
        own = not isinstance(base.cls, str)
        return own and stores.may_store(frame.analyzer, base.cls, value.func.attr)  # type: ignore[attr-defined]
    return base is not None


def _assign(frame: Frame, stmt: ast.Assign) -> None:
    value = evaluate(frame, stmt.value)
    for target in stmt.targets:
        ranked(frame, target, stmt.value)
        assign(frame, target, value)


def _ann_assign(frame: Frame, stmt: ast.AnnAssign) -> None:
    if stmt.value is None:
        return
    value = evaluate(frame, stmt.value)
    declared = frame.analyzer.annotation(frame.module, stmt.annotation)
    if isinstance(value, Unknown):
        value = declared
    assign(frame, stmt.target, value)


def _aug_assign(frame: Frame, stmt: ast.AugAssign) -> None:
    old = evaluate(frame, stmt.target)
    value = binary(frame, stmt, stmt.op, old, evaluate(frame, stmt.value))
    if isinstance(stmt.target, ast.Subscript):
        evaluate(frame, stmt.target.value)
        return
    assign(frame, stmt.target, value)


def _if(frame: Frame, stmt: ast.If) -> None:
    fact = evaluate(frame, stmt.test)
    verdict = boolean(fact)
    before = frame.env
    after: list[Env | None] = []
    for arm, positive in ((stmt.body, True), (stmt.orelse, False)):
        if verdict is (not positive):
            continue
        frame.env = dict(before) if before is not None else None
        refine(frame, stmt.test, positive)
        execute(frame, arm)
        after.append(frame.env)
    if len(after) == 2:
        _mark_rare(frame, stmt.test, *after)
    frame.env = join_envs(after)


def _mark_rare(frame: Frame, test: ast.expr, held: Env | None, failed: Env | None) -> None:
    """Mark tensors that stand where the usual mode of a module leaves a plain value.

    `skip = False`, then `if self.training: skip = torch.rand([]) < p`.
    """
    if held is None or failed is None or not usual.asks_mode(frame, test):
        return
    if (truth := usual.usual_truth(frame, test)) is None:
        return
    common, odd = (held, failed) if truth else (failed, held)
    for name, fact in odd.items():
        other = common.get(name)
        if other is not fact and isinstance(other, (Const, Static)) and other != NONE:
            odd[name] = usual.rare(fact)


def _for(frame: Frame, stmt: ast.For | ast.AsyncFor) -> None:
    iterable = evaluate(frame, stmt.iter)
    element = element_of(frame, iterable, stmt.iter)

    def once() -> None:
        assign(frame, stmt.target, element)
        execute(frame, stmt.body)

    empty = isinstance(iterable, Sequence) and iterable.items == () and iterable.kind == "tuple"
    _loop(frame, once, stmt.orelse, skip=empty)


def _while(frame: Frame, stmt: ast.While) -> None:
    endless = False

    def once() -> None:
        nonlocal endless
        verdict = boolean(evaluate(frame, stmt.test))
        endless = verdict is True
        if verdict is False:
            frame.env = None
            return
        refine(frame, stmt.test, True)
        execute(frame, stmt.body)

    _loop(frame, once, stmt.orelse, exits=lambda: not endless)


def _loop(
    frame: Frame,
    once: Callable[[], None],
    orelse: list[ast.stmt],
    *,
    skip: bool = False,
    exits: Callable[[], bool] = lambda: True,
) -> None:
    """Run a loop body until the environment at its head stops changing."""
    head = frame.env
    breaks: list[Env] = []
    for _ in range(0 if skip else MAX_PASSES):
        assert head is not None
        loop = Loop()
        frame.loops.append(loop)
        frame.env = dict(head)
        once()
        frame.loops.pop()
        breaks = loop.breaks
        merged = join_envs([head, frame.env, *loop.continues])
        assert merged is not None
        if merged == head:
            break
        head = _widen(head, merged)
    frame.env = dict(head) if head is not None and exits() else None
    if orelse and frame.env is not None:
        execute(frame, orelse)
    frame.env = join_envs([frame.env, *breaks])


def _widen(old: Env, new: Env) -> Env:
    """Constants that change in a loop, and sequences that grow, go to their widest at once."""
    result = dict(new)
    for name, fact in new.items():
        before = old.get(name)
        if before == fact or before is None:
            continue
        if isinstance(fact, Const) and fact.value is not None:
            result[name] = Static(fact.kind, origin=fact.origin)
        elif isinstance(fact, Sequence) and fact.items is not None and fact.kind != "tuple":
            result[name] = Sequence(fact.kind, None, fact.element(), origin=fact.origin)
    return result


def _break(frame: Frame, stmt: ast.Break) -> None:
    if frame.loops and frame.env is not None:
        frame.loops[-1].breaks.append(frame.env)
    frame.env = None


def _continue(frame: Frame, stmt: ast.Continue) -> None:
    if frame.loops and frame.env is not None:
        frame.loops[-1].continues.append(frame.env)
    frame.env = None


def _return(frame: Frame, stmt: ast.Return) -> None:
    frame.returns.append(NONE if stmt.value is None else evaluate(frame, stmt.value))
    frame.env = None


def _raise(frame: Frame, stmt: ast.Raise) -> None:
    _ignore(frame, stmt)
    if frame.env is not None:
        frame.raised.append(frame.env)
    frame.env = None


def _assert(frame: Frame, stmt: ast.Assert) -> None:
    fact = evaluate(frame, stmt.test)
    if stmt.msg is not None:
        saved = dict(frame.env) if frame.env is not None else None
        evaluate(frame, stmt.msg)
        frame.env = saved
    if boolean(fact) is False:
        frame.env = None
        return
    refine(frame, stmt.test, True)


def _try(frame: Frame, stmt: ast.Try) -> None:
    before = dict(frame.env or {})
    outer, frame.raised = frame.raised, []
    execute(frame, stmt.body)
    failed = join_envs([before, frame.env, *frame.raised])
    frame.raised = outer
    if frame.env is not None:
        execute(frame, stmt.orelse)
    after = [frame.env]
    for handler in () if _cannot_fail(frame, stmt.body) else stmt.handlers:
        frame.env = dict(failed or {})
        frame.visited.add(handler)
        if handler.type is not None:
            evaluate(frame, handler.type)
        if handler.name:
            frame.env[handler.name] = Instance("builtins.Exception")
        execute(frame, handler.body)
        after.append(frame.env)
    frame.env = join_envs(after)
    if stmt.finalbody:
        ended = frame.env is None
        frame.env = dict(failed or {}) if ended else frame.env
        execute(frame, stmt.finalbody)
        if ended:
            frame.env = None


def _cannot_fail(frame: Frame, body: list[ast.stmt]) -> bool:
    """Say whether a body only asks torch if it is compiling: its handlers are for other times."""
    for stmt in body:
        if isinstance(stmt, (ast.Import, ast.ImportFrom)):
            names = [getattr(stmt, "module", None) or alias.name for alias in stmt.names]
            if all(name.partition(".")[0] == "torch" for name in names):
                continue
        elif isinstance(stmt, ast.Return) and isinstance(stmt.value, ast.Call):
            callee = frame.callees.get(stmt.value)
            if callee is not None and callee.name in CONSTANT_CALLS:
                continue
        return False
    return True


def _with(frame: Frame, stmt: ast.With | ast.AsyncWith) -> None:
    for item in stmt.items:
        manager = evaluate(frame, item.context_expr)
        entered: Fact = UNKNOWN
        if isinstance(manager, Instance) and not isinstance(manager.cls, str):
            entered = call_method_named(frame, item.context_expr, manager, "__enter__")
        elif isinstance(manager, Sequence) and manager.kind == "generator":
            entered = manager.elem
        elif isinstance(manager, Instance) and manager.cls == "contextlib.ExitStack":
            entered = manager
        if item.optional_vars is not None:
            assign(frame, item.optional_vars, entered)
    execute(frame, stmt.body)


def _match(frame: Frame, stmt: ast.Match) -> None:
    subject = evaluate(frame, stmt.subject)
    before = frame.env
    after: list[Env | None] = []
    irrefutable = False
    for case in stmt.cases:
        frame.env = dict(before) if before is not None else None
        frame.visited.add(case)
        for node in ast.walk(case.pattern):
            if isinstance(node, ast.MatchValue):
                evaluate(frame, node.value)
            elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name and frame.env:
                whole = node is case.pattern and isinstance(node, ast.MatchAs)
                frame.env[node.name] = subject if whole else UNKNOWN
        if case.guard is not None:
            evaluate(frame, case.guard)
        execute(frame, case.body)
        after.append(frame.env)
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
            irrefutable = irrefutable or case.guard is None
    frame.env = join_envs(after if irrefutable else [*after, before])


def _function(frame: Frame, stmt: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    for deco in stmt.decorator_list:
        evaluate(frame, deco)
    for default in [*stmt.args.defaults, *(d for d in stmt.args.kw_defaults if d)]:
        evaluate(frame, default)
    if frame.function is None:
        return  # a global: looked up in the module's index, with no closure
    info = frame.analyzer.nested(frame, stmt)
    fact = Function(info, closure=frame.analyzer.capture(frame, info))
    frame.analyzer.ledger.handed_on[info] = fact
    if frame.env is not None:
        frame.env[stmt.name] = fact


def _class(frame: Frame, stmt: ast.ClassDef) -> None:
    for base in stmt.bases:
        evaluate(frame, base)
    if frame.env is not None and frame.function is not None:
        frame.env[stmt.name] = UNKNOWN


def _import(frame: Frame, stmt: ast.Import | ast.ImportFrom) -> None:
    for name, fact in imports.imported(frame.analyzer, frame.module, stmt):
        if frame.env is not None:
            frame.env[name] = fact


def _delete(frame: Frame, stmt: ast.Delete) -> None:
    for target in stmt.targets:
        if isinstance(target, ast.Subscript):
            evaluate(frame, target.value)
        path = path_of(target)
        if path is not None and frame.env is not None:
            frame.env.pop(path, None)


def _scope(frame: Frame, stmt: ast.Global | ast.Nonlocal) -> None:
    frame.globals.update(stmt.names)


_HANDLERS: dict[type[ast.stmt], Callable] = {
    ast.Expr: _expr,
    ast.Assign: _assign,
    ast.AnnAssign: _ann_assign,
    ast.AugAssign: _aug_assign,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Try: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Match: _match,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Delete: _delete,
    ast.Global: _scope,
    ast.Nonlocal: _scope,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = _try  # type: ignore[attr-defined]  # since 3.11


def run_body(frame: Frame, node: ast.AST) -> Fact:
    """Analyse a whole function body; return the join of what it returns."""
    if isinstance(node, ast.Lambda):
        return evaluate(frame, node.body)
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module))
    execute(frame, node.body)
    if isinstance(node, ast.Module):
        return UNKNOWN
    results = list(frame.returns)
    if frame.env is not None:
        results.append(NONE)
    return join_all(results)
