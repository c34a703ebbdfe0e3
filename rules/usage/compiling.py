"""What the rules on torch.compile itself share: finding its uses, and what goes through it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Context
from .arms import body_nodes

# Functions that run once a batch or more often.
HOT = frozenset(
    {
        "forward",
        "__call__",
        "training_step",
        "validation_step",
        "test_step",
        "predict_step",
        "train_step",
        "eval_step",
        "closure",
    }
)
_MEMOISED = ("cache", "lru_cache", "cached_property")


def compile_name(call: ast.Call, ctx: Context) -> str:
    """Return the name of a call that compiles: "torch.compile", "….compile" of a module, or ""."""
    callee = ctx.callee(call)
    if callee.name == "torch.compile" or _spelled(call.func):
        return "torch.compile"
    if callee.name.endswith(".compile") and getattr(callee.receiver, "module", False):
        return callee.name
    return ""


def _spelled(node: ast.expr) -> bool:
    """`torch.compile`, written out: in code that wasn't reached nothing is resolved."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "compile"
        and isinstance(node.value, ast.Name)
        and node.value.id == "torch"
    )


def compile_decorator(function: ast.AST, ctx: Context) -> ast.expr | None:
    """Return the decorator that compiles a function, None when there is none."""
    for deco in getattr(function, "decorator_list", ()):
        node = deco.func if isinstance(deco, ast.Call) else deco
        if getattr(ctx.fact(node), "name", "") == "torch.compile" or _spelled(node):
            return deco
        if isinstance(deco, ast.Call) and "partial" in (
            getattr(node, "id", ""),
            getattr(node, "attr", ""),
        ):
            if deco.args and _spelled(deco.args[0]):
                return deco
    return None


def compile_uses(node: ast.AST, ctx: Context) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """Yield (what to underline, what is compiled) for a call or a decorated function.

    What is compiled is None for a decorator: the function that follows.
    """
    if isinstance(node, ast.Call):
        name = compile_name(node, ctx)
        if name == "torch.compile":
            target = ctx.argument(node, 0, "model")
            if target is not None:
                yield node, target
        elif name and isinstance(node.func, ast.Attribute):
            yield node, node.func.value
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node is not ctx.function:
        deco = compile_decorator(node, ctx)
        if deco is not None:
            yield deco, None


def compiled_in(function: ast.AST, ctx: Context) -> set[str]:
    """Return what a function binds to a compiled callable or compiles in place, as source."""
    found = set()
    for node in body_nodes(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if compile_name(node.value, ctx) == "torch.compile":
                found.update(map(ast.unparse, node.targets))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if compile_name(node, ctx) not in ("", "torch.compile"):
                found.add(ast.unparse(node.func.value))
    return found


def conditional(node: ast.AST, ctx: Context) -> bool:
    """Say whether a node runs under an `if` or `try`, as what is made once and kept does."""
    return any(isinstance(up, (ast.If, ast.IfExp, ast.Try)) for up in ctx.ancestors(node))


def memoised(function: ast.AST) -> bool:
    """Say whether a function's result is kept for the next call."""
    return any(
        ast.unparse(deco.func if isinstance(deco, ast.Call) else deco).rpartition(".")[2]
        in _MEMOISED
        for deco in getattr(function, "decorator_list", ())
    )


def names_in(node: ast.AST) -> set[str]:
    """Return the names an expression reads."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def stored_in(nodes: list[ast.stmt], but: ast.AST) -> set[str]:
    """Return the names that statements bind, those bound by the statement `but` left out."""
    holder = ast.Module(body=[stmt for stmt in nodes if stmt is not but], type_ignores=[])
    return {
        node.id
        for node in body_nodes(holder)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
