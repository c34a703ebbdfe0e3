"""Imports: what the names are that they bind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...rules.base.facts import UNKNOWN, Fact, ModuleRef, Unknown
from ..index import ModuleInfo
from ..index.modules import absolute_import

if TYPE_CHECKING:
    from .analyzer import Analyzer


def imported_name(analyzer: Analyzer, module: ModuleInfo, source: str, name: str) -> Fact:
    """Return what `from source import name` (or `import source`, name "") binds."""
    found = analyzer.project.find(source, module)
    if not name:
        return analyzer.extern(source) if found is None else ModuleRef(found)
    if found is None:
        inner = analyzer.project.find(f"{source}.{name}", module)
        return analyzer.extern(f"{source}.{name}") if inner is None else ModuleRef(inner)
    return member(analyzer, found, name, module)


def member(analyzer: Analyzer, source: ModuleInfo, name: str, importer: ModuleInfo) -> Fact:
    """Return `source.name`: a global of the module, or a submodule of the package.

    A package that imports from itself, `from . import losses`, means its submodule.
    """
    if source.package and (name not in source.bindings or source is importer):
        inner = analyzer.project.find(f"{source.name}.{name}", importer)
        if inner is not None:
            return ModuleRef(inner)
    known = name in source.bindings or source.stars
    found = analyzer.module_value(source, name) if known else UNKNOWN
    if name == "torch" and isinstance(found, Unknown):
        return analyzer.extern(name)  # `from .backend import torch`, which chose it at run time
    return found


def imported(
    analyzer: Analyzer, module: ModuleInfo, stmt: ast.Import | ast.ImportFrom
) -> Iterator[tuple[str, Fact]]:
    """Yield (name, fact) for an import statement inside a function."""
    if isinstance(stmt, ast.Import):
        for alias in stmt.names:
            source = alias.name if alias.asname else alias.name.partition(".")[0]
            yield alias.asname or source, imported_name(analyzer, module, source, "")
        return
    source = absolute_import(module, stmt)
    for alias in stmt.names:
        yield alias.asname or alias.name, imported_name(analyzer, module, source, alias.name)


__all__ = ["imported", "imported_name", "member"]
