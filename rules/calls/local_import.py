"""CL312: an import inside the function that may fail."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from ..base import Certainty, Code, Context, Example, Fix, Rule, Severity, Sighting
from .seen import top

_FAILURES = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
# Present wherever the code is compiled.
_PRESENT = frozenset({"torch", "numpy", "typing_extensions", "sympy", "triton"})


class LocalImport(Rule):
    """An import inside compiled code that the code itself expects to fail.

    ## What it does
    Flags `try: import package` … `except ImportError:` inside a function, where the package is
    neither the standard library, torch, numpy, nor part of the project.

    ## Why it matters
    Dynamo runs imports while it traces, and one that succeeds is captured. One that fails ends the
    graph, even though the `except` would have caught the error. So where the package is missing,
    the function breaks on every path.

    ## Example
    See the bad and good modules below.

    ## Fix
    Import once at the top of the module and keep a flag; or test with
    `importlib.util.find_spec(name) is not None`, which is captured.

    ## When it is safe
    Where the package is always installed; hence only a warning.
    """

    code = "CL312"
    name = "optional-import-inside"
    summary = "an import inside that breaks where the package is missing"
    nodes = (ast.Import, ast.ImportFrom)
    severity = Severity.WARNING
    graph_breaks = ("GB0069", "GB0088")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    try:
        import package_that_is_missing  # error: CL312
    except ImportError:
        return x + 1
    return x
""",
            good="""
import torch

try:
    import package_that_is_missing
except ImportError:
    package_that_is_missing = None

def f(x):
    if package_that_is_missing is None:
        return x + 1
    return x
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for an import of a foreign package in a `try` that expects failure."""
        assert isinstance(node, (ast.Import, ast.ImportFrom))
        if isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module and not node.level else []
        else:
            names = [alias.name for alias in node.names]
        foreign = [name for name in names if _foreign(top(name), ctx)]
        if foreign and _guarded(node, ctx):
            text = f"importing `{foreign[0]}` here breaks the graph where the package is missing"
            yield Sighting(node, text, certainty=Certainty.LIKELY)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the import at module level, and a test for None here."""
        from ..rewrites.hoist import optional_import

        node = sighting.node
        assert isinstance(node, (ast.Import, ast.ImportFrom))
        yield from optional_import(node, ctx, code)


def _foreign(package: str, ctx: Context) -> bool:
    if package in sys.stdlib_module_names or package in _PRESENT:
        return False
    parts = ctx.path.replace("\\", "/").split("/")
    return package not in parts and package + ".py" not in parts


def _guarded(node: ast.AST, ctx: Context) -> bool:
    child = node
    for parent in ctx.ancestors(node):
        if isinstance(parent, ast.Try) and child in parent.body:
            return any(_catches(handler) for handler in parent.handlers)
        child = parent
    return False


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(type_, ast.Name) and type_.id in _FAILURES for type_ in types)
