"""Signatures of the callables whose overloads return different things, for ``TorchFacts.call``.

A part of ``generate_torch_facts.py``. One overload reads ``input:tensor,dim:int,keepdim:bool=,
*,out:any=>tensors:2``: names, kinds (``true`` and ``false`` for a literal flag), ``=`` where there
is a default, ``*`` before keyword-only parameters, then what the overload returns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch_facts_kinds as kinds

# ``torch.unique`` is written in Python: its annotations do not tell the flags apart.
_UNIQUE = (
    "return_inverse:false=,return_counts:false=,dim:int=>tensor",
    "return_inverse:true,return_counts:false=,dim:int=>tensors:2",
    "return_inverse:false=,*,return_counts:true,dim:int=>tensors:2",
    "return_inverse:false,return_counts:true,dim:int=>tensors:2",
    "return_inverse:true,return_counts:true,dim:int=>tensors:3",
)


def flag_signatures(prefix: str) -> list[str]:
    return [prefix + rest for rest in _UNIQUE]


def signatures() -> dict[str, list[str]]:
    """By full name; methods as ``torch.Tensor.max``, without ``self``."""
    found = {
        "torch.unique": flag_signatures("input:tensor,sorted:bool=,"),
        "torch.unique_consecutive": flag_signatures("input:tensor,"),
        "torch.Tensor.unique": flag_signatures("sorted:bool=,"),
        "torch.Tensor.unique_consecutive": flag_signatures(""),
    }
    sources = (
        ("torch.", kinds.parsed("_C/_VariableFunctions.pyi").body, 0),
        ("torch.nn.functional.", kinds.parsed("nn/functional.pyi").body, 0),
        ("torch.Tensor.", kinds.class_body("_C/__init__.pyi", "TensorBase"), 1),
    )
    for prefix, body, skipped in sources:
        by_name: dict[str, list[ast.FunctionDef]] = {}
        for node in body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                by_name.setdefault(node.name, []).append(node)
        for name, nodes in by_name.items():
            returned = {kinds.kind_of(node.returns) for node in nodes}
            if len(returned) > 1 and "any" not in returned:
                rows = [signature(node, skipped) for node in nodes]
                found.setdefault(prefix + name, list(dict.fromkeys(rows)))
    return found


def signature(node: ast.FunctionDef, skipped: int) -> str:
    """``skipped``: how many leading parameters a caller does not write (``self``)."""
    return ",".join(list(parameters(node.args))[skipped:]) + ">" + kinds.kind_of(node.returns)


def parameters(arguments: ast.arguments) -> Iterator[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    for index, argument in enumerate(positional):
        yield parameter(argument, index >= first_default)
    if arguments.vararg is not None:
        yield f"*{arguments.vararg.arg}"
    elif arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        yield parameter(argument, default is not None)


def parameter(argument: ast.arg, has_default: bool) -> str:
    return f"{argument.arg}:{parameter_kind(argument.annotation)}" + "=" * has_default


def parameter_kind(annotation: ast.expr | None) -> str:
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Literal":
        flag = annotation.slice
        if isinstance(flag, ast.Constant) and isinstance(flag.value, bool):
            return str(flag.value).lower()
    return kinds.kind_of(annotation)
