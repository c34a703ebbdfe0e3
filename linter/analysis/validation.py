"""Whether distributions check their arguments: not while compiling, unless an import says so."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..index import Imported, ModuleInfo

if TYPE_CHECKING:
    from .analyzer import Analyzer

_SETTER = "set_default_validate_args"
_HOPS = 2  # imports that are followed: what a package's base classes are made with


def validates(analyzer: Analyzer, module: ModuleInfo) -> bool:
    """Say whether importing a module calls `Distribution.set_default_validate_args(True)`.

    `torch.compile` turns validation off when it is first called, and a package that is imported
    after that turns it on again.
    """
    known = analyzer.validating.get(module)
    if known is None:
        known = analyzer.validating[module] = any(map(_turns_on, _near(analyzer, module)))
    return known


def _near(analyzer: Analyzer, module: ModuleInfo) -> set[ModuleInfo]:
    """Return a module, and what it and its imports import, as far as it is of the project."""
    found, edge = {module}, {module}
    for _ in range(_HOPS):
        edge = {
            inner
            for importer in edge
            for bound in importer.bindings.values()
            if isinstance(bound, Imported)
            and (inner := analyzer.project.find(bound.module, importer)) is not None
        } - found
        found |= edge
    return found


def _turns_on(module: ModuleInfo) -> bool:
    if _SETTER not in module.text:
        return False
    calls = [s.value for s in module.tree.body if isinstance(s, ast.Expr)]
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == _SETTER
        and len(call.args) == 1
        and (getattr(call.args[0], "value", None) is True or _debug(call.args[0]))
        for call in calls
    )


def _debug(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__debug__"
