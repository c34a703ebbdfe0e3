"""Which calls run a compiled callable, as ordinary code around torch.compile makes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..rules.base.context import RegionOptions
from .analysis.analyzer import Analyzer
from .analysis.frame import Frame, path_of
from .index import Assigned, FunctionInfo, ModuleInfo
from .index.modules import own_nodes
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
    function = frame.function
    analyzer = frame.analyzer
    if function is not None:
        yield from _in_body(analyzer, frame.module, list(own_nodes(function.node)), path)
        this, _, attr = path.partition(".")
        if function.cls is not None and attr and "." not in attr:
            for method in function.cls.methods.values():
                body = list(own_nodes(method.node))
                yield from _in_body(analyzer, frame.module, body, f"{this}.{attr}")
    bound = frame.module.bindings.get(path)
    if isinstance(bound, Assigned):
        for value in bound.values:
            if isinstance(value, ast.Call) and _compiles(analyzer, frame.module, value.func):
                yield value
    yield from _in_body(analyzer, frame.module, list(frame.module.tree.body), path)


def _in_body(
    analyzer: Analyzer, module: ModuleInfo, nodes: list[ast.AST] | list[ast.stmt], path: str
) -> Iterator[ast.Call]:
    for node in nodes:
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Call):
            continue
        if isinstance(node, ast.Assign):
            if any(path_of(target) == path for target in node.targets) and _compiles(
                analyzer, module, value.func
            ):
                yield value
        elif isinstance(node, ast.Expr) and isinstance(value.func, ast.Attribute):
            if value.func.attr == "compile" and path_of(value.func.value) == path:
                yield value


def _compiles(analyzer: Analyzer, module: ModuleInfo, function: ast.expr) -> bool:
    return getattr(analyzer.static_value(module, function), "name", "") in COMPILERS


__all__ = ["compiled_by"]
