"""Loads texts as the module they would be on disk, side by side and without writing any file."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import linecache
import sys
import types
from collections.abc import Sequence
from pathlib import Path


class LoadFailed(Exception):
    """The module, or a package above it, raises when it is imported."""


class Project:
    """The module on trial in its surroundings.

    Args:
        path: The file, absolute. `root`: the folder that imports start from.
        name: The module's dotted name.
    """

    def __init__(self, path: str, name: str, root: str) -> None:
        self.path, self.root = path, root
        self.name = name or Path(path).stem
        self.text = ""  # of the version that imports of `name` now get
        self._codes: dict[str, types.CodeType] = {}
        if root and root not in sys.path:
            sys.path.insert(0, root)
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]

    def load(self, text: str, code: types.CodeType | None = None) -> types.ModuleType:
        """Return a new module made of `text`, which imports of its name give from now on.

        `code` stands for the text, compiled with changes of ours.

        Raises:
            LoadFailed: It raises, or isn't Python.
        """
        self.text = text
        linecache.cache[self.path] = (len(text), None, text.splitlines(True), self.path)
        try:
            if code is None:
                code = self._codes.get(text) or compile(text, self.path, "exec", dont_inherit=True)
                self._codes[text] = code
            module = self._new()
            exec(code, module.__dict__)
        except (Exception, SystemExit) as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise LoadFailed(f"the module can't be imported: {said}") from error
        self.activate(module, text)
        return module

    def activate(self, module: types.ModuleType, text: str) -> None:
        """Make `module` what its name means: in sys.modules, its package and its siblings."""
        self.text = text
        linecache.cache[self.path] = (len(text), None, text.splitlines(True), self.path)
        sys.modules[self.name] = module
        parent, _, last = self.name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], last, module)
        for other in self._siblings():
            for key, value in list(vars(other).items()):
                if isinstance(value, (types.FunctionType, type)):
                    own = value.__module__ == self.name and vars(module).get(value.__name__)
                    if own and type(own) is type(value):
                        setattr(other, key, own)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer the import system: a package above that imports our module gets our text."""
        if name != self.name:
            return None
        return self._spec()

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Answer the import system: an ordinary module object will do."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the current text in `module`, for the import system."""
        exec(compile(self.text, self.path, "exec", dont_inherit=True), module.__dict__)

    def get_source(self, name: str) -> str:
        """Return the current text, for tracebacks."""
        return self.text

    def _spec(self) -> importlib.machinery.ModuleSpec:
        package = Path(self.path).name == "__init__.py"
        return importlib.util.spec_from_file_location(  # type: ignore[return-value]
            self.name,
            self.path,
            loader=self,  # type: ignore[arg-type]
            submodule_search_locations=[str(Path(self.path).parent)] if package else None,
        )

    def _new(self) -> types.ModuleType:
        parent = self.name.rpartition(".")[0]
        if parent:
            importlib.import_module(parent)
        module = importlib.util.module_from_spec(self._spec())
        sys.modules[self.name] = module
        return module

    def _siblings(self) -> list[types.ModuleType]:
        top = self.name.partition(".")[0]
        return [
            other
            for name, other in list(sys.modules.items())
            if name.partition(".")[0] == top
            and name not in (self.name, "compile_lint")
            and isinstance(other, types.ModuleType)
        ]


def lookup(module: types.ModuleType, qualname: str) -> object:
    """Return what `qualname` names in `module`. Raises AttributeError."""
    found: object = module
    for part in qualname.split("."):
        found = getattr(found, part)
    return found
