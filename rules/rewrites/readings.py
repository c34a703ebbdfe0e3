"""Numbers that were read out of tensors → the tensors they were read from.

`t.item() > 3` compares `t`; where a name holds the number (`n = t.item()`), the name's one
assignment is followed. Declined: `int()` of floats, sizes and random draws, names that are bound
more than once, and tensors that were rebound in between.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..base.context import Context
from ..base.facts import Array, Fact, FromTensor, options
from ..base.finding import Edit
from ..base.reading import data_in, shown, tensor_of
from ..base.rewriting import Code, Declined
from ..base.scopes import own
from .layout import flat, operand, receiver

_CASTS = frozenset({"builtins.float", "builtins.int", "builtins.bool"})


@dataclass
class Readings:
    """Turns expressions back into tensor expressions; remembers which definitions it followed."""

    ctx: Context
    code: Code
    followed: list[tuple[ast.Name, ast.Assign]] = field(default_factory=list)

    def value(self, node: ast.expr) -> str:
        """Return an expression with numbers that were read from tensors as tensors again."""
        changes = self.changes(node)
        if node in changes:
            return flat(changes[node])
        return flat(self.code.text(node, changes))

    def changes(self, node: ast.AST) -> dict[ast.AST, str]:
        """Return the new text of the readings inside an expression."""
        changes: dict[ast.AST, str] = {}
        self._unread(node, changes)
        return changes

    def _unread(self, node: ast.AST, changes: dict[ast.AST, str]) -> None:
        if isinstance(node, ast.Call):
            source = self._read(node)
            if source is not None:
                self._scalar(source, changes, node)
                return
            if any(isinstance(option, FromTensor) for option in options(self.ctx.fact(node))):
                raise Declined(f"`{shown(node, 40)}` reads a tensor: its reading comes first")
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            fact = self.ctx.fact(node)
            if any(isinstance(option, FromTensor) for option in options(fact)):
                self._followed(node, fact, changes)
            return
        for child in ast.iter_child_nodes(node):
            self._unread(child, changes)

    def _scalar(self, source: ast.expr, changes: dict[ast.AST, str], node: ast.AST) -> None:
        text = self.value(source)
        fact = tensor_of(self.ctx.fact(source))
        if fact is not None and fact.rank:
            text = receiver(text) + ".squeeze()"
        changes[node] = text if isinstance(source, ast.BinOp) else operand(text)

    def _read(self, call: ast.Call) -> ast.expr | None:
        """Return the tensor that `.item()` or `float()` reads, None for other calls."""
        name = self.ctx.callee(call).name
        if name == "torch.Tensor.item" and isinstance(call.func, ast.Attribute):
            return call.func.value
        if name in _CASTS and len(call.args) == 1:
            source = call.args[0]
            fact = data_in(self.ctx.fact(source))
            if fact is None or isinstance(fact, Array):
                return None
            kind = getattr(fact, "dtype", "") or getattr(fact, "kind", "")
            if name == "builtins.int" and kind not in ("int", "bool"):
                raise Declined("`int()` cuts digits off, which the tensor doesn't")
            return source
        return None

    def _followed(self, name: ast.Name, fact: Fact, changes: dict[ast.AST, str]) -> None:
        if any(isinstance(o, FromTensor) and o.how != "item" for o in options(fact)):
            raise Declined(f"`{name.id}` is a size or a draw, not a tensor's value")
        made = _definition(name.id, self.ctx)
        call = made.value if made is not None else None
        source = self._read(call) if isinstance(call, ast.Call) else None
        if made is None or source is None or not _steady(source, made, name, self.ctx):
            raise Declined(f"`{name.id}` was read from a tensor: its reading comes first")
        self.followed.append((name, made))
        self._scalar(source, changes, name)

    def unused(self) -> Iterator[Edit]:
        """Yield edits that remove definitions which only the test used."""
        for made in dict.fromkeys(made for _, made in self.followed):
            seen = {name for name, by in self.followed if by is made}
            target = made.targets[0]
            assert isinstance(target, ast.Name)
            if set(self.code.uses(target.id)) <= seen and len(self.code.block_of(made)) > 1:
                yield self.code.lines(made, [])


def _definition(name: str, ctx: Context) -> ast.Assign | None:
    """Return the one assignment that binds a local name, None when there are others."""
    stores = [
        node
        for node in own(ctx.function)
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
    ]
    if len(stores) != 1:
        return None
    made = ctx.parent(stores[0])
    plain = isinstance(made, ast.Assign) and made.targets == [stores[0]]
    return made if plain and isinstance(made, ast.Assign) else None


def _steady(source: ast.expr, made: ast.stmt, use: ast.AST, ctx: Context) -> bool:
    """Say whether an expression still means at `use` what it meant at `made`."""
    names = {n.id for n in ast.walk(source) if isinstance(n, ast.Name)}
    if ctx.loop(made) is not ctx.loop(use) or any(
        isinstance(n, ast.Call) for n in ast.walk(source)
    ):
        return False
    for node in own(ctx.function):
        if isinstance(node, ast.Name) and node.id in names and not isinstance(node.ctx, ast.Load):
            if made.lineno < node.lineno <= use.lineno or ctx.loop(use) is not None:  # type: ignore[attr-defined]
                return False
    return True
