"""Finding and parsing modules: source roots, installed packages to follow, what was read."""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

from ...rules.base.valueclass import valueclass
from ..model import AnalysisOptions, SourceFile
from ..source import UnreadableSource, parse_source, read_source
from .modules import ClassInfo, FunctionInfo, ModuleInfo, index_module

# What a module imports from above its own folder.
_RELATIVE = re.compile(r"^[ \t]*from[ \t]+\.(\.+)", re.MULTILINE)


@valueclass
class _Links:
    """Where the first `used` look-ups of a module led: files (also those not found), modules."""

    used: int
    files: set[str]
    modules: set[ModuleInfo]


class Project:
    """Every module seen so far, by path and by dotted name.

    Modules are looked up below the root of the importing file's own package, then below the
    configured roots, then in installed packages that the configuration says to follow. Every
    look-up is recorded, whether or not it found a file: what a result depends on.
    """

    def __init__(self, options: AnalysisOptions, watched: Iterable[str] = ()) -> None:
        """`watched` are words; `words` will be those that some module's text has."""
        self.options = options
        self._watched = tuple(watched)
        self.words: frozenset[str] = frozenset()
        self._by_path: dict[str, ModuleInfo | None] = {}
        self._digests: dict[str, str] = {}
        self._real: dict[str, str] = {}  # of every path that was loaded
        self._folders: dict[str, str] = {}  # the same of the folders they are in
        self._found: dict[tuple[str, str], ModuleInfo | None] = {}
        self._looked: dict[tuple[str, str], tuple[str, ...]] = {}
        self._follow_roots: dict[str, str] | None = None
        self._used: dict[ModuleInfo, set[tuple[str, str]]] = {}
        self._links: dict[ModuleInfo, _Links] = {}
        self.size = 0  # characters of source that are held

    def open(self, source: SourceFile) -> ModuleInfo:
        """Parse a source file, or return it as parsed before.

        Raises UnreadableSource with the line of a syntax error.
        """
        key = self._real[source.path] = self._resolved(source.path)
        known = self._by_path.get(key)
        if known is not None and self._digests.get(key) == source.digest:
            return known
        above = 0
        if "from .." in source.text:
            above = max(map(len, _RELATIVE.findall(source.text)), default=0)
        name, root, package = self.locate(source.path, above)
        module = self._index(name, source, parse_source(source), package, root)
        self._by_path[key], self._digests[key] = module, source.digest
        return module

    def forget(self, path: str) -> None:
        """Know no more of a file, and of every module that imports led from to it."""
        lost = self._by_path.get(os.path.realpath(path))
        if lost is None:
            return
        importers: dict[ModuleInfo, set[ModuleInfo]] = {}
        for importer, used in self._used.items():
            for key in used:
                found = self._found[key]
                if found is not None:
                    importers.setdefault(found, set()).add(importer)
        stale, queue = {lost}, [lost]
        while queue:
            more = importers.get(queue.pop(), set()) - stale
            stale |= more
            queue += more
        for module in stale:
            self._used.pop(module, None)
            self._links.pop(module, None)
        self._by_path = {real: m for real, m in self._by_path.items() if m not in stale}
        self._found = {key: m for key, m in self._found.items() if m not in stale}

    def _index(
        self, name: str, source: SourceFile, tree: ast.Module, package: bool, root: str
    ) -> ModuleInfo:
        self.size += len(source.text)
        found = [w for w in self._watched if w not in self.words and w in source.text]
        if found:
            self.words = self.words.union(found)
        return index_module(name, source.path, tree, source.text, package=package, root=root)

    @staticmethod
    def locate(path: str, above: int = 0) -> tuple[str, str, bool]:
        """Return (dotted name, source root, is a package) of a file, from `__init__.py` files.

        `above` is how far its relative imports go up: so many folders belong to its package, also
        those that have no `__init__.py`.
        """
        folder, file = os.path.split(os.path.abspath(path))
        stem = os.path.splitext(file)[0]
        package = stem == "__init__"
        parts = [] if package else [stem]
        while above > 0 or os.path.exists(os.path.join(folder, "__init__.py")):
            parent, name = os.path.split(folder)
            if parent == folder:
                break
            parts.append(name)
            folder = parent
            above -= 1
        return ".".join(reversed(parts)) or stem, folder, package

    def _resolved(self, path: str) -> str:
        """Return the path without symbolic links; folders are asked about once."""
        folder, name = os.path.split(path)
        if os.path.islink(path) or not name:
            return os.path.realpath(path)
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = os.path.realpath(folder)
        return os.path.join(known, name)

    def find(self, name: str, importer: ModuleInfo) -> ModuleInfo | None:
        """Return the project's module of that dotted name, None when it is outside the project."""
        if not name:
            return None
        top = name.partition(".")[0]
        if top in _NEVER_PROJECT and top not in self.options.follow:
            if importer.name.partition(".")[0] != top:  # SciPy is SciPy's own project
                return None
        key = (name, importer.root)
        if key not in self._found:
            self._found[key] = self._search(name, importer.root, key)
        self._used.setdefault(importer, set()).add(key)
        return self._found[key]

    def dependencies(self, module: ModuleInfo) -> list[str]:
        """Return every file that an import chain from a module has led to, or looked for in vain.

        All that was ever looked up counts, by whichever analysis: what is known of a shared
        function after the first region that reaches it isn't looked up again for the second.
        """
        found: set[str] = set()
        queue = [module]
        seen = {module}
        while queue:
            links = self._links_of(queue.pop())
            found |= links.files
            queue.extend(links.modules - seen)
            seen |= links.modules
        return sorted(found - {module.path})

    def _links_of(self, module: ModuleInfo) -> _Links:
        """Return where a module's own look-ups led; a look-up's answer never changes."""
        used = self._used.get(module, ())
        known = self._links.get(module)
        if known is None or known.used != len(used):
            modules = {inner for key in used if (inner := self._found[key]) is not None}
            files = {inner.path for inner in modules}
            files.update(*(self._looked[key] for key in used))
            known = self._links[module] = _Links(len(used), files, modules)
        return known

    def _search(self, name: str, root: str, key: tuple[str, str]) -> ModuleInfo | None:
        looked: list[str] = []
        self._looked[key] = ()
        top = name.partition(".")[0]
        roots = [root, *self.options.roots]
        if top in self.options.follow:
            roots.extend(self._installed(top))
        relative = name.replace(".", os.sep)
        for base in dict.fromkeys(roots):
            stem = os.path.join(base, relative)
            for candidate, package in (
                (os.path.join(stem, "__init__.py"), True),
                (stem + ".py", False),
            ):
                looked.append(candidate)
                if os.path.isfile(candidate):
                    self._looked[key] = tuple(looked)
                    return self._load(candidate, name, base, package)
        self._looked[key] = tuple(looked)
        return None

    def _load(self, path: str, name: str, root: str, package: bool) -> ModuleInfo | None:
        real = self._real[path] = self._resolved(path)
        if real in self._by_path:
            return self._by_path[real]
        try:
            source = read_source(path)
            tree = parse_source(source)
        except (UnreadableSource, OSError):
            self._by_path[real] = None  # reported when that file itself is linted
            return None
        self._digests[real] = source.digest
        module = self._index(name, source, tree, package, root)
        self._by_path[real] = module
        return module

    def digest(self, path: str) -> str:
        """Return the content hash of a file that was read, "" when it isn't there."""
        real = self._real.get(path)
        return self._digests.get(real, "") if real is not None else ""

    def _installed(self, top: str) -> list[str]:
        if self._follow_roots is None:
            self._follow_roots = {}
        if top not in self._follow_roots:
            self._follow_roots[top] = _site_folder(top)
        found = self._follow_roots[top]
        return [found] if found else []


# Modules that a project folder can't mean to be, even when a file of that name lies at its root.
_NEVER_PROJECT = frozenset({"torch", "numpy", "scipy", "typing", "builtins"}) | (
    frozenset(sys.stdlib_module_names) - {"test", "types"}
)


def _site_folder(top: str) -> str:
    """Return the site-packages folder that holds a package, "" when it isn't installed."""
    for folder in sys.path:
        if folder and os.path.isdir(os.path.join(folder, top)):
            return folder
    import importlib.metadata  # slow to import, and seldom asked

    try:
        files = importlib.metadata.files(top)
    except importlib.metadata.PackageNotFoundError:
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(Path(str(files[0].locate())).parent) if files else ""


__all__ = ["ClassInfo", "FunctionInfo", "ModuleInfo", "Project"]
