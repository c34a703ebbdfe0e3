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
        if isinstance(node, (ast.Call, ast.Subscript)) and self._counted(node, changes):
            return
        if isinstance(node, ast.Call):
            source = self._read(node)
            if source is not None:
                self._scalar(source, changes, node)
                return
            if any(isinstance(option, FromTensor) for option in options(self.ctx.fact(node))):
                raise Declined(f"`{shown(node, 40)}` reads a tensor: its reading comes first")
        if isinstance(node, (ast.Subscript, ast.Attribute)):
            if any(isinstance(option, FromTensor) for option in options(self.ctx.fact(node))):
                raise Declined(f"`{shown(node, 40)}` is a size or a number that depends on data")
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            fact = self.ctx.fact(node)
            if any(isinstance(option, FromTensor) for option in options(fact)):
                self._followed(node, fact, changes)
            return
        for child in ast.iter_child_nodes(node):
            self._unread(child, changes)

    def _counted(self, node: ast.Call | ast.Subscript, changes: dict[ast.AST, str]) -> bool:
        """Count the mask where the size of what it selected is asked; say whether it was so."""
        sized, exact = _sized(node)
        if sized is None or not any(
            isinstance(o, FromTensor) and o.how == "size" for o in options(self.ctx.fact(node))
        ):
            return False
        made = _definition(sized.id, self.ctx)
        mask = None if made is None else self._mask(made.value)
        if made is None or mask is None or not (exact or _asks_zero(node, self.ctx)):
            return False
        steady = self.code.effects([mask]).pure
        if not steady or not _steady(mask, made, sized, self.ctx, calls=True):
            return False
        self.followed.append((sized, made))
        changes[node] = f"{receiver(flat(self.code.text(mask)))}.sum()"
        return True

    def _mask(self, made: ast.expr) -> ast.expr | None:
        """Return the boolean mask whose elements an expression selects."""
        found: ast.expr | None = None
        if isinstance(made, ast.Call):
            name = self.ctx.callee(made).name
            if name in ("torch.nonzero", "torch.Tensor.nonzero", "torch.argwhere"):
                method = name.startswith("torch.Tensor.") and isinstance(made.func, ast.Attribute)
                found = made.func.value if method else made.args[0]  # type: ignore[attr-defined]
            elif name in ("torch.masked_select", "torch.Tensor.masked_select"):
                found = made.args[-1] if made.args else None
        elif isinstance(made, ast.Subscript):
            found = made.slice
        fact = None if found is None else tensor_of(self.ctx.fact(found))
        return found if fact is not None and fact.dtype == "bool" else None

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


def _sized(node: ast.Call | ast.Subscript) -> tuple[ast.Name | None, bool]:
    """Return the name whose size an expression is, and whether it counts the selected elements."""
    inner: ast.expr | None = None
    exact = True
    if isinstance(node, ast.Subscript):
        first = isinstance(node.slice, ast.Constant) and node.slice.value == 0
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape" and first:
            inner = node.value.value
    elif isinstance(node.func, ast.Name):
        inner = node.args[0] if node.func.id == "len" and len(node.args) == 1 else None
    elif isinstance(node.func, ast.Attribute) and node.func.attr in ("numel", "size"):
        zero = [isinstance(a, ast.Constant) and a.value == 0 for a in node.args]
        exact = zero == [True]
        inner = node.func.value if exact or node.func.attr == "numel" else None
    return (inner if isinstance(inner, ast.Name) else None), exact


def _asks_zero(node: ast.AST, ctx: Context) -> bool:
    """Say whether a number is only compared with zero."""
    parent = ctx.parent(node)
    if not isinstance(parent, ast.Compare):
        return True
    sides = [parent.left, *parent.comparators]
    return all(s is node or (isinstance(s, ast.Constant) and s.value == 0) for s in sides)


def _steady(
    source: ast.expr, made: ast.stmt, use: ast.AST, ctx: Context, calls: bool = False
) -> bool:
    """Say whether an expression still means at `use` what it meant at `made`."""
    names = {n.id for n in ast.walk(source) if isinstance(n, ast.Name)}
    called = any(isinstance(n, ast.Call) for n in ast.walk(source))
    if ctx.loop(made) is not ctx.loop(use) or (called and not calls):
        return False
    for node in own(ctx.function):
        if isinstance(node, ast.Name) and node.id in names and not isinstance(node.ctx, ast.Load):
            if made.lineno < node.lineno <= use.lineno or ctx.loop(use) is not None:  # type: ignore[attr-defined]
                return False
    return True
