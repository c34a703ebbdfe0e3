"""Functions made again from rewritten source, in place of the ones that exist."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import os
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from ...rules.base.finding import Finding
from ..config import SettingsFinder
from ..index import Project
from ..workers import with_deep_stack
from .model import Repair
from .repair import Policy, repair
from .subject import alone

_ALIAS = "__rewritten_{}__"  # no private name, for which a class would write its own
_ADDED = "__compile_lint_added__"  # statements that rewrites have added to a module


class RewriteError(Exception):
    """A function can't be rewritten in memory; the message says why, in one line."""


@dataclass(frozen=True, slots=True)
class Rewrites:
    """What was done to a function or class: its `__rewrites__`.

    source    the module's text as rewritten
    titles    of the rewrites, in source order
    left      findings that remain
    """

    source: str
    titles: tuple[str, ...]
    left: tuple[Finding, ...]


class Source:
    """The module that something stands in, before and after the rewrites that it needs.

    Args:
        owner: The function or class.
        line: Where a function starts, which tells it from others of its name.
        names: Qualified names that are compiled.
        prove: Whether only what is proved counts.

    Raises:
        RewriteError: There is no source.
    """

    def __init__(self, owner: Any, line: int, names: tuple[str, ...], prove: bool) -> None:
        self.path, lines = _source_of(owner, names[0])
        self._nested: dict[str, str] = {}
        self._shift = (len(lines) + 1, 0)  # from that line on, how far lines have moved
        text = "".join(lines)
        if "<locals>" in names[0]:
            text = self._at_top(names[0], line, text, lines)
        self._before = text
        entries = tuple(map(self.name_of, names))
        made, reached = with_deep_stack(lambda: _repaired(self.path, text, entries, prove))
        self._reached = reached
        titles = [
            j.change.fix.title
            for j in made.judged
            if j.applied and _function_of(j.change.finding) in reached
        ]
        left = tuple(f for f in made.left if _function_of(f) in reached)
        self.summary = Rewrites(made.text, tuple(titles), left)
        self._old_tree, self._new_tree = ast.parse(text), ast.parse(made.text)
        self._old, self._new = dict(_functions(self._old_tree)), dict(_functions(self._new_tree))
        self._lines = _line_map(text, made.text)

    def name_of(self, name: str) -> str:
        """Return what a function is called in the text: nested ones stand at its end."""
        return self._nested.get(name, name)

    def _at_top(self, name: str, line: int, text: str, lines: list[str]) -> str:
        """Return the text with a copy of a nested function at module level."""
        short = name.rpartition(".")[2]
        found = [
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef) and node.name == short
            if (node.decorator_list or [node])[0].lineno <= line <= (node.end_lineno or line)
        ]
        if not found:
            raise RewriteError(f"`{name}` isn't found in its file")
        node = max(found, key=lambda node: node.lineno)
        if any(isinstance(part, ast.Nonlocal) for part in ast.walk(node)):
            raise RewriteError(f"`{name}` writes to variables of the function around it")
        inner = lines[node.lineno - 1 : node.end_lineno]
        self._nested[name] = short
        self._shift = (len(lines) + 2, node.lineno - (len(lines) + 2))
        end = "" if text.endswith("\n") else "\n"
        return text + end + "if True:\n" + "".join(inner)

    def is_changed(self, name: str) -> bool:
        """Whether a function that the compiled ones reach is another one now."""
        old, new = self._old.get(name), self._new.get(name)
        if name not in self._reached or old is None or new is None:
            return False
        return ast.dump(old) != ast.dump(new)

    def add_helpers(self, scope: dict[str, Any]) -> dict[str, str]:
        """Put into a module what rewrites need there; return the new names of its functions.

        Helpers that are rewritten get a name of their own: others go on calling the old ones.
        """
        top = [name for name in self._reached if "." not in name and self.is_changed(name)]
        own = set(self._nested.values())
        plain = [name for name in top if name not in own and _is_plain(scope.get(name))]
        names = {name: _ALIAS.format(name) for name in plain}
        self._add_statements(scope)
        for name, alias in names.items():
            if alias not in scope:
                scope[alias] = None  # it may call itself
                scope[alias] = self.remade(scope[name], name, names)
        return names

    def mentions(self, function: types.FunctionType, helpers: Mapping[str, str]) -> bool:
        """Whether a function, or one inside it, names a helper that has another name now."""
        todo = [function.__code__]
        while todo:
            code = todo.pop()
            if helpers.keys() & set(code.co_names):
                return True
            todo += [const for const in code.co_consts if isinstance(const, types.CodeType)]
        return False

    def _add_statements(self, scope: dict[str, Any]) -> None:
        """Run the module-level statements that rewrites have added, once for every module."""
        old = {ast.dump(stmt) for stmt in self._old_tree.body}
        done = scope.setdefault(_ADDED, set())
        for stmt in self._new_tree.body:
            text = ast.dump(stmt)
            if text in old or text in done or _defines(stmt, self._old):
                continue
            needed = _bound(stmt) & self._names_read()
            taken = sorted(name for name in needed if name in scope)
            if taken and not isinstance(stmt, (ast.Import, ast.ImportFrom, ast.Try)):
                raise RewriteError(f"the rewrite changes `{taken[0]}` of the module")
            if needed - scope.keys():
                self._place(stmt)
                exec(self._compiled(stmt), scope)
            done.add(text)

    def _names_read(self) -> set[str]:
        found = set()
        for name, node in self._new.items():
            if self.is_changed(name):
                found |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        return found

    def remade(
        self, function: types.FunctionType, name: str, helpers: Mapping[str, str]
    ) -> types.FunctionType:
        """Return the rewritten twin of a function: same cells, defaults and attributes."""
        node = copy.deepcopy(self._new[name])
        node.decorator_list = []
        node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in helpers:
                part.id = helpers[part.id]
        self._place(node)
        free = function.__code__.co_freevars
        outer = ast.parse("def __outer__(): pass").body[0]
        assert isinstance(outer, ast.FunctionDef)
        outer.args.args = [ast.arg(cell) for cell in free]
        holder = name.rpartition(".")[0].rpartition(".")[2]
        outer.body = [node]
        if holder:  # private names are spelled by the class around them
            inside = ast.parse(f"class {holder}: pass").body[0]
            assert isinstance(inside, ast.ClassDef)
            inside.body, outer.body = [node], [inside]
        code = _code_named(self._compiled(outer), node.name)
        cells = dict(zip(free, function.__closure__ or ()))
        missing = [cell for cell in code.co_freevars if cell not in cells]
        if missing:
            raise RewriteError(f"`{name}`: the rewrite needs `{missing[0]}` of the function around")
        if sys.version_info >= (3, 11):
            code = code.replace(co_qualname=function.__code__.co_qualname)
        closure = tuple(cells[cell] for cell in code.co_freevars)
        made = types.FunctionType(
            code, function.__globals__, function.__name__, function.__defaults__, closure
        )
        made.__kwdefaults__ = function.__kwdefaults__
        made.__dict__.update(function.__dict__, __rewrites__=self.summary)
        made.__qualname__, made.__doc__ = function.__qualname__, function.__doc__
        made.__module__, made.__annotations__ = function.__module__, function.__annotations__
        return made

    def _place(self, node: ast.AST) -> None:
        """Give a node and those below it the lines of the user's file."""
        start, moved = self._shift
        for part in ast.walk(node):
            for field in ("lineno", "end_lineno"):
                line = getattr(part, field, None)
                if line is not None:
                    old = self._lines[line]
                    setattr(part, field, old + moved if old >= start else old)

    def _compiled(self, stmt: ast.stmt) -> types.CodeType:
        body = self._old_tree.body
        futures = [s for s in body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
        module = ast.fix_missing_locations(ast.Module([*futures, stmt], []))
        return compile(module, self.path, "exec", dont_inherit=True)


def _source_of(owner: Any, name: str) -> tuple[str, list[str]]:
    try:
        path = inspect.getsourcefile(owner)
    except TypeError as error:
        raise RewriteError(f"`{name}` has no source: {error}") from error
    scope = vars(sys.modules[owner.__module__]) if owner.__module__ in sys.modules else {}
    lines = linecache.getlines(path, scope) if path else []
    if path is None or not lines:
        raise RewriteError(f"`{name}` has no source that can be read")
    return path, lines


def _repaired(
    path: str, text: str, entries: tuple[str, ...], prove: bool
) -> tuple[Repair, frozenset[str]]:
    """Return the repair of a module, and the names of its functions that the entries reach."""
    place = os.path.abspath(path)
    folder = os.path.dirname(place)
    settings = SettingsFinder(None, False).for_folder(folder, folder)
    name, _, _ = Project.locate(place)
    points = (*settings.entry_points, *(f"{name}:{entry}" for entry in entries))
    settings = replace(settings, entry="explicit", entry_points=points, baseline="")
    subject = alone(place, text, settings)
    reached = {
        function
        for region in subject.regions
        if any(region.name == e or region.name == f"{e}.forward" for e in entries)
        for file, _, function in region.functions
        if file == place
    }
    if not prove:
        return repair(subject, None, Policy(unproved=True, settings=False)), frozenset(reached)
    from ..prove.prover import Prover

    with Prover() as prover:
        made = repair(subject, prover, Policy(inputs=settings.inputs, settings=False))
    return made, frozenset(reached)


def _function_of(finding: Finding) -> str:
    return finding.site.function if finding.site is not None else ""


def _is_plain(found: Any) -> bool:
    return isinstance(found, types.FunctionType) and not hasattr(found, "__wrapped__")


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield functions by qualified name, also those under an `if`; those in functions not."""
    for stmt in getattr(tree, "body", []):
        if isinstance(stmt, ast.FunctionDef):
            yield prefix + stmt.name, stmt
        elif isinstance(stmt, ast.ClassDef):
            yield from _functions(stmt, f"{prefix}{stmt.name}.")
        elif isinstance(stmt, (ast.If, ast.Try)):
            yield from _functions(stmt, prefix)


def _defines(stmt: ast.stmt, functions: Mapping[str, ast.FunctionDef]) -> bool:
    """Whether a statement holds functions or classes that were there before."""
    if isinstance(stmt, ast.FunctionDef):
        return stmt.name in functions
    return isinstance(stmt, (ast.ClassDef, ast.If))


def _bound(stmt: ast.stmt) -> set[str]:
    """Return the names that a module-level statement binds."""
    if isinstance(stmt, ast.FunctionDef):
        return {stmt.name}
    found = {
        n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    for part in ast.walk(stmt):
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in part.names}
    return found


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
    """Return the code of the function `name` that stands in another one's."""
    todo = [code]
    while todo:
        inner = [c for c in todo.pop().co_consts if isinstance(c, types.CodeType)]
        for found in inner:
            if found.co_name == name and found.co_flags & inspect.CO_OPTIMIZED:  # no class
                return found
        todo += inner
    raise AssertionError(f"no code of {name}")
