"""A test for an empty selection whose body does nothing on an empty one → the body alone.

`if tok.numel() > 0: out.index_add_(0, tok, …)` and `if mask.any(): x[mask] = 0`: writing through an
empty index or mask changes nothing, so that the test only costs a graph break. So does
`if tok.numel() == 0: continue` where the rest of the round is such a body.

Declined: an `else`; statements that do something on an empty selection, or fail on it (`max`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base.context import Context
from ..base.finding import Fix
from ..base.rewriting import Code, Declined, Names
from ..base.scopes import own
from .layout import flat

_INDEXED = frozenset(
    "index_add_ index_copy_ index_put_ index_fill_ scatter_ scatter_add_ scatter_reduce_ "
    "masked_fill_ masked_scatter_ put_".split()
)
_FAILS = frozenset("max min argmax argmin amax amin aminmax median mode item cat stack".split())


def unguarded_fix(stmt: ast.If, ctx: Context, code: Code) -> Fix:
    """Return the fix that drops the test. Raises Declined where the body isn't idle without it."""
    if stmt.orelse or code.text(stmt).startswith("elif"):
        raise Declined("the test has another arm")
    body, tested = stmt.body, _nonempty(stmt.test)
    skips = isinstance(body[0], ast.Continue)
    if skips:
        block = list(code.block_of(stmt))
        body, tested = block[block.index(stmt) + 1 :], _empty(stmt.test)
        if not isinstance(ctx.parent(stmt), (ast.For, ast.While)):
            raise Declined("`continue` stands too deep in the loop")
    if not tested:
        raise Declined("the test asks more than whether something was selected")
    selection = _selected_with(tested, ctx)
    alive = code.live_after(body[-1] if body else stmt)
    if not any(_idle(part, selection) for part in body):
        raise Declined("the body doesn't write through what was selected")
    for part in body:
        if not _idle(part, selection) and not _private(part, alive, code):
            raise Declined(f"`{flat(code.text(part))[:40]}` isn't idle where nothing is selected")
        for node in ast.walk(part):
            method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if method and node.func.attr in _FAILS:  # type: ignore[attr-defined]
                raise Declined(f"`{node.func.attr}` fails where nothing is selected")  # type: ignore[attr-defined]
    lines = [] if skips else code.block(stmt.body, code.indent(stmt))
    title = "drop the test: nothing happens where nothing is selected"
    return code.fix(title, [code.lines(stmt, lines)])


def _nonempty(test: ast.expr) -> str:
    """Return the name that a test asks to be non-empty, "" for other tests."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        bound = test.comparators[0]
        number = bound.value if isinstance(bound, ast.Constant) else None
        asked = (type(test.ops[0]), number)
        if asked in ((ast.Gt, 0), (ast.NotEq, 0), (ast.GtE, 1)):
            return _counted(test.left)
        return ""
    return _counted(test)


def _empty(test: ast.expr) -> str:
    """Return the name that a test asks to be empty, "" for other tests."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _nonempty(test.operand)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        bound = test.comparators[0]
        number = bound.value if isinstance(bound, ast.Constant) else None
        if (type(test.ops[0]), number) in ((ast.Eq, 0), (ast.LtE, 0), (ast.Lt, 1)):
            return _counted(test.left)
    return ""


def _counted(node: ast.expr) -> str:
    """Return the name whose selected elements an expression counts."""
    inner: ast.expr | None = None
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Name) and function.id in ("len", "bool") and node.args:
            return _counted(node.args[0]) if function.id == "bool" else _name(node.args[0])
        if isinstance(function, ast.Attribute):
            if function.attr == "item":
                return _counted(function.value)
            whole = function.attr in ("numel", "any", "sum", "count_nonzero") and not node.args
            if whole or (function.attr == "size" and len(node.args) == 1):
                inner = function.value
            elif function.attr == "any" and len(node.args) == 1:  # torch.any(mask)
                inner = node.args[0]
    elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        inner = node.value.value if node.value.attr == "shape" else None
    return _name(inner)


def _name(node: ast.expr | None) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _selected_with(name: str, ctx: Context) -> Names:
    """Return the names that one call gave together with a name: they are empty together."""
    for node in own(ctx.function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
                names = frozenset(map(_name, target.elts)) - {""}
                if name in names:
                    return names
    return frozenset({name})


def _idle(stmt: ast.stmt, selection: Names) -> bool:
    """Say whether a statement changes nothing where the selection is empty."""
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Subscript):
        return _mentions(stmt.target.slice, selection)
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
        target, value = stmt.targets[0], stmt.value
        if isinstance(target, ast.Subscript):
            return _mentions(target.slice, selection)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            same = ast.dump(value.func.value).replace("Load", "") == ast.dump(target).replace(
                "Store", ""
            )
            known = value.func.attr + "_" in _INDEXED
            return same and known and any(_mentions(arg, selection) for arg in value.args[:2])
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
        function = stmt.value.func
        if isinstance(function, ast.Attribute) and function.attr in _INDEXED:
            return any(_mentions(arg, selection) for arg in stmt.value.args[:2])
    return isinstance(stmt, ast.Pass)


def _mentions(node: ast.AST, names: Names) -> bool:
    """Say whether a node is one of the names, or a tuple or list with one of them."""
    if isinstance(node, ast.Name):
        return node.id in names
    return isinstance(node, (ast.Tuple, ast.List)) and any(_mentions(e, names) for e in node.elts)


def _private(stmt: ast.stmt, alive: Names, code: Code) -> bool:
    """Say whether a statement only computes what nothing after the body reads."""
    targets = list(_targets(stmt))
    found = code.effects([stmt])
    quiet = not (found.mutates or found.stores or found.random or found.raises)
    return bool(targets) and quiet and not any(name in alive for name in targets)


def _targets(stmt: ast.stmt) -> Iterator[str]:
    if isinstance(stmt, ast.Assign):
        for target in stmt.targets:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
