"""One module: what its top level binds, its classes and its functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...rules.base.valueclass import valueclass
from ...rules.base.walking import own_nodes, parents_of
from .names import global_names, identifiers_in

_YIELDS = frozenset({ast.Yield, ast.YieldFrom})
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@valueclass
class Imported:
    """`import module` (name "") or `from module import name`, with `module` made absolute."""

    module: str
    name: str
    line: int


@valueclass
class Assigned:
    """Expressions that a name is assigned at module or class level, in source order.

    `partial` is True when the name is also bound in a way that has no expression (loop targets,
    unpacking, `global` writes inside functions): then the expressions are not the whole story.
    """

    values: tuple[ast.expr, ...]
    annotation: ast.expr | None = None
    partial: bool = False


@valueclass
class Signature:
    """The parameters of a function.

    `named` are those that can be passed by name (positional-only ones are counted among them), by
    name; `vararg` and `kwarg` are "" where there are none.
    """

    positional: tuple[str, ...]
    named: dict[str, ast.arg]
    vararg: str
    kwarg: str
    defaults: dict[str, ast.expr]


def _signature(spec: ast.arguments) -> Signature:
    positional = [*spec.posonlyargs, *spec.args]
    late = positional[len(positional) - len(spec.defaults) :]
    defaults = dict(zip((p.arg for p in late), spec.defaults))
    defaults.update((p.arg, d) for p, d in zip(spec.kwonlyargs, spec.kw_defaults) if d is not None)
    named = {p.arg: p for p in (*positional, *spec.kwonlyargs)}
    stars = [p.arg if p is not None else "" for p in (spec.vararg, spec.kwarg)]
    return Signature(tuple([p.arg for p in positional]), named, stars[0], stars[1], defaults)


@dataclass(eq=False, slots=True)
class FunctionInfo:
    """A function, method, nested function or lambda. Compared by identity."""

    module: ModuleInfo
    node: FunctionNode
    qualname: str
    cls: ClassInfo | None = None
    definer: FunctionInfo | None = None  # the function that it is nested in
    _nodes: tuple[ast.AST, ...] | None = field(default=None, repr=False)
    _parents: dict[ast.AST, ast.AST] | None = field(default=None, repr=False)
    _generator: bool | None = field(default=None, repr=False)
    _decorator_names: frozenset[str] | None = field(default=None, repr=False)
    masks: frozenset[str] | None = field(default=None, repr=False)  # see `analysis.masks`
    stored: list[tuple[str, ast.expr | None, bool]] | None = field(default=None, repr=False)
    _signature: Signature | None = field(default=None, repr=False)
    _inside: dict[ast.AST, tuple[ast.AST, ...]] = field(default_factory=dict, repr=False)

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """The nodes of the body, not those of functions and classes nested in it."""
        if self._nodes is None:
            self._nodes = tuple(own_nodes(self.node))
        return self._nodes

    def inside(self, holder: ast.AST) -> tuple[ast.AST, ...]:
        """Return the nodes of the body of a statement in this function, as `nodes` does."""
        known = self._inside.get(holder)
        if known is None:
            known = self._inside[holder] = tuple(own_nodes(holder))
        return known

    @property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The syntactic parent of every node of the body, but the body's own statements."""
        if self._parents is None:
            self._parents = parents_of(self.nodes)
        return self._parents

    @property
    def signature(self) -> Signature:
        """Its parameters."""
        if self._signature is None:
            self._signature = _signature(self.node.args)
        return self._signature

    @property
    def generator(self) -> bool:
        """Whether calling it makes a generator."""
        if self._generator is None:
            yields = not _YIELDS.isdisjoint(map(type, self.nodes))
            self._generator = yields and not isinstance(self.node, ast.Lambda)
        return self._generator

    @property
    def name(self) -> str:
        """The name it was defined under."""
        return self.qualname.rpartition(".")[2]

    @property
    def decorators(self) -> list[ast.expr]:
        """Decorator expressions, outermost first."""
        return [] if isinstance(self.node, ast.Lambda) else self.node.decorator_list

    @property
    def decorator_names(self) -> frozenset[str]:
        """The last name of each decorator, called or not."""
        if self._decorator_names is None:
            called = [d.func if isinstance(d, ast.Call) else d for d in self.decorators]
            names = [getattr(node, "attr", getattr(node, "id", "")) for node in called]
            self._decorator_names = frozenset(filter(None, names))
        return self._decorator_names


