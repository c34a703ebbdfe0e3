"""Rewriting a function in memory: the source stays, what runs is the rewrite.

    from compile_lint.linter import rewrite

    @torch.compile(fullgraph=True)
    @rewrite
    def f(x): ...

The rewrites are those of `--fix`, with the lines of the user's file: tracebacks and breakpoints
point at what the user wrote. They are proved only when `prove=True` asks for it.
"""

from __future__ import annotations

import copy
import sys
import types
from typing import Any, TypeVar

from .remade import RewriteError, Rewrites, Source

T = TypeVar("T")
__all__ = ["RewriteError", "Rewrites", "rewrite"]


def rewrite(target: T, *, prove: bool = False) -> T:
    """Return a function, method, class or nn.Module that torch.compile can capture more of.

    A function becomes a new function with the same globals, closure and defaults; plain functions
    of its file that it calls are rewritten along. A class becomes a subclass, with what it inherits
    rewritten, too. A module becomes one that shares its parameters, buffers and submodules, and
    submodules that need it are rewritten in the same way. A bound method stays bound to its object,
    whose other methods are left as they are. What needs no rewrite is returned as it is.

    What was done is told by `__rewrites__` of the function or class.

    prove  keep only what is proved, as `compile-lint --fix` does; takes seconds, and inputs (see
           the documentation of `--fix`)

    Raises RewriteError when there is no source, a decorator stands between, or the rewrite needs
    something of the module to be another one.
    """
    if isinstance(target, type):
        return _class(target, prove, {})  # type: ignore[return-value]
    if isinstance(target, types.FunctionType):
        return _function(target, prove)  # type: ignore[return-value]
    if isinstance(target, types.MethodType) and isinstance(target.__func__, types.FunctionType):
        mended = _function(target.__func__, prove)
        same = mended is target.__func__
        return target if same else types.MethodType(mended, target.__self__)  # type: ignore[return-value]
    if isinstance(getattr(target, "_modules", None), dict):
        return _module(target, prove, {}, {})
    raise RewriteError(f"a {type(target).__name__} is neither a function nor a module")


def _function(function: types.FunctionType, prove: bool) -> types.FunctionType:
    name = function.__qualname__
    if hasattr(function, "__wrapped__") or hasattr(function, "_torchdynamo_orig_callable"):
        raise RewriteError(f"`{name}` is decorated: put rewrite below")
    if function.__name__ == "<lambda>":
        raise RewriteError("a lambda has no statements to rewrite: make it a function")
    source = Source(function, function.__code__.co_firstlineno, (name,), prove)
    helpers = source.add_helpers(function.__globals__)
    if not source.is_changed(source.name_of(name)) and not source.mentions(function, helpers):
        return function
    return source.remade(function, source.name_of(name), helpers)


def _class(cls: type, prove: bool, known: dict[type, type]) -> type:
    """Return a subclass with rewritten methods, over rewritten bases; `known` are those made."""
    if cls not in known:
        known[cls] = _made(cls, prove, known) if _is_ours(cls) else cls
    return known[cls]


def _is_ours(cls: type) -> bool:
    top = cls.__module__.partition(".")[0]
    return top not in ("builtins", "torch", "abc", "typing") and top not in sys.stdlib_module_names


def _made(cls: type, prove: bool, known: dict[type, type]) -> type:
    bases = [_class(base, prove, known) for base in cls.__bases__]
    bases = [made for made, base in zip(bases, cls.__bases__) if made is not base]
    prefix = cls.__qualname__ + "."
    own = {name: _plain(member) for name, member in vars(cls).items()}
    methods = {name: member for name, member in own.items() if member is not None}
    if not methods:
        return cls if not bases else _derived(cls, bases, {})
    names = (cls.__qualname__, *(prefix + name for name in methods))
    if any("_modules" in vars(base) or hasattr(base, "named_parameters") for base in cls.__mro__):
        names = (cls.__qualname__,)  # what its forward reaches
    source = Source(cls, 0, names, prove)
    helpers = source.add_helpers(vars(sys.modules[cls.__module__]))
    body: dict[str, Any] = {}
    for name, method in methods.items():
        if source.is_changed(prefix + name) or source.mentions(method, helpers):
            member = vars(cls)[name]
            remade = source.remade(method, prefix + name, helpers)
            body[name] = remade if member is method else type(member)(remade)
    if not body and not bases:
        return cls
    return _derived(cls, bases, {**body, "__rewrites__": source.summary} if body else body)


def _derived(cls: type, bases: list[type], body: dict[str, Any]) -> type:
    made = type(cls)(cls.__name__, (cls, *bases), {"__module__": cls.__module__, **body})
    made.__qualname__, made.__doc__ = cls.__qualname__, cls.__doc__
    return made


def _plain(member: Any) -> types.FunctionType | None:
    """Return the function of a method that no decorator stands before, else None."""
    inner = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
    if not isinstance(inner, types.FunctionType) or hasattr(inner, "__wrapped__"):
        return None
    return inner


def _module(target: Any, prove: bool, known: dict[type, type], made: dict[int, Any]) -> Any:
    """Return a twin of a module that shares its state, or the module if it needs no rewrite."""
    if id(target) in made:
        return made[id(target)]
    made[id(target)] = target  # while its children are looked at
    children = {
        name: child if child is None else _module(child, prove, known, made)
        for name, child in target._modules.items()
    }
    mended = _class(type(target), prove, known)
    same = all(children[name] is child for name, child in target._modules.items())
    if mended is type(target) and same:
        return target
    twin = copy.copy(target)
    twin.__class__ = mended
    if not same:
        twin.__dict__["_modules"] = children
    made[id(target)] = twin
    return twin
