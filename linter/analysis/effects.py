"""Aliasing and purity: what running a piece of code may change, and what shares storage.

For rewrites: an arm may be computed unconditionally only when it is pure, and a carried tensor
may be written in place only when nothing else sees its storage.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ...rules.base.context import Context
from ...rules.base.facts import Fact, Mapping, Sequence, Tensor, Unknown, options
from ...rules.base.rewriting import Effects
from .frame import path_of

_PURE_BUILTINS = frozenset(
    "abs all any bool complex dict divmod enumerate float format frozenset getattr hasattr hash "
    "id int isinstance issubclass iter len list map max min pow range repr reversed round set "
    "slice sorted str sum super tuple type zip filter".split()
)
_PURE_METHODS = frozenset(
    "get keys values items copy count index split join strip lower upper startswith endswith "
    "format replace union intersection difference dim size numel".split()
)
_PURE_CLASSES = frozenset(
    {"torch.finfo", "torch.iinfo", "torch.device", "torch.Size", "torch.Generator"}
)
_CONTAINER_WRITES = frozenset(
    "append extend insert pop remove clear sort reverse update add discard setdefault popitem "
    "appendleft popleft".split()
)


def effects(nodes: Iterable[ast.AST], ctx: Context) -> Effects:
    """Return the joint effects of statements or expressions of the function of `ctx`."""
    mutates: set[str] = set()
    stores: set[str] = set()
    unknown: list[str] = []
    random = raises = False
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, (ast.Raise, ast.Assert)):
                raises = True
            elif isinstance(node, (ast.Attribute, ast.Subscript)):
                if isinstance(node.ctx, (ast.Store, ast.Del)):
                    stores.add(path_of(node) or ast.unparse(node.value) + "[...]")
            elif isinstance(node, ast.AugAssign):
                mutates.update(_augmented(node, ctx))
            elif isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
                unknown.append(ast.unparse(node))
            elif isinstance(node, ast.Call):
                written, draws, known = _call(node, ctx)
                mutates.update(written)
                random = random or draws
                if not known:
                    unknown.append(ast.unparse(node.func))
    return Effects(frozenset(mutates), frozenset(stores), random, raises, tuple(unknown))


def _augmented(node: ast.AugAssign, ctx: Context) -> Iterator[str]:
    """`x += 1` writes a tensor or list in place; a number is rebound."""
    path = path_of(node.target)
    if path is not None and _mutable(ctx.fact(node.target)):
        yield path


def _mutable(fact: Fact) -> bool:
    return any(isinstance(o, (Tensor, Sequence, Mapping, Unknown)) for o in options(fact))


def _call(node: ast.Call, ctx: Context) -> tuple[set[str], bool, bool]:
    """Return (paths written, draws random numbers, is understood) for one call."""
    callee = ctx.callee(node)
    name = callee.name
    last = name.rpartition(".")[2]
    receiver = path_of(node.func.value) if isinstance(node.func, ast.Attribute) else None
    written: set[str] = set()
    for keyword in node.keywords:
        if keyword.arg == "out" and (path := path_of(keyword.value)) is not None:
            written.add(path)
    if name.startswith("torch."):
        tags = ctx.torch.tags(name)
        in_place = "inplace" in tags or (last.endswith("_") and not last.endswith("__"))
        if in_place:
            target = receiver if name.startswith("torch.Tensor.") else _first_path(node)
            written.add(target or ast.unparse(node.func))
        training = "dropout" in last.lower() or "rrelu" in last
        draws = "nondeterministic_seeded" in tags or training
        verdict = ctx.torch.dynamo(name)
        known = verdict in ("graph", "constant") or bool(tags) or _is_tensor_method(name)
        known = known or name in _PURE_CLASSES
        return written, draws, known or ctx.torch.module(name) is not None
    if name.startswith("builtins."):
        return written, False, last in _PURE_BUILTINS
    if last in _CONTAINER_WRITES and callee.receiver is not None:
        written.add(receiver or ast.unparse(node.func))
        return written, False, True
    if callee.receiver is not None and last in _PURE_METHODS:
        return written, False, True
    return written, False, name.startswith(("math.", "numpy.")) and "random" not in name


def _is_tensor_method(name: str) -> bool:
    return name.startswith("torch.Tensor.")


def _first_path(node: ast.Call) -> str | None:
    return path_of(node.args[0]) if node.args else None


class Aliases:
    """Which variables of a function may share storage: a flow-insensitive partition.

    `y = x`, views (`x.view(-1)`, `x[0]`, `x.T`, `a, b = x.chunk(2)`), and in-place methods
    (which return their receiver) put names into one class.
    """

    def __init__(self, function: ast.AST, ctx: Context) -> None:
        self._parent: dict[str, str] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value, ctx)
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
                self._assign(node.target, node.value, ctx)
            elif isinstance(node, (ast.For, ast.comprehension)):
                self._assign(node.target, node.iter, ctx)

    def may_alias(self, left: str, right: str) -> bool:
        """Say whether two names may refer to the same storage."""
        return self._find(left) == self._find(right)

    def of(self, name: str) -> frozenset[str]:
        """Return the names that may share storage with `name`, itself included."""
        root = self._find(name)
        return frozenset({name, *(n for n in self._parent if self._find(n) == root)})

    def _assign(self, target: ast.AST, value: ast.expr, ctx: Context) -> None:
        bound = list(_bound(target, ctx))
        if len(bound) > 1 and _gives_views(value, ctx):
            for path in bound[1:]:
                self._union(path, bound[0])
        for source in _shared(value, ctx) if bound else ():
            for path in bound:
                self._union(path, source)

    def _find(self, name: str) -> str:
        root = name
        while self._parent.get(root, root) != root:
            root = self._parent[root]
        return root

    def _union(self, left: str, right: str) -> None:
        a, b = self._find(left), self._find(right)
        self._parent.setdefault(left, a)
        self._parent.setdefault(right, b)
        self._parent[a] = b
        self._parent.setdefault(b, b)


def _gives_views(value: ast.expr, ctx: Context) -> bool:
    """Say whether what is unpacked is a tensor, or parts of one."""
    if any(isinstance(option, Tensor) for option in options(ctx.fact(value))):
        return True
    name = ctx.callee(value).name if isinstance(value, ast.Call) else ""
    return bool(ctx.torch.tags(name) & {"view", "maybe_view"})


def _bound(target: ast.AST, ctx: Context) -> Iterator[str]:
    """Yield paths that come to share storage with what is assigned to a target."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _bound(element, ctx)
    elif isinstance(target, ast.Starred):
        yield from _bound(target.value, ctx)
    elif isinstance(target, ast.Subscript):  # a tensor's items are written, a list's replaced
        if not all(isinstance(o, Tensor) for o in options(ctx.fact(target.value))):
            yield from _bound(target.value, ctx)
    else:
        path = path_of(target)
        if path is not None:
            yield path


