"""Loops over the entries that data selects → loops over all entries there are.

`for e in busy.nonzero()`, where `e` picks one of `self.experts`, becomes a loop over
`range(len(self.experts))`: an entry that nothing selects adds nothing. Where a round gathers the
rows of an expert by `slot, tok = torch.where(mask)`, weighs them and adds them up, it runs on all
rows with a weight of zero for the others: more arithmetic, no data-dependent shape.

Declined: entries whose number the code doesn't know, and loops that use the entry for more than
picking and comparing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base.context import Context
from ..base.facts import Instance, Sequence, options
from ..base.finding import Edit, Fix
from ..base.reading import tensor_of
from ..base.rewriting import Code, Declined
from .gathered import Gathered, gathered
from .layout import flat, receiver
from .selected import tested

_HOLDERS = ("torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ParameterList")
_TITLE = "loop over every entry: one that nothing selects adds nothing"


def entry_fixes(loop: ast.For, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the rewrites of a loop over what data selects. Raises Declined."""
    if not isinstance(loop.target, ast.Name) or loop.orelse:
        raise Declined("the loop's target isn't a name")
    count = _count(loop.target.id, loop, ctx, code)
    if count is None:
        yield tested(loop, loop.target.id, ctx, code)
        return
    dense = gathered(loop, ctx, code)
    if dense is not None:
        yield _fix(loop, count, dense, ctx, code.anew())
    yield _fix(loop, count, None, ctx, code)


def _fix(loop: ast.For, count: str, dense: Gathered | None, ctx: Context, code: Code) -> Fix:
    assert isinstance(loop.target, ast.Name)
    name = loop.target.id
    indent = code.indent(loop)
    changes = _picks(loop, name, ctx, code)
    lines = [f"{indent}for {name} in range({count}):"]
    inner = indent + code.step
    if dense is None:
        lines += code.block(loop.body, inner, changes)
    else:
        lines += dense.lines(inner, changes, code)
    return code.fix(_TITLE, [code.lines(loop, lines), *_unused(loop, ctx, code)])


def _count(name: str, loop: ast.For, ctx: Context, code: Code) -> str | None:
    """Return how many entries there are, as source; None where the code doesn't say."""
    for node in _inside(loop):
        if isinstance(node, ast.Subscript) and _is_entry(node.slice, name):
            for option in options(ctx.fact(node.value)):
                holder = isinstance(option, Instance) and option.cls in _HOLDERS
                if holder or isinstance(option, Sequence):
                    return f"len({flat(code.text(node.value))})"
    wanted = _sources(loop, ctx)
    for node in ast.walk(ctx.function):
        if isinstance(node, ast.Call) and ctx.callee(node).name == "torch.nn.functional.one_hot":
            target = _assigned_to(node, ctx)
            classes = ctx.argument(node, 1, "num_classes")
            if target in wanted and classes is not None:
                return flat(code.text(classes))
    return None


def _sources(loop: ast.For, ctx: Context) -> set[str]:
    """Return the names that what is looped over was computed from."""
    found = {n.id for n in ast.walk(loop.iter) if isinstance(n, ast.Name)}
    before = [n for n in ast.walk(ctx.function) if isinstance(n, ast.Assign)]
    for made in sorted(before, key=lambda node: -node.lineno):
        if made.lineno < loop.lineno and _targets(made) & found:
            found |= {n.id for n in ast.walk(made.value) if isinstance(n, ast.Name)}
    return found


def _targets(made: ast.Assign) -> set[str]:
    return {n.id for t in made.targets for n in ast.walk(t) if isinstance(n, ast.Name)}


def _assigned_to(node: ast.AST, ctx: Context) -> str:
    stmt = ctx.statement(node)
    if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Name):
        return stmt.targets[0].id
    return ""


def _inside(loop: ast.For) -> Iterator[ast.AST]:
    for stmt in loop.body:
        yield from ast.walk(stmt)


def _is_entry(node: ast.AST, name: str) -> bool:
    """Say whether an expression is the entry as a number: `e`, `int(e)`, `e.item()`."""
    if isinstance(node, ast.Name):
        return node.id == name
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "item":
            return _is_entry(node.func.value, name)
        if isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1:
            return _is_entry(node.args[0], name)
    return False


def _picks(loop: ast.For, name: str, ctx: Context, code: Code) -> dict[ast.AST, str]:
    """Return the changes where a round uses the entry, which is a number now.

    Rows of `nonzero` have one element: `x[row]` keeps a dimension that `x[e]` doesn't.
    """
    changes: dict[ast.AST, str] = {}
    for node in _inside(loop):
        if isinstance(node, ast.Call) and _is_entry(node, name):
            if not any(ctx.parent(node) is other for other in changes):
                changes[node] = name
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            raise Declined(f"`{name}` is bound anew in the loop")
    for node in _inside(loop):
        if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name)):
            continue
        if node.slice.id != name or tensor_of(ctx.fact(node.value)) is None:
            continue
        entry = tensor_of(ctx.fact(node.slice))
        if entry is None or entry.rank == 0:
            continue
        base = receiver(flat(code.text(node.value)))
        outer = ctx.parent(node)
        call = ctx.parent(outer) if isinstance(outer, ast.Attribute) else None
        if isinstance(call, ast.Call) and outer.attr == "squeeze" and _zero(call, ctx):  # type: ignore[union-attr]
            changes[call] = f"{base}[{name}]"
        else:
            changes[node] = f"{base}[{name} : {name} + 1]"
    return changes


def _zero(call: ast.Call, ctx: Context) -> bool:
    dim = ctx.argument(call, 0, "dim")
    return dim is not None and ast.unparse(dim) == "0"


def _unused(loop: ast.For, ctx: Context, code: Code) -> list[Edit]:
    """Return the edit that removes the selection, where nothing else reads it."""
    if not isinstance(loop.iter, ast.Name) or len(code.uses(loop.iter.id)) != 1:
        return []
    name = loop.iter.id
    made = [n for n in ast.walk(ctx.function) if isinstance(n, ast.Assign) and name in _targets(n)]
    if len(made) != 1 or not isinstance(made[0].targets[0], ast.Name):
        return []
    return [code.lines(made[0], [])] if code.effects([made[0].value]).pure else []
