"""Which variables a piece of a function needs, and which of its results are read later.

A backward dataflow over structured statements: what a rewrite must take in and hand out when it
turns statements into a function of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...rules.base.rewriting import Boundary, Names
from ...rules.base.scopes import parameters
from ...rules.base.walking import own_nodes

_NONE: Names = frozenset()
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(eq=False, slots=True)
class Liveness:
    """Live names before and after every statement of a function."""

    before: dict[ast.stmt, Names] = field(default_factory=dict)
    after: dict[ast.stmt, Names] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Targets:
    """Names live where control jumps to."""

    leave: Names = _NONE  # return: what a finally block reads
    stop: Names = _NONE  # break
    again: Names = _NONE  # continue
    fail: Names = _NONE  # an exception: the handlers


def liveness(function: ast.AST) -> Liveness:
    """Analyse a function (FunctionDef or Lambda; a Module works as well).

    Names that nested functions read are live everywhere: they may be called at any time.
    """
    result = Liveness()
    body = getattr(function, "body", [])
    if isinstance(body, list):
        captured = frozenset(_captured(function))
        _block(body, captured, _Targets(captured, fail=captured), result, captured)
    return result


def boundary(function: ast.AST, statements: list[ast.stmt]) -> Boundary:
    """Return what crosses the border of consecutive statements of one block."""
    facts = liveness(function)
    inside: dict[str, bool] = {}  # name -> surely bound
    surely = surely_bound(statements)
    for stmt in statements:
        for name in bound_names(stmt):
            inside[name] = name in surely
    live = facts.after[statements[-1]]
    for stmt in statements:  # what jumps out of the middle is read at the jump's target
        for inner in ast.walk(stmt):
            if isinstance(inner, (ast.Break, ast.Continue)) and inner in facts.after:
                live |= facts.after[inner]
    results = frozenset(name for name in inside if name in live)
    local = Liveness()
    reads = _block(statements, _NONE, _Targets(), local, _NONE)
    partial = frozenset(name for name in results if not inside[name])
    return Boundary(reads, results, partial, any(map(_exits, statements)))


def read_names(node: ast.AST) -> Names:
    """Return the names a node reads in its own scope (comprehension variables left out)."""
    return frozenset(_reads(node))


def _reads(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            yield node.id
        return
    if isinstance(node, _FUNCTIONS):
        yield from _free_names(node)
        return
    if isinstance(node, _COMPREHENSIONS):
        own = {n for g in node.generators for n in bound_in_target(g.target)}
        for child in ast.iter_child_nodes(node):
            yield from (name for name in _reads(child) if name not in own)
        return
    for child in ast.iter_child_nodes(node):
        yield from _reads(child)


def _free_names(node: ast.AST) -> Iterator[str]:
    """Names a nested function, lambda or class reads from outside."""
    bound = set()
    arguments = getattr(node, "args", None)
    if isinstance(arguments, ast.arguments):
        bound |= set(parameters(node))
        for default in (*arguments.defaults, *(d for d in arguments.kw_defaults if d)):
            yield from _reads(default)
    for deco in getattr(node, "decorator_list", []):
        yield from _reads(deco)
    body = getattr(node, "body", [])
    inner = body if isinstance(body, list) else [body]
    if not isinstance(node, ast.ClassDef):
        for stmt in inner:
            bound |= set(bound_names(stmt))
    for stmt in inner:
        yield from (name for name in _reads(stmt) if name not in bound)


def _captured(function: ast.AST) -> Iterator[str]:
    for node in own_nodes(function):
        if isinstance(node, _FUNCTIONS):
            yield from _free_names(node)


def bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that executing a node may bind in its scope."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        return
    elif isinstance(node, ast.Lambda):
        return
    elif isinstance(node, _COMPREHENSIONS):
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                yield from bound_in_target(inner.target)
        return
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif (isinstance(node, ast.ExceptHandler) and node.name) or (
        isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
    ):
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
    for child in ast.iter_child_nodes(node):
        yield from bound_names(child)


def bound_in_target(target: ast.AST) -> Iterator[str]:
    """Yield the names of an assignment target."""
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


# -- the dataflow --------------------------------------------------------------------------------


def _block(
    body: list[ast.stmt], live: Names, to: _Targets, result: Liveness, captured: Names
) -> Names:
    """Return what is live before a block, given what is live after it."""
    for stmt in reversed(body):
        result.after[stmt] = live
        live = _statement(stmt, live, to, result, captured) | captured | to.fail
        result.before[stmt] = live
    return live


def _statement(
    stmt: ast.stmt, live: Names, to: _Targets, result: Liveness, captured: Names
) -> Names:
    def block(body: list[ast.stmt], after: Names, targets: _Targets = to) -> Names:
        return _block(body, after, targets, result, captured)

    if isinstance(stmt, ast.If):
        arms = block(stmt.body, live) | block(stmt.orelse, live)
        return _before(stmt.test, arms)
    if isinstance(stmt, (ast.While, ast.For, ast.AsyncFor)):
        return _loop(stmt, live, to, result, captured)
    if isinstance(stmt, ast.Try) or type(stmt).__name__ == "TryStar":
        return _try(stmt, live, to, result, captured)  # type: ignore[arg-type]
    if isinstance(stmt, (ast.With, ast.AsyncWith)):
        live = block(stmt.body, live)
        for item in reversed(stmt.items):
            if item.optional_vars is not None:
                live = (live - set(bound_in_target(item.optional_vars))) | read_names(
                    item.optional_vars
                )
            live = _before(item.context_expr, live)
        return live
    if isinstance(stmt, ast.Match):
        arms: Names = live
        for case in stmt.cases:
            arm = block(case.body, live)
            if case.guard is not None:
                arm = _before(case.guard, arm)
            arms |= (arm - set(bound_names(case.pattern))) | read_names(case.pattern)
        return _before(stmt.subject, arms)
    if isinstance(stmt, ast.Return):
        return to.leave | (read_names(stmt.value) if stmt.value is not None else _NONE)
    if isinstance(stmt, ast.Raise):
        return to.fail | read_names(stmt)
    if isinstance(stmt, ast.Break):
        result.after[stmt] = to.stop
        return to.stop
    if isinstance(stmt, ast.Continue):
        result.after[stmt] = to.again
        return to.again
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name):
        return live | read_names(stmt.value) | {stmt.target.id}
    return _before(stmt, live)


def _before(node: ast.AST, live: Names) -> Names:
    return (live - set(bound_names(node))) | read_names(node)


def _loop(
    stmt: ast.While | ast.For | ast.AsyncFor,
    live: Names,
    to: _Targets,
    result: Liveness,
    captured: Names,
) -> Names:
    done = _block(stmt.orelse, live, to, result, captured)
    head = done
    while True:
        inner = _Targets(to.leave, stop=live, again=head, fail=to.fail)
        body = _block(stmt.body, head, inner, result, captured)
        if isinstance(stmt, ast.While):
            new = _before(stmt.test, body | done)
        else:
            new = (body - set(bound_in_target(stmt.target))) | done
        if new <= head:
            break
        head |= new
    return head if isinstance(stmt, ast.While) else _before(stmt.iter, head)


def _try(stmt: ast.Try, live: Names, to: _Targets, result: Liveness, captured: Names) -> Names:
    final = live
    if stmt.finalbody:
        passing = live | to.leave | to.stop | to.again | to.fail  # it runs on every way out
        final = _block(stmt.finalbody, passing, to, result, captured)
        to = _Targets(final, final, final, final)
    handlers: Names = to.fail
    for handler in stmt.handlers:
        arm = _block(handler.body, final, to, result, captured)
        if handler.name:
            arm -= {handler.name}
        handlers |= arm | (read_names(handler.type) if handler.type is not None else _NONE)
    after = _block(stmt.orelse, final, to, result, captured)
    inner = _Targets(to.leave, to.stop, to.again, handlers)
    return _block(stmt.body, after, inner, result, captured) | handlers


def surely_bound(statements: Iterable[ast.stmt]) -> Names:
    """Return the names bound on every path that runs through the statements to their end."""
    bound: Names = _NONE
    for stmt in statements:
        bound |= _surely(stmt)
    return bound


def _surely(stmt: ast.stmt) -> Names:
    if isinstance(stmt, ast.If):
        arms = [surely_bound(arm) for arm in (stmt.body, stmt.orelse) if not _ends(arm)]
        both = frozenset.intersection(*arms) if arms else _NONE
        return both | frozenset(bound_names(stmt.test))
    if isinstance(stmt, (ast.While, ast.For, ast.AsyncFor)):
        return frozenset(bound_names(stmt.test)) if isinstance(stmt, ast.While) else _NONE
    if isinstance(stmt, (ast.With, ast.AsyncWith)):
        items = frozenset(n for item in stmt.items for n in bound_names(item))
        return items | surely_bound(stmt.body)
    if isinstance(stmt, ast.Try):
        arms = [surely_bound([*stmt.body, *stmt.orelse])]
        arms += [surely_bound(h.body) for h in stmt.handlers if not _ends(h.body)]
        return frozenset.intersection(*arms) | surely_bound(stmt.finalbody)
    if isinstance(stmt, ast.Match):
        return _NONE
    return frozenset(bound_names(stmt))


def _ends(body: list[ast.stmt]) -> bool:
    """Say whether control never runs off the end of a block."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
        return True
    return isinstance(last, ast.If) and _ends(last.body) and _ends(last.orelse)


def _exits(stmt: ast.stmt) -> bool:
    loops = 0
    return _exits_from(stmt, loops)


def _exits_from(node: ast.AST, loops: int) -> bool:
    if isinstance(node, (ast.Return, ast.Raise)):
        return True
    if isinstance(node, (ast.Break, ast.Continue)):
        return loops == 0
    if isinstance(node, _FUNCTIONS):
        return False
    inside = loops + isinstance(node, (ast.For, ast.While, ast.AsyncFor))
    return any(_exits_from(child, inside) for child in ast.iter_child_nodes(node))
