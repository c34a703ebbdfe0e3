"""Which calls run a compiled callable, as ordinary code around torch.compile makes them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..rules.base.context import RegionOptions
from .analysis.analyzer import Analyzer
from .analysis.frame import Frame, path_of
from .index import Assigned, FunctionInfo, ModuleInfo
from .regions import COMPILERS, compile_decorator, compile_options


def compiled_by(frame: Frame, call: ast.Call) -> RegionOptions | None:
    """Return the options of the torch.compile that made the callee; None when there is none.

    Known forms: a decorated function, a name or attribute that was assigned `torch.compile(…)` in
    this function, its class or its module, and a module object on which `.compile()` was called.
    """
    callee = frame.callees.get(call)
    if callee is not None and isinstance(callee.project, FunctionInfo):
        info = callee.project
        for deco in info.decorators:
            given = compile_decorator(frame.analyzer, info.module, deco)
            if given is not None:
                return _enabled(given)
    path = path_of(call.func)
    if path is None:
        return None
    for made in _makers(frame, path):
        return _enabled(compile_options(made.keywords))
    return None


def _enabled(given: RegionOptions) -> RegionOptions | None:
    return None if given.backend == "disabled" else given


def _makers(frame: Frame, path: str) -> Iterator[ast.Call]:
    """Yield calls of torch.compile whose result `path` holds, nearest scope first."""
    module, function = frame.module, frame.function
    if "compile" not in module.text:
        return
    if function is not None:
        yield from _made(frame, function, function.nodes).get(path, ())
        this, _, attr = path.partition(".")
        if function.cls is not None and attr and "." not in attr:
            for method in function.cls.methods.values():
                yield from _made(frame, method, method.nodes).get(f"{this}.{attr}", ())
    bound = module.bindings.get(path)
    if isinstance(bound, Assigned):
        for value in bound.values:
            if isinstance(value, ast.Call) and _compiles(frame.analyzer, module, value.func):
                yield value
    yield from _made(frame, module, module.tree.body).get(path, ())


def _made(
    frame: Frame, scope: FunctionInfo | ModuleInfo, nodes: Iterable[ast.AST]
) -> dict[str, list[ast.Call]]:
    """Return the calls that compile in a scope, by the path that holds what they give."""
    known = frame.analyzer.compiled_paths.get(scope)
    if known is not None:
        return known
    table: dict[str, list[ast.Call]] = {}
    for node in nodes:
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Call):
            continue
        if isinstance(node, ast.Assign):
            paths = [path for path in map(path_of, node.targets) if path is not None]
            if paths and _compiles(frame.analyzer, frame.module, value.func):
                for path in paths:
                    table.setdefault(path, []).append(value)
        elif isinstance(node, ast.Expr) and isinstance(value.func, ast.Attribute):
            owner = path_of(value.func.value)
            if value.func.attr == "compile" and owner is not None:
                table.setdefault(owner, []).append(value)
    frame.analyzer.compiled_paths[scope] = table
    return table


def _compiles(analyzer: Analyzer, module: ModuleInfo, function: ast.expr) -> bool:
    return getattr(analyzer.static_value(module, function), "name", "") in COMPILERS


__all__ = ["compiled_by"]
