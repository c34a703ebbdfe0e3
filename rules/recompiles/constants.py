"""Which uses of a number make it a constant of the graph, measured on torch 2.13.

Int and float arguments turn dynamic after one recompile, unless Python itself needs their value
(`range(n)`, `layers[n]`), or an operator takes them as a constant (`dropout(x, p)`): then every
value compiles again.
"""

from __future__ import annotations

import ast
from typing import Any

from ..base.reading import shown
from ..base.scopes import own
from .loops import uses

# Calls that need a number's value, by the last part of the name; None: in any argument.
_OPERATORS: dict[str, frozenset[str] | None] = {
    "chunk": None,
    "split": None,
    "tensor_split": None,
    "unfold": None,
    "one_hot": None,
    "dropout": None,
    "bernoulli": None,
    "bernoulli_": None,
    "quantile": None,
    "huber_loss": None,
    "avg_pool1d": None,
    "avg_pool2d": None,
    "max_pool2d": None,
    "layer_norm": frozenset({"eps"}),
    "batch_norm": frozenset({"momentum", "eps"}),
    "smooth_l1_loss": frozenset({"beta"}),
    "cross_entropy": frozenset({"label_smoothing"}),
    "interpolate": frozenset({"scale_factor"}),
    "scaled_dot_product_attention": frozenset({"scale", "dropout_p"}),
}
_PYTHON = frozenset({"range", "math.log", "math.exp", "math.pow", "itertools.repeat"})
_CONTAINERS = ("ModuleList", "ModuleDict", "Sequential", "list", "dict", "tuple")
_DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp)


def specialising(function: Any, parameter: str) -> str:
    """Return the use that makes a parameter of a FunctionInfo a constant, as source; "" if none."""
    parents = {child: node for node in own(function.node) for child in ast.iter_child_nodes(node)}
    for name in uses(function, parameter):
        place: ast.AST = name
        while isinstance(parents.get(place), (ast.BinOp, ast.UnaryOp)):
            above = parents[place]
            if isinstance(above, ast.BinOp) and _repeats(above, place):
                return shown(above)
            if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mod):
                break  # a remainder takes few values
            place = above
        user = parents.get(place)
        if isinstance(user, ast.keyword):
            call = parents.get(user)
            if isinstance(call, ast.Call) and _needs(call, user.arg):
                return shown(call)
        elif isinstance(user, ast.Call) and place is not user.func and _needs(user, None):
            return shown(user)
        elif isinstance(user, ast.Slice):
            item = parents.get(user)
            if isinstance(item, ast.Subscript) and _is_container(item.value, function):
                return shown(item)
        elif isinstance(user, ast.Subscript) and place is user.slice:
            if _is_container(user.value, function):
                return shown(user)
    return ""


def _repeats(node: ast.BinOp, part: ast.AST) -> bool:
    """`[x] * n`"""
    other = node.right if node.left is part else node.left
    return isinstance(node.op, ast.Mult) and isinstance(other, (ast.List, ast.Tuple))


def _needs(call: ast.Call, keyword: str | None) -> bool:
    text = ast.unparse(call.func)
    if text in _PYTHON:
        return True
    last = text.rpartition(".")[2]
    if last not in _OPERATORS or "." not in text:
        return False
    names = _OPERATORS[last]
    return names is None or keyword in names


def _is_container(node: ast.expr, function: Any) -> bool:
    """Say whether a name or `self.x` holds a Python or module container, by what is assigned."""
    values: list[ast.expr] = []
    if isinstance(node, ast.Name):
        values = list(getattr(function.module.bindings.get(node.id), "values", ()))
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        cls = function.cls
        for method in cls.methods.values() if cls is not None else ():
            for part in own(method.node):
                if isinstance(part, ast.Assign):
                    if any(ast.unparse(t) == ast.unparse(node) for t in part.targets):
                        values.append(part.value)
    return bool(values) and all(_makes_container(value) for value in values)


def _makes_container(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in _CONTAINERS
    return isinstance(value, _DISPLAYS)
