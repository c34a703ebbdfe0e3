"""Which functions are about tensors: those that `--entry all` takes for compiled."""

from __future__ import annotations

import ast

from ..rules.base.facts import Array, ClassRef, Fact, Instance, Mapping, Sequence, Tensor, options
from .analysis import parameters
from .analysis.analyzer import Analyzer
from .analysis.classes import is_module_class, resolve_ancestry
from .analysis.construction import called_here
from .analysis.members import METACLASSES, MODULE_ONLY
from .analysis.stores import attributes
from .analysis.tells import TENSOR_METHODS
from .index import ClassInfo, FunctionInfo

_QUIET_METHODS = frozenset(
    [
        "__init__",
        "__repr__",
        "__str__",
        "extra_repr",
        "__setstate__",
        "__getstate__",
        "__del__",
        "__init_subclass__",
        "__post_init__",
        "reset_parameters",
        "init_weights",
        "_init_weights",
        "__reduce__",
        "__new__",
        "__hash__",
        "from_pretrained",
        "save_pretrained",
        "main",
        "example_inputs",
    ]
)
_OF_SUBCLASSES = frozenset({"__new__", "__getitem__", "__setitem__"})


def handles_tensors(analyzer: Analyzer, function: FunctionInfo) -> bool:
    """Say whether a function is about tensors: such a parameter, or torch or NumPy in its body.

    A module or an optimizer as a parameter counts, too: what is handed to `update(model, loader)`.
    """
    if isinstance(function.node, ast.Lambda):
        return False
    if function.name in _OF_SUBCLASSES and _of_tensors(analyzer, function):
        return True  # a tensor subclass is made wherever its operators give one, and indexed
    if function.name in _QUIET_METHODS and not _makes_object(analyzer, function):
        return False
    if _builds_module(analyzer, function):
        return False
    for fact in parameters.guess(analyzer, function).values():
        if any(_tensorlike(option) for option in options(fact)):
            return True
    if function.name == "__init__":
        return False
    if _is_given_module(analyzer, function):
        return True
    if function.name == "__call__" and _of_metaclass(analyzer, function):
        return True  # a frame of its own wherever an object is made outside of a graph
    if function.cls is not None and is_module_class(analyzer, function.cls):
        return True
    if any(map(speaks_of_tensors, function.nodes)) or _makes_function(function):
        return True
    if function.cls is not None and _reads_tensors(analyzer, function, function.cls):
        return True
    return _calls_own_module(analyzer, function)


def _builds_module(analyzer: Analyzer, function: FunctionInfo) -> bool:
    """Say whether a function says that it returns a module, and is given none: it builds one."""
    if isinstance(function.node, ast.Lambda) or function.node.returns is None:
        return False
    if function.cls is not None and is_module_class(analyzer, function.cls):
        return False
    made = analyzer.declared_return(function)
    if not isinstance(made, Instance) or not made.module:
        return False
    params = parameters.guess(analyzer, function).values()
    return not any(_tensorlike(o) or _runs(o) for fact in params for o in options(fact))


def _is_given_module(analyzer: Analyzer, function: FunctionInfo) -> bool:
    """Say whether a parameter besides `self` is a module or an optimizer, and gets called."""
    own = parameters.first_name(function) if function.cls is not None else ""
    given = {
        name
        for name, fact in parameters.guess(analyzer, function).items()
        if name != own and any(_runs(option) for option in options(fact))
    }
    return bool(given) and any(
        type(node) is ast.Call and _root(node.func) in given for node in function.nodes
    )


def _runs(fact: Fact) -> bool:
    if not isinstance(fact, Instance):
        return False
    return fact.module or (isinstance(fact.cls, str) and fact.cls.startswith("torch.optim."))


def _root(node: ast.expr) -> str:
    """Return the name that `model(x)` and `optimizer.step()` call, or a method of."""
    if type(node) is ast.Attribute:
        node = node.value
    return node.id if type(node) is ast.Name else ""


def _calls_own_module(analyzer: Analyzer, function: FunctionInfo) -> bool:
    """Say whether a function makes a module of the project and calls it."""
    module = function.module
    for node in function.nodes:
        if not (type(node) is ast.Call and type(node.func) is ast.Name):
            continue
        if node.func.id in module.bindings and called_here(function, node):
            made = analyzer.static_value(module, node.func)
            if isinstance(made, ClassRef) and is_module_class(analyzer, made.cls):
                return True
    return False


def _makes_function(function: FunctionInfo) -> bool:
    """Say whether a nested function is about tensors: what a factory returns is compiled, too.

    So it is with an operator: `class Solve(torch.autograd.Function)` in a function.
    """
    return any(
        (type(node) is ast.ClassDef and any(map(_is_operator, node.bases)))
        or (
            type(node) is ast.FunctionDef
            and (
                any(map(_is_tensor, node.args.args))
                or any(map(speaks_of_tensors, function.inside(node)))
            )
        )
        for node in function.nodes
    )


def _is_operator(base: ast.expr) -> bool:
    return _last_name(base) == "Function"


def _is_tensor(param: ast.arg) -> bool:
    return "Tensor" in _last_name(param.annotation)


def _last_name(node: ast.expr | None) -> str:
    """Return what `a.b.c`, or `c`, ends in; "" for other expressions."""
    return getattr(node, "attr", getattr(node, "id", ""))


def speaks_of_tensors(node: ast.AST) -> bool:
    """Say whether a node names torch or NumPy, or calls a method that only tensors have."""
    if type(node) is ast.Name:
        return node.id in ("torch", "F", "np", "numpy")
    if type(node) is ast.Call and type(node.func) is ast.Attribute:
        name = node.func.attr
        return name in TENSOR_METHODS or name in MODULE_ONLY or (name == "item" and not node.args)
    return False


def _of_metaclass(analyzer: Analyzer, function: FunctionInfo) -> bool:
    cls = function.cls
    return cls is not None and not METACLASSES.isdisjoint(resolve_ancestry(analyzer, cls).external)


def _of_tensors(analyzer: Analyzer, function: FunctionInfo) -> bool:
    cls = function.cls
    return cls is not None and "torch.Tensor" in resolve_ancestry(analyzer, cls).external


def _makes_object(analyzer: Analyzer, function: FunctionInfo) -> bool:
    """Say whether it is the constructor of objects that regions make: modules are made before."""
    cls = function.cls
    if cls is None or is_module_class(analyzer, cls):
        return False
    if function.name == "__post_init__":
        return _reads_tensors(analyzer, function, cls)
    return function.name == "__init__"


def _reads_tensors(analyzer: Analyzer, function: FunctionInfo, cls: ClassInfo) -> bool:
    """Say whether a method reads attributes of its object that are tensors, or hold some."""
    this = parameters.first_name(function)
    read = {
        node.attr
        for node in function.nodes
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == this
    }
    if not read:
        return False
    table = attributes(analyzer, cls)
    return any(_tensorlike(o) for name in read if name in table for o in options(table[name]))


def _tensorlike(fact: Fact) -> bool:
    if isinstance(fact, (Tensor, Array)):
        return True
    if isinstance(fact, Sequence):
        return any(isinstance(o, Tensor) for o in options(fact.elem)) or any(
            isinstance(o, Tensor) for item in fact.items or () for o in options(item)
        )
    return isinstance(fact, Mapping) and isinstance(fact.elem, Tensor)