@valueclass
class Ancestry:
    """A class's project classes in method resolution order, itself first, and external bases.

    `complete` is False when some base could not be resolved.
    """

    classes: tuple[ClassInfo, ...]
    external: tuple[str, ...]
    complete: bool


@dataclass(eq=False, slots=True)
class ClassInfo:
    """A class statement. Compared by identity."""

    module: ModuleInfo
    node: ast.ClassDef
    qualname: str
    methods: dict[str, FunctionInfo] = field(default_factory=dict, repr=False)
    setters: dict[str, FunctionInfo] = field(default_factory=dict, repr=False)
    attributes: dict[str, Assigned] = field(default_factory=dict, repr=False)
    ancestry: Ancestry | None = field(default=None, repr=False)  # once it has been resolved
    state: frozenset[str] | None = field(default=None, repr=False)  # see `analysis.stores`

    @property
    def name(self) -> str:
        """The name it was defined under."""
        return self.node.name


Binding = Imported | Assigned | FunctionInfo | ClassInfo


@dataclass(eq=False, slots=True)
class ModuleInfo:
    """A parsed module. `name` is its dotted name, `path` as the user or the search named it."""

    name: str
    path: str
    tree: ast.Module = field(repr=False)
    text: str = field(repr=False)
    package: bool
    root: str
    bindings: dict[str, Binding] = field(default_factory=dict, repr=False)
    stars: list[str] = field(default_factory=list, repr=False)
    functions: list[FunctionInfo] = field(default_factory=list, repr=False)
    classes: list[ClassInfo] = field(default_factory=list, repr=False)
    _lines: list[str] | None = field(default=None, repr=False)
    _segments: dict[ast.AST, str] = field(default_factory=dict, repr=False)
    _identifiers: frozenset[str] | None = field(default=None, repr=False)

    @property
    def identifiers(self) -> frozenset[str]:
        """The words that the code uses: names, attributes, what is imported, words in quotes."""
        if self._identifiers is None:
            self._identifiers = frozenset(identifiers_in(self.tree))
        return self._identifiers

    @property
    def lines(self) -> list[str]:
        """The lines of the source without their ends."""
        if self._lines is None:
            self._lines = self.text.split("\n")
        return self._lines

    def line(self, number: int) -> str:
        """Return a line of the source, 1-based, without its end; "" past the end."""
        lines = self._lines or self.lines
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def segment(self, node: ast.AST) -> str:
        """Return the source of a node on one line, shortened to 48 characters."""
        known = self._segments.get(node)
        if known is None:
            known = self._segments[node] = self._segment(node)
        return known

    def _segment(self, node: ast.AST) -> str:
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
        if not first or not last:
            return "…"
        start, end = self.column(first, node.col_offset), self.column(last, node.end_col_offset)  # type: ignore[attr-defined]
        if first == last:
            text = self.line(first)[start - 1 : end - 1]
        else:
            middle = [self.line(number) for number in range(first + 1, min(last, first + 6))]
            parts = [self.line(first)[start - 1 :], *middle, self.line(last)[: end - 1]]
            text = " ".join(" ".join(parts).split())
        return text if len(text) <= 48 else text[:47] + "…"

    def column(self, number: int, offset: int) -> int:
        """Return the 1-based column in characters of a UTF-8 byte offset in a line."""
        line = self.line(number)
        if line.isascii():
            return offset + 1
        return len(line.encode()[:offset].decode(errors="ignore")) + 1


def index_module(
    name: str, path: str, tree: ast.Module, text: str, *, package: bool, root: str
) -> ModuleInfo:
    """Index a parsed module.

    Later bindings of a name win, except that assignments gather: `X = None` then `X = f()` keeps
    both expressions, and a definition in `try:` is preferred to its fallback in `except:`.
    """
    module = ModuleInfo(name, path, tree, text, package, root)
    _index_block(module, tree.body, "", None, module.bindings)
    for target in global_names(tree, text):
        bound = module.bindings.get(target)
        if isinstance(bound, Assigned):
            module.bindings[target] = Assigned(bound.values, bound.annotation, True)
    return module