def _shared(value: ast.expr, ctx: Context) -> Iterator[str]:
    """Yield paths whose storage the value of an expression may share."""
    path = path_of(value)
    if path is not None:
        yield path
        if isinstance(value, ast.Attribute):  # x.T, x.data, x.real
            yield from _shared(value.value, ctx)
    elif isinstance(value, (ast.Subscript, ast.Starred, ast.Attribute)):
        yield from _shared(value.value, ctx)
    elif isinstance(value, ast.IfExp):
        yield from _shared(value.body, ctx)
        yield from _shared(value.orelse, ctx)
    elif isinstance(value, ast.BoolOp):
        for operand in value.values:
            yield from _shared(operand, ctx)
    elif isinstance(value, (ast.Tuple, ast.List)):
        for element in value.elts:
            yield from _shared(element, ctx)
    elif isinstance(value, ast.NamedExpr):
        yield from _shared(value.value, ctx)
    elif isinstance(value, ast.Call):
        name = ctx.callee(value).name
        last = name.rpartition(".")[2]
        tags = ctx.torch.tags(name)
        shares = tags & {"view", "maybe_view", "inplace", "maybe_inplace", "inplace_view"}
        if shares or (last.endswith("_") and not last.endswith("__")):
            source = value.args[0] if value.args else None
            if name.startswith("torch.Tensor.") and isinstance(value.func, ast.Attribute):
                source = value.func.value
            if source is not None:
                yield from _shared(source, ctx)
        elif (
            name in ("builtins.enumerate", "builtins.zip", "builtins.reversed", "builtins.list")
            or not name
        ):
            for arg in value.args:
                yield from _shared(arg, ctx)
