"""Rewriting a function in memory: the source stays, what runs is the rewrite.

    from compile_lint.linter import rewrite

    @torch.compile(fullgraph=True)
    @rewrite
    def f(x): ...

The rewrites are those of `--fix`, with the lines of the user's file: tracebacks and breakpoints
point at what the user wrote. They are proved only when `prove=True` asks for it.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import os
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, TypeVar

from ...rules.base.finding import Finding
from ..config import SettingsFinder
from ..index import Project
from ..workers import with_deep_stack
from .model import Repair
from .repair import Policy, repair
from .subject import alone

T = TypeVar("T")


class RewriteError(Exception):
    """A function can't be rewritten in memory; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class Rewrites:
    """What was done to a function: `function.__rewrites__`.

    source    the module's text as rewritten
    titles    of the rewrites, in source order
    left      findings that remain
    """

    source: str
    titles: tuple[str, ...]
    left: tuple[Finding, ...]


def rewrite(target: T, *, prove: bool = False) -> T:
    """Return a function, nn.Module class or module that torch.compile can capture more of.

    A function becomes a new function with the same globals, closure and defaults; functions of its
    module that it calls are rewritten along. A class becomes a subclass; a module becomes a module
    that shares its parameters, buffers and submodules. What needs no rewrite is returned as it is.

    prove  keep only what is proved, as `compile-lint --fix` does; takes seconds, and inputs (see
           the documentation of `--fix`)

    Raises RewriteError when there is no source, or a decorator stands between.
    """
    if isinstance(target, type):
        return _class(target, prove)  # type: ignore[return-value]
    if isinstance(target, types.FunctionType):
        return _function(target, prove)  # type: ignore[return-value]
    forward = getattr(type(target), "forward", None)
    if isinstance(forward, types.FunctionType):
        mended = _class(type(target), prove)
        if mended is type(target):
            return target
        twin = copy.copy(target)
        twin.__class__ = mended
        return twin
    raise RewriteError(f"a {type(target).__name__} is neither a function nor a module")


def _function(function: types.FunctionType, prove: bool) -> types.FunctionType:
    if hasattr(function, "__wrapped__"):
        raise RewriteError(f"`{function.__qualname__}` is decorated: put rewrite below")
    source = _Source(function, function.__qualname__, prove)
    changed = source.changed
    if not changed:
        return function
    names = {}
    for name in changed:
        if "." not in name and name != function.__qualname__ and "<locals>" not in name:
            names[name] = f"__rewritten_{name}"
    source.add_imports(function.__globals__)
    for name, alias in names.items():
        function.__globals__.setdefault(alias, source.make(name, names, function.__globals__))
    if function.__qualname__ not in changed and not names:
        return function
    return source.remake(function, function.__qualname__, names)


def _class(cls: type, prove: bool) -> type:
    source = _Source(cls, cls.__qualname__, prove)
    prefix = cls.__qualname__ + "."
    methods = [n for n in source.changed if n.startswith(prefix) and "." not in n[len(prefix) :]]
    helpers = [n for n in source.changed if "." not in n]
    if not methods and not helpers:
        return cls
    scope = vars(sys.modules[cls.__module__])
    names = {name: f"__rewritten_{name}" for name in helpers}
    source.add_imports(scope)
    for name, alias in names.items():
        scope.setdefault(alias, source.make(name, names, scope))
    body = {}
    for name, member in list(vars(cls).items()):
        mentioned = isinstance(member, types.FunctionType) and (
            prefix + name in methods or set(member.__code__.co_names) & names.keys()
        )
        if mentioned:
            body[name] = source.remake(member, prefix + name, names)  # type: ignore[arg-type]
    made = type(cls.__name__, (cls,), {"__module__": cls.__module__, **body})
    made.__qualname__ = cls.__qualname__
    return made