def _index_block(
    module: ModuleInfo,
    body: list[ast.stmt],
    prefix: str,
    cls: ClassInfo | None,
    bindings: dict[str, Binding],
) -> None:
    for stmt in body:
        if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _index_function(module, stmt, prefix, cls, bindings)
        elif isinstance(stmt, ast.ClassDef):
            bindings[stmt.name] = _index_class(module, stmt, prefix)
        elif isinstance(stmt, (ast.Import, ast.ImportFrom)):
            if cls is None:
                _index_import(module, stmt, bindings)
        elif isinstance(stmt, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            _index_assignment(stmt, bindings)
        else:
            for block in _blocks(stmt):
                inner: dict[str, Binding] = {}
                _index_block(module, block, prefix, cls, inner)
                for key, value in inner.items():
                    _bind(bindings, key, value)
            for target in _loop_targets(stmt):
                _bind(bindings, target, Assigned((), None, True))


def _index_function(
    module: ModuleInfo,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    prefix: str,
    cls: ClassInfo | None,
    bindings: dict[str, Binding],
) -> None:
    info = FunctionInfo(module, node, prefix + node.name, cls)
    kind = _accessor(node) if cls is not None and node.name in cls.methods else ""
    if kind == "deleter":
        return
    module.functions.append(info)
    if not kind:
        bindings[node.name] = info
    if cls is not None:  # the name keeps the getter
        (cls.setters if kind else cls.methods)[node.name] = info


def _accessor(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    named = (getattr(deco, "attr", "") for deco in node.decorator_list)
    return next((name for name in named if name in ("setter", "deleter")), "")


def _index_class(module: ModuleInfo, node: ast.ClassDef, prefix: str) -> ClassInfo:
    info = ClassInfo(module, node, prefix + node.name)
    module.classes.append(info)
    bindings: dict[str, Binding] = {}
    _index_block(module, node.body, info.qualname + ".", info, bindings)
    info.attributes = {k: v for k, v in bindings.items() if isinstance(v, Assigned)}
    return info


def _index_import(
    module: ModuleInfo, node: ast.Import | ast.ImportFrom, bindings: dict[str, Binding]
) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                _bind(bindings, alias.asname, Imported(alias.name, "", node.lineno))
            else:
                top = alias.name.partition(".")[0]
                _bind(bindings, top, Imported(top, "", node.lineno))
        return
    source = absolute_import(module, node)
    for alias in node.names:
        if alias.name == "*":
            module.stars.append(source)
        else:
            _bind(bindings, alias.asname or alias.name, Imported(source, alias.name, node.lineno))


def absolute_import(module: ModuleInfo, node: ast.ImportFrom) -> str:
    """Return the absolute dotted name of the module a `from` import names."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    if not module.package:
        parts = parts[:-1]
    if node.level > 1:
        parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _index_assignment(
    node: ast.Assign | ast.AnnAssign | ast.AugAssign, bindings: dict[str, Binding]
) -> None:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                _bind(bindings, target.id, Assigned((node.value,)))
            else:
                for name in _names(target):
                    _bind(bindings, name, Assigned((), None, True))
    elif isinstance(node.target, ast.Name):
        if isinstance(node, ast.AugAssign):
            _bind(bindings, node.target.id, Assigned((), None, True))
        else:
            values = (node.value,) if node.value is not None else ()
            _bind(bindings, node.target.id, Assigned(values, node.annotation))


def _bind(bindings: dict[str, Binding], name: str, value: Binding) -> None:
    old = bindings.get(name)
    if isinstance(old, Assigned) and isinstance(value, Assigned):
        bindings[name] = Assigned(
            old.values + value.values,
            old.annotation or value.annotation,
            old.partial or value.partial,
        )
    elif isinstance(value, Assigned) and old is not None:
        return  # `try: import x / except ImportError: x = None`: the real thing is what runs
    elif isinstance(old, Imported) and isinstance(value, Imported) and old.module != value.module:
        return  # `try: import fast as impl / except: import slow as impl`
    else:
        bindings[name] = value


def _blocks(stmt: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(stmt, name, None)
        if block:
            yield block
    for part in (*getattr(stmt, "handlers", ()), *getattr(stmt, "cases", ())):
        yield part.body


def _loop_targets(stmt: ast.stmt) -> Iterator[str]:
    if isinstance(stmt, (ast.For, ast.AsyncFor)):
        yield from _names(stmt.target)
    elif isinstance(stmt, (ast.With, ast.AsyncWith)):
        for item in stmt.items:
            if item.optional_vars is not None:
                yield from _names(item.optional_vars)


def _names(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
