"""A graph as canonical text: equal for equal graphs, whatever process captured them.

The text names nodes by their place and symbols by `symbols.Symbols`, writes out the metadata of
every value, and hashes the bytes of constants. It leaves out node names and stack traces. What it
can't write for sure (a user's function, an operator that keeps its operands in a table of this
process, an object of unknown type) raises `Unkeyable`, and the graph isn't cached.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from .symbols import Symbols, Unkeyable

# Higher-order operators whose operands say all. Others keep part of them in a table of this
# process (user-written Triton kernels, leaf functions), or hold opaque objects.
_PLAIN_HIGHER_ORDER = frozenset(
    "associative_scan auto_functionalized auto_functionalized_v2 cond flex_attention "
    "flex_attention_backward foreach_map inline_asm_elementwise invoke_subgraph map_impl out_dtype "
    "print run_and_save_rng_state run_const_graph run_with_rng_state scan strict_mode while_loop "
    "while_loop_stack_output with_effects wrap_with_autocast wrap_with_set_grad_enabled".split()
)
_FUNCTION_HOMES = ("_operator", "operator", "builtins", "math", "torch")
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_PLAIN = (torch.dtype, torch.layout, torch.memory_format, bool, int, complex, bytes, type(None))


class GraphText:
    """The text of one graph, line by line, and the devices that it mentions.

    Raises:
        Unkeyable: Part of it has no canonical text.
    """

    def __init__(self, gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> None:
        self.lines: list[str] = []
        self.devices: dict[torch.device, None] = {}
        self._symbols = Symbols(gm, inputs)
        self._seen: dict[int, int] = {}
        for value in inputs:
            self.lines.append(f"input {self._value(value)}")
        self._graph(gm)
        self.lines += self._symbols.facts()

    def _graph(self, gm: torch.fx.GraphModule) -> None:
        number: dict[torch.fx.Node, int] = {}
        for node in gm.graph.nodes:
            if node.op == "placeholder":
                head = "placeholder"
            elif node.op == "get_attr":
                head = f"get_attr {node.target} {self._attribute(gm, str(node.target))}"
            elif node.op in ("call_function", "output"):
                head = "output" if node.op == "output" else self._function(node.target)
                rename = "_assert" in head
                args = self._argument(node.args, number, rename)
                head = f"{head} {args} {self._argument(node.kwargs, number, rename)}"
            else:
                raise Unkeyable(f"a node of kind {node.op}")
            value = self._value(node.meta["val"]) if "val" in node.meta else "-"
            self.lines.append(f"%{len(number)} {head} -> {value}")
            number[node] = len(number)

    def _attribute(self, gm: torch.fx.GraphModule, target: str) -> str:
        value: Any = gm
        for name in target.split("."):
            value = getattr(value, name)
        if id(value) in self._seen:
            return f"same {self._seen[id(value)]}"
        self._seen[id(value)] = len(self._seen)
        if isinstance(value, torch.fx.GraphModule):
            self.lines.append("{")
            self._graph(value)
            self.lines.append("}")
            return "graph"
        if isinstance(value, torch.Tensor):
            return f"{self._tensor(value)} {_content(value)}"
        raise Unkeyable(f"attribute {target} of type {type(value)}")

    def _function(self, target: Any) -> str:
        if isinstance(target, OpOverload):
            return f"{target} {target._schema}"
        if isinstance(target, HigherOrderOperator):
            if target.name() not in _PLAIN_HIGHER_ORDER:
                raise Unkeyable(f"operator {target.name()}")
            return f"higher_order {target.name()}"
        if isinstance(target, Callable):
            home = getattr(target, "__module__", None) or ""
            name = getattr(target, "__qualname__", "<")
            if home.split(".")[0] in _FUNCTION_HOMES and "<" not in name:
                return f"{home}.{name}"
        raise Unkeyable(f"function {target!r}")

    def _argument(self, value: Any, number: dict[torch.fx.Node, int], rename: bool) -> str:
        """An argument, nested as it may be. `rename` puts canonical symbols into strings."""
        if isinstance(value, torch.fx.Node):
            return f"%{number[value]}"
        if isinstance(value, (list, tuple)):
            items = ",".join(self._argument(item, number, rename) for item in value)
            kind = _sequence(value)
            return f"{kind}({items})"
        if isinstance(value, Mapping):
            items = (
                f"{self._plain(key)}:{self._argument(item, number, rename)}"
                for key, item in value.items()
            )
            return f"{{{','.join(items)}}}"
        if isinstance(value, slice):
            parts = [value.start, value.stop, value.step]
            return f"slice{self._argument(parts, number, rename)}"
        if isinstance(value, (OpOverload, HigherOrderOperator)):
            return self._function(value)
        if isinstance(value, torch.Tensor):
            return f"{self._tensor(value)} {_content(value)}"
        if rename and isinstance(value, str):
            value = self._symbols.rename_in(value)
        return self._plain(value)

    def _value(self, value: Any) -> str:
        """What an input or a node's result is: the metadata of tensors, nested as it may be."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            return f"{_sequence(value)}({','.join(self._value(item) for item in value)})"
        return self._plain(value)

    def _plain(self, value: Any) -> str:
        if isinstance(value, _SYMBOLIC):
            return f"{type(value).__name__}:{self._symbols.text(value)}"
        if isinstance(value, torch.device):
            return self._device(value)
        if isinstance(value, str):
            return repr(str(value))
        if isinstance(value, Enum) and type(value).__module__.split(".")[0] == "torch":
            return str(value)
        if type(value) is float:
            return value.hex()
        if type(value) in _PLAIN or value is Ellipsis:
            return repr(value)
        raise Unkeyable(f"a value of type {type(value)}")

    def _tensor(self, value: torch.Tensor) -> str:
        if type(value) not in (torch.Tensor, torch.nn.Parameter, FakeTensor):
            raise Unkeyable(f"a tensor of type {type(value)}")
        if value.layout is not torch.strided or value.is_quantized:
            raise Unkeyable(f"a tensor of layout {value.layout}")
        text = self._symbols.text
        shape = ",".join([text(size) for size in value.shape])
        stride = ",".join([text(step) for step in value.stride()])
        flags = f"{value.requires_grad:d}{value.is_conj():d}{value.is_neg():d}"
        offset = text(value.storage_offset())
        device = self._device(value.device)
        return f"{value.dtype}[{shape}]({stride})+{offset} {device} {flags}"

    def _device(self, device: torch.device) -> str:
        self.devices[device] = None
        return str(device)


def _sequence(value: Any) -> str:
    """ "list" or "tuple" for those and torch's own kinds of them."""
    if type(value) in (list, tuple, torch.Size) or type(value).__module__.startswith("torch."):
        return "list" if isinstance(value, list) else "tuple"
    raise Unkeyable(f"a sequence of type {type(value)}")


def _content(value: torch.Tensor) -> str:
    """The SHA-256 of a constant's elements in row-major order."""
    if isinstance(value, FakeTensor) or value.device.type == "meta":
        raise Unkeyable("a constant without content")
    with _disable_current_modes():  # AOTAutograd compiles under a mode that takes fake tensors only
        flat = value.detach().resolve_conj().resolve_neg().cpu().contiguous()
        size = flat.numel() * flat.element_size()
        data = ctypes.string_at(flat.data_ptr(), size) if size else b""
    return hashlib.sha256(data).hexdigest()
