"""Ints on a module that every call moves on → buffers, which are inputs of the graph.

Opt-in: code elsewhere that reads the attribute gets a tensor. Declined: attributes that aren't set
to a number in the class's own `__init__`, or that make sizes, indices or text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..base.context import Context
from ..base.facts import Instance, options
from ..base.finding import Fix, Safety
from ..base.reading import shown
from ..base.rewriting import Code, Declined
from ..base.scopes import own

_NUMBERS = (ast.Slice, ast.Subscript, ast.FormattedValue, ast.Return, ast.Call)


def buffered(stmt: ast.stmt, ctx: Context, code: Code) -> Iterator[Fix]:
    """`self.calls = 0` in `__init__` → a buffer, which `self.calls += 1` writes in place."""
    target = stmt.target if isinstance(stmt, ast.AugAssign) else None
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
        raise Declined("count outside of the compiled function, or in a tensor with `add_`")
    facts = options(ctx.fact(target.value))
    known = [fact for fact in facts if isinstance(fact, Instance) and fact.module]
    cls: Any = known[0].cls if len(known) == 1 == len(facts) else None
    if cls is None or isinstance(cls, str) or cls.module.path != ctx.path:
        raise Declined(f"where `{shown(target)}` starts isn't in sight")
    start = _start(cls, target.attr)
    for method in cls.methods.values():
        _only_counted(method.node, target.attr)
    name, tensor, dtype = target.attr, code.spell("torch.tensor"), code.spell("torch.long")
    value = f"{tensor}({code.text(start.value)}, dtype={dtype})"
    self_name = code.text(start.targets[0].value)  # type: ignore[attr-defined]
    line = f'{code.indent(start)}{self_name}.register_buffer("{name}", {value}, persistent=False)'
    yield code.fix(f"keep `{name}` in a buffer", [code.lines(start, [line])], Safety.UNSAFE)


def _start(cls: Any, name: str) -> ast.Assign:
    """Return the one place where the class sets the attribute to a number."""
    made = cls.methods.get("__init__")
    starts = [
        node
        for node in (own(made.node) if made is not None else ())
        if isinstance(node, ast.Assign) and _is(node.targets[0], name)
    ]
    if len(starts) != 1 or len(starts[0].targets) != 1:
        raise Declined(f"where `{name}` starts isn't in sight")
    value = starts[0].value
    if not isinstance(value, ast.Constant) or type(value.value) is not int:
        raise Declined(f"`{name}` doesn't start as a number")
    return starts[0]


def _only_counted(method: ast.AST, name: str) -> None:
    """Raise Declined where a method needs the number in Python."""
    parents = {child: node for node in own(method) for child in ast.iter_child_nodes(node)}
    for node in own(method):
        if not _is(node, name) or not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            continue
        place = parents.get(node)
        beside = isinstance(place, ast.BinOp)
        while isinstance(place, ast.BinOp):
            place = parents.get(place)
        if isinstance(place, _NUMBERS) and not (beside and isinstance(place, ast.Return)):
            raise Declined(f"`{name}` is needed in Python, by `{shown(place)}`")


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name