class _Source:
    """The module a function stands in, before and after the rewrites that the function needs."""

    def __init__(self, owner: Any, qualname: str, prove: bool) -> None:
        try:
            path = inspect.getsourcefile(owner)
        except TypeError as error:
            raise RewriteError(f"`{qualname}` has no source: {error}") from error
        scope = vars(sys.modules[owner.__module__]) if owner.__module__ in sys.modules else {}
        lines = linecache.getlines(path, scope) if path else []
        if path is None or not lines:
            raise RewriteError(f"`{qualname}` has no source that can be read")
        self.path = path
        self.before = "".join(lines)
        made = with_deep_stack(lambda: _repaired(path, self.before, qualname, prove))
        self.after = made.text
        titles = tuple(j.change.fix.title for j in made.judged if j.applied)
        self.summary = Rewrites(made.text, titles, made.left)
        self._old = dict(_functions(ast.parse(self.before)))
        self._new = dict(_functions(ast.parse(self.after)))
        self._lines = _line_map(self.before, self.after)

    @property
    def changed(self) -> list[str]:
        """The qualified names of functions whose code is another one now."""
        return [
            name
            for name, node in self._new.items()
            if name not in self._old or ast.dump(node) != ast.dump(self._old[name])
        ]

    def add_imports(self, scope: dict[str, Any]) -> None:
        """Make the imports that the rewrite added, where the module doesn't have the name."""
        known = {ast.dump(s) for s in ast.parse(self.before).body if isinstance(s, _IMPORTS)}
        for stmt in ast.parse(self.after).body:
            if isinstance(stmt, _IMPORTS) and ast.dump(stmt) not in known:
                exec(compile(ast.Module([stmt], []), self.path, "exec"), scope)

    def make(self, name: str, names: dict[str, str], scope: dict[str, Any]) -> Any:
        """Return a module-level function as rewritten, made from nothing but its source."""
        node = self._prepared(name, names)
        place: dict[str, Any] = {}
        exec(compile(ast.Module([node], []), self.path, "exec"), scope, place)
        return place[node.name]

    def remake(
        self, function: types.FunctionType, name: str, names: dict[str, str]
    ) -> types.FunctionType:
        """Return the rewritten twin of a function that exists: same cells, defaults, attributes."""
        node = self._prepared(name, names)
        node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
        free = function.__code__.co_freevars
        outer = ast.parse("def outer(): pass").body[0]
        assert isinstance(outer, ast.FunctionDef)
        outer.args.args = [ast.arg(cell) for cell in free]
        outer.body = [node, ast.Return(ast.Name(node.name, ast.Load()))]
        module = ast.fix_missing_locations(ast.Module([outer], []))
        code = _code_named(compile(module, self.path, "exec"), node.name)
        cells = dict(zip(free, function.__closure__ or ()))
        missing = [cell for cell in code.co_freevars if cell not in cells]
        if missing:
            raise RewriteError(f"`{name}`: the rewrite needs `{missing[0]}` of the function around")
        closure = tuple(cells[cell] for cell in code.co_freevars)
        made = types.FunctionType(
            code.replace(co_qualname=function.__code__.co_qualname)
            if sys.version_info >= (3, 11)
            else code,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            closure,
        )
        made.__kwdefaults__ = function.__kwdefaults__
        made.__dict__.update(function.__dict__, __rewrites__=self.summary)
        made.__qualname__, made.__doc__ = function.__qualname__, function.__doc__
        made.__module__, made.__annotations__ = function.__module__, function.__annotations__
        return made

    def _prepared(self, name: str, names: dict[str, str]) -> ast.FunctionDef:
        node = copy.deepcopy(self._new[name])
        node.decorator_list = []
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id in names:
                inner.id = names[inner.id]
            for field in ("lineno", "end_lineno"):
                line = getattr(inner, field, None)
                if line is not None:
                    setattr(inner, field, self._lines[line])
        return node


_IMPORTS = (ast.Import, ast.ImportFrom)


def _repaired(path: str, text: str, qualname: str, prove: bool) -> Repair:
    place = os.path.abspath(path)
    settings = SettingsFinder(None, False).for_folder(
        os.path.dirname(place), os.path.dirname(place)
    )
    name, _, _ = Project.locate(place)
    points = (*settings.entry_points, f"{name}:{qualname.replace('.<locals>', '')}")
    settings = replace(settings, entry="explicit", entry_points=points, baseline="")
    subject = alone(place, text, settings)
    if not prove:
        return repair(subject, None, Policy(unproved=True, settings=False))
    from ..prove.prover import Prover

    with Prover() as prover:
        return repair(subject, prover, Policy(inputs=settings.inputs, settings=False))


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield functions by qualified name, those in functions not."""
    for stmt in getattr(tree, "body", []):
        if isinstance(stmt, ast.FunctionDef):
            yield prefix + stmt.name, stmt
        elif isinstance(stmt, ast.ClassDef):
            yield from _functions(stmt, f"{prefix}{stmt.name}.")


def _line_map(before: str, after: str) -> dict[int, int]:
    """Map lines of the rewrite to lines of the source; new ones to the first they stand for."""
    matcher = SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False)
    found = {}
    for tag, i, j, m, n in matcher.get_opcodes():
        for line in range(m, n):
            same = i + line - m if tag == "equal" else min(i + line - m, max(j - 1, i))
            found[line + 1] = same + 1
    return found


def _code_named(code: types.CodeType, name: str) -> types.CodeType:
    """Return the code of the function `name` in the function `outer` of a module's code."""
    outer = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    return next(c for c in outer.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
