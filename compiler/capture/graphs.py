"""A captured graph as Python text that runs."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

# Constants with more items than this are printed by their shape only.
WHOLE = 1024
INDENT = "    "


@dataclass(frozen=True, slots=True)
class GraphText:
    """One captured graph; `print` shows a module that `exec` runs.

    Args:
        stage: "forward", "backward" or "inference".
        source: A Python module that defines the class `Graph`, an nn.Module; `Graph()(*inputs)`
            computes what the graph does. The user's lines stand there as comments.
        operators: The operators in their order, "aten.sin.default".
        inputs: The inputs by name and type, "arg0_1: f32[3, 4]".
    """

    stage: str
    source: str
    operators: tuple[str, ...]
    inputs: tuple[str, ...]

    def __str__(self) -> str:
        return f"# {self.stage} graph of {', '.join(self.inputs) or 'nothing'}\n{self.source}"

    @classmethod
    def of(cls, stage: str, gm: torch.fx.GraphModule) -> GraphText:
        nodes = list(gm.graph.nodes)
        return cls(
            stage=stage,
            source=python_of(gm),
            operators=tuple(str(n.target) for n in nodes if n.op == "call_function"),
            inputs=tuple(
                f"{n.name}: {type_of(n.meta.get('val'))}" for n in nodes if n.op == "placeholder"
            ),
        )


def python_of(gm: torch.fx.GraphModule) -> str:
    """A module that defines `gm` as the class `Graph`, with all that it needs."""
    imports: dict[str, str] = {"torch": "import torch"}
    classes = list(_class(gm, "Graph", imports))
    head = sorted(imports.values(), key=lambda row: (not row.startswith("import"), row))
    return "\n".join(head) + "\n\n\n" + "\n\n\n".join(classes) + "\n"


def _class(gm: torch.fx.GraphModule, name: str, imports: dict[str, str]) -> Iterator[str]:
    """The classes of the graphs that `gm` calls (arms of a cond, a loop's body), then its own."""
    held: list[str] = []
    used = {str(node.target) for node in gm.graph.nodes if node.op == "get_attr"}
    used |= {str(node.target) for node in gm.graph.nodes if node.op == "call_module"}
    for target in sorted(used):
        value: Any = gm
        for part in target.split("."):
            value = getattr(value, part)
        if isinstance(value, torch.fx.GraphModule):
            inner = f"{name}_{target.replace('.', '_')}"
            yield from _class(value, inner, imports)
            held.append(f"self.{target} = {inner}()")
        elif isinstance(value, torch.Tensor):
            held.append(f"self.{target} = {_constant(value)}")
        else:
            raise TypeError(f"{target}: a graph holds a {type(value).__name__}")
    code = _code(gm)
    for alias, value in code.globals.items():
        if re.search(rf"\b{re.escape(alias)}\b", code.src):
            imports.setdefault(alias, _import(alias, value))
    body = [f"class {name}(torch.nn.Module):"]
    if held:
        body += [f"{INDENT}def __init__(self):", f"{INDENT * 2}super().__init__()"]
        body += [INDENT * 2 + row for row in held]
        body.append("")
    lines = [_clean(row) for row in code.src.strip("\n").splitlines()]
    body += [f"{INDENT}{row}".rstrip() for row in lines]
    yield "\n".join(body)


def _code(gm: torch.fx.GraphModule) -> Any:
    """FX's own code, with the user's lines as comments where this version of FX writes them."""
    try:
        return gm.graph.python_code("self", verbose=True)
    except TypeError:
        return gm.graph.python_code("self")


def _clean(row: str) -> str:
    """Without the freeing of names, and with the user's line as a short comment."""
    row = re.sub(r";  \w+( = \w+)* = None$", "", row)
    told = re.match(r"(\s*)# File: (.*?) in (\S+?), code: (.*)$", row)
    return f"{told[1]}# {told[2]}: {told[4]}" if told else row


def _import(alias: str, value: Any) -> str:
    if isinstance(value, types.ModuleType):
        name = value.__name__
        return f"import {name}" if alias == name else f"import {name} as {alias}"
    if value is type(None):
        return f"{alias} = type(None)"
    if isinstance(value, (int, float)):
        return f'{alias} = float("{value}")' if isinstance(value, float) else f"{alias} = {value}"
    owner, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if owner is None or name is None or "." in name:
        raise TypeError(f"{alias}: a graph names {value!r}, which can't be imported")
    return f"from {owner} import {name}" + ("" if alias == name else f" as {alias}")


def _constant(value: torch.Tensor) -> str:
    """An expression for a constant tensor; a large one as an empty tensor of its shape."""
    where = "" if value.device.type == "cpu" else f', device="{value.device}"'
    concrete = type(value) in (torch.Tensor, torch.nn.Parameter) and value.device.type != "meta"
    if concrete and value.numel() <= WHOLE:
        plain = value.detach().cpu()
        if plain.dtype not in (torch.float64, torch.bool) and plain.is_floating_point():
            plain = plain.double()
        text = repr(plain.tolist()).replace("nan", 'float("nan")').replace("inf", 'float("inf")')
        shape = tuple(value.shape)
        return f"torch.tensor({text}, dtype={value.dtype}{where}).reshape({shape})"
    shape, stride = tuple(value.shape), tuple(value.stride())
    return f"torch.empty_strided({shape}, {stride}, dtype={value.dtype}{where})  # values left out"


def type_of(value: Any) -> str:
    """A short name of a fake value: "f32[3, s0]", "int"."""
    if isinstance(value, torch.Tensor):
        kind = re.sub(r"^(float|int|uint|bfloat|complex)", _letter, str(value.dtype)[6:])
        return f"{kind}[{', '.join(map(str, value.shape))}]"
    return type(value).__name__.removeprefix("Sym").lower()


def _letter(kind: re.Match) -> str:
    return {"float": "f", "int": "i", "uint": "u", "bfloat": "bf", "complex": "c"}[kind[1]]
