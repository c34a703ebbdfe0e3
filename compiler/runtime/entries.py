"""Programs and built kernels as the bytes of cache entries, and back.

A program is a JSON document: the host program's text, its kernels, and where each constant that
the text names is found in the graph, or which of torch's or Python's own functions it is. A built
kernel is three lengths, a JSON header, the binary and the assembly.
"""

from __future__ import annotations

import json
import struct
from functools import reduce
from importlib import import_module
from typing import Any

import torch

from .build import Built
from .program import Program
from .symbols import Unkeyable
from .wire import kernel_from_json, kernel_to_json

_LENGTHS = struct.Struct("<QQQ")
_FUNCTION_HOMES = ("_operator", "operator", "builtins", "math", "torch")


def encode_program(program: Program, gm: torch.fx.GraphModule) -> bytes:
    """A program as JSON; `gm` is the graph that it was lowered from.

    Raises:
        Unkeyable: A constant is neither an attribute of `gm` nor a known function.
    """
    places = _places(gm)
    constants = {}
    for name, value in program.constants.items():
        if id(value) in places:
            constants[name] = {"attribute": places[id(value)]}
        else:
            constants[name] = {"function": _function_place(value)}
    document = {
        "source": program.source,
        "kernels": [kernel_to_json(kernel) for kernel in program.kernels],
        "fallbacks": list(program.fallbacks),
        "constants": constants,
    }
    return json.dumps(document).encode()


def decode_program(data: bytes, gm: torch.fx.GraphModule) -> Program:
    """The program that `encode_program` wrote, with its constants taken from an equal graph.

    Raises:
        ValueError: The bytes hold no program, or not one of this graph.
    """
    try:
        document = json.loads(data)
        constants = {}
        for name, place in document["constants"].items():
            if "attribute" in place:
                constants[name] = _attribute(gm, place["attribute"])
            else:
                constants[name] = _function(*place["function"])
        return Program(
            source=document["source"],
            kernels=tuple(kernel_from_json(kernel) for kernel in document["kernels"]),
            fallbacks=tuple(document["fallbacks"]),
            constants=constants,
        )
    except (AttributeError, ImportError, KeyError, TypeError) as error:
        raise ValueError(f"no program of this graph: {error!r}") from error


def encode_built(built: Built) -> bytes:
    """A built kernel as bytes."""
    parts = json.dumps(built.header()).encode(), built.binary, built.assembly.encode()
    return _LENGTHS.pack(*map(len, parts)) + b"".join(parts)


def decode_built(data: bytes) -> Built:
    """The built kernel that `encode_built` wrote.

    Raises:
        ValueError: The bytes hold none.
    """
    try:
        head, binary, assembly = _LENGTHS.unpack_from(data)
        if len(data) != _LENGTHS.size + head + binary + assembly:
            raise ValueError("no built kernel: the lengths don't add up")
        text, rest = data[_LENGTHS.size :][:head], data[_LENGTHS.size + head :]
        return Built.of(json.loads(text), rest[:binary], rest[binary:].decode())
    except (struct.error, TypeError) as error:
        raise ValueError(f"no built kernel: {error!r}") from error


def _places(gm: torch.fx.GraphModule, prefix: str = "") -> dict[int, str]:
    """Where each attribute that the graph names is found, those of its subgraphs too."""
    places: dict[int, str] = {}
    for node in gm.graph.nodes:
        if node.op == "get_attr":
            path = f"{prefix}{node.target}"
            value = _attribute(gm, str(node.target))
            places[id(value)] = path
            if isinstance(value, torch.fx.GraphModule):
                places.update(_places(value, f"{path}."))
    return places


def _attribute(gm: torch.fx.GraphModule, path: str) -> Any:
    return reduce(getattr, path.split("."), gm)


def _function_place(value: Any) -> list[str]:
    """Module and name of a function that is the same in every process."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    try:
        if module and name and _function(module, name) is value:
            return [module, name]
    except (AttributeError, ImportError, KeyError):
        raise Unkeyable(f"a constant of type {type(value)}") from None
    raise Unkeyable(f"a constant of type {type(value)}")


def _function(module: str, name: str) -> Any:
    if module.split(".")[0] not in _FUNCTION_HOMES:
        raise KeyError(module)
    return reduce(getattr, name.split("."), import_module(module))
