"""The host's side of a compiled graph as Python text: allocate, launch, call ATen, return.

The text is the artefact: it's what runs, what `print` shows and what the cache keeps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy
import torch
from sympy import Expr
from torch.utils import _pytree as pytree
from torch.utils._sympy.functions import FloorDiv, Mod
from torch.utils._sympy.printers import PythonPrinter

from ..ir.index import Div, Rem
from ..ir.nodes import Buffer, Call, Constant, Graph, Loop, Nest, Product, Ref, View
from ..triton.emit import Emitted
from ..triton.kernel import Kernel
from . import control, host

_WORD = re.compile(r"\b(?:arg|buf|out|constant_)\d+\b")


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled graph, ready to be bound to a device.

    Attributes:
        source: A Python module that defines `call(args)`; it names kernels `kernel_0` ….
        kernels: In the order of those names.
        fallbacks: Operators that the program calls through ATen.
        constants: Values that the source names and that aren't text: subgraphs, lifted tensors.
    """

    source: str
    kernels: tuple[Kernel, ...]
    fallbacks: tuple[str, ...]
    constants: Mapping[str, Any] = field(default_factory=dict)

    def bind(self, launchers: Sequence[Callable[..., None]]) -> Callable[[list], list]:
        """`call` with each kernel's name bound to what launches it."""
        namespace: dict[str, Any] = dict(self.constants)
        namespace.update(vars(control))
        namespace.update(vars(host))
        namespace["torch"] = torch
        for k, launcher in enumerate(launchers):
            namespace[f"kernel_{k}"] = launcher
        exec(compile(self.source, "<compile_lint program>", "exec"), namespace)
        return namespace["call"]


def size_text(e: Any) -> str:
    """A size expression as Python."""
    if isinstance(e, Expr):
        e = e.replace(Div, FloorDiv).replace(Rem, Mod)
        if e.is_Integer:
            return str(int(e))
        return PythonPrinter().doprint(e)
    if isinstance(e, sympy.logic.boolalg.Boolean):
        return PythonPrinter().doprint(e)
    return repr(e)


def _tuple(items: Sequence[Any]) -> str:
    inside = ", ".join(size_text(i) for i in items)
    return f"({inside},)" if len(items) == 1 else f"({inside})"


@dataclass(frozen=True, slots=True)
class Part:
    """A lowered graph with its kernels.

    Attributes:
        emitted: The kernel of each nest, by its place in the graph.
        fallbacks: Operators that it leaves to ATen, those of its subgraphs too.
        parts: Its subgraphs by their constants' names; None: run by ATen.
        saved: How many of its results, the last ones, are kept for a backward graph.
        exact: For products in TF32, the kernel that runs once the user has forbidden that.
        takes: Buffers that get no memory of their own, and the buffer whose memory they take over.
    """

    graph: Graph
    emitted: Mapping[int, Emitted]
    fallbacks: tuple[str, ...]
    parts: Mapping[str, Part | None] = field(default_factory=dict)
    saved: int = 0
    exact: Mapping[int, Emitted] = field(default_factory=dict)
    takes: Mapping[str, Buffer] = field(default_factory=dict)


class Writer:
    """Writes the program of a graph. A subgraph is a function inside its graph's function, where
    it sees the sizes known there; kernels and constants are the whole program's (`outer`)."""

    def __init__(self, part: Part, outer: Writer | None = None) -> None:
        self.part = part
        self.graph = part.graph
        self.emitted = part.emitted
        self.inside = outer is not None
        self.lines: list[str] = []
        self.constants: dict[str, Any] = outer.constants if outer else dict(part.graph.constants)
        self.kernels: dict[Kernel, tuple[int, Kernel]] = outer.kernels if outer else {}
        self.operators: dict[str, str] = outer.operators if outer else {}
        self.allocated: set[str] = set()
        self.laid_out = self._needing_layout()

    def write(self) -> Program:
        function = self._function("call")
        operators = [f"{name} = operator({text})" for name, text in self.operators.items()]
        source = "".join(f"{line}\n" for line in (*operators, *function))
        named = set(_WORD.findall(source))
        return Program(
            source,
            tuple(kernel for _, kernel in self.kernels.values()),
            self.part.fallbacks,
            {name: value for name, value in self.constants.items() if name in named},
        )

    def _function(self, name: str) -> list[str]:
        functions = []
        for constant, part in self.part.parts.items():
            if part is not None:
                functions += Writer(part, self)._function(_subgraph_name(constant))
        self._inputs()
        for k, node in enumerate(self.graph.nodes):
            if isinstance(node, Loop):
                self._launch(node.nest, self.emitted[k])
            elif isinstance(node, Product):
                self._multiply(node, self.emitted[k], self.part.exact.get(k))
            elif isinstance(node, Call):
                self._call(node)
            else:
                self._launch(node, self.emitted[k])
        result = ", ".join(self._output(value) for value in self.graph.outputs)
        self.lines.append(f"return [{result}]")
        return [f"def {name}(args):", *(f"    {line}" for line in (*functions, *self._freed()))]

    def _inputs(self) -> None:
        names = []
        bound: set[str] = set()
        for k, given in enumerate(self.graph.inputs):
            if isinstance(given, Buffer):
                names.append(given.name)
            elif isinstance(given, sympy.Symbol):
                names.append(given.name)
                bound.add(given.name)
            else:
                names.append(f"_{k}")
        if names:
            self.lines.append(f"{', '.join(names)}, = args")
        self.lines.append("args.clear()")
        for given in self.graph.inputs:
            if isinstance(given, Buffer):
                for dim, n in enumerate(given.size):
                    if isinstance(n, sympy.Symbol) and n.name not in bound:
                        self.lines.append(f"{n.name} = {given.name}.size({dim})")
                        bound.add(n.name)
        if self.inside:  # its caller hands it rows of tensors, or its own results
            used = self._used()
            for given in self.graph.inputs:
                if isinstance(given, Buffer) and given.size and given.name in used:
                    stride = _tuple(given.stride)
                    self.lines.append(f"{given.name} = laid_out({given.name}, {stride})")

    def _needing_layout(self) -> set[str]:
        """Buffers that something relies on to have the strides that tracing gave them.

        ATen's results may be laid out otherwise than its fake tensors said; ATen doesn't mind.
        """
        names = {name for emitted in self.emitted.values() for name in emitted.buffers}
        views = [v for v in self.graph.outputs if isinstance(v, View)]
        results = self.graph.outputs
        saved = results[len(results) - self.part.saved :]  # for the backward graph's kernels
        names |= {v.buffer.name for v in saved if isinstance(v, View)}
        for node in self.graph.nodes:
            if isinstance(node, Call):
                refs = pytree.tree_leaves((node.args, node.kwargs))
                views += [x.view for x in refs if isinstance(x, Ref)]
        return names | {v.buffer.name for v in views if not v.whole}

    def _used(self) -> set[str]:
        """Buffers that some kernel, call or result refers to."""
        used = {v.buffer.name for v in self.graph.outputs if isinstance(v, View)}
        for emitted in self.emitted.values():
            used |= set(emitted.buffers)
        for node in self.graph.nodes:
            if isinstance(node, Call):
                used |= node.reads
        return used

    def _launch(self, nest: Nest, emitted: Emitted) -> None:
        for store in nest.stores:
            if store.buffer.name not in nest.inplace:
                self._allocate(store.buffer)
        if any(n == 0 for n in (*nest.sizes, *nest.rsizes)):
            return
        name = self._kernel(emitted, nest.names)
        for origin in nest.origins[:3]:
            self.lines.append(f"# {origin}")
        self.lines.append(f"{name}({self._passed(emitted)})")

    def _multiply(self, node: Product, emitted: Emitted, exact: Emitted | None) -> None:
        for _, buffer in node.outputs:
            self._allocate(buffer)
        name = self._kernel(emitted, (node.kind,))
        if exact is not None:
            name = f"({name} if tf32_convolutions() else {self._kernel(exact, (node.kind,))})"
        self.lines += [f"# {origin}" for origin in node.origins if origin]
        self.lines.append(f"{name}({self._passed(emitted)})")

    def _passed(self, emitted: Emitted) -> str:
        return ", ".join((*emitted.buffers, *(size_text(e) for e in emitted.sizes)))

    def _kernel(self, emitted: Emitted, names: tuple[str, ...]) -> str:
        """What the program calls a kernel, which may be another node's too."""
        kernel = emitted.kernel
        # One that only copies reads the same for every dtype: its arguments tell.
        key = replace(kernel, origins=())
        if key not in self.kernels:
            number = len(self.kernels)
            name = _kernel_name(names, number)
            source = kernel.source.replace("def kernel(", f"def {name}(")
            self.kernels[key] = (number, replace(kernel, name=name, source=source))
        number, _ = self.kernels[key]
        return f"kernel_{number}"

    def _allocate(self, buffer: Buffer) -> None:
        if buffer.name in self.allocated:
            return
        self.allocated.add(buffer.name)
        taken = self.part.takes.get(buffer.name)
        if taken is not None:
            whole = View(taken, buffer.size, buffer.stride)
            self.lines.append(f"{buffer.name} = {self._view(whole)}")
            return
        kind = f"{_tuple(buffer.size)}, {_tuple(buffer.stride)}, {buffer.dtype}"
        if buffer.device.type == "cuda":
            self.lines.append(f"{buffer.name} = empty_cuda({kind})")
        else:
            self.lines.append(f"{buffer.name} = empty({kind}, {self._constant(buffer.device)})")

    def _call(self, call: Call) -> None:
        args = [self._constant(a) for a in call.args]
        args += [f"{name}={self._constant(value)}" for name, value in call.kwargs.items()]
        if call.origins and call.origins[0]:
            self.lines.append(f"# {call.origins[0]}")
        lone = len(call.outputs) == 1 and call.outputs[0][0] == ()
        result = call.outputs[0][1].name if lone else call.result
        self.lines.append(f"{result} = {self._target(call.target)}({', '.join(args)})")
        for path, buffer in call.outputs:
            if path:
                place = "".join(f"[{k}]" for k in path)
                self.lines.append(f"{buffer.name} = {call.result}{place}")
        for symbol, path in call.symbols:
            self.lines.append(f"{symbol} = {_follow(result, path)}")
        for _, buffer in call.outputs:
            self.allocated.add(buffer.name)
            if buffer.size and buffer.name in self.laid_out:
                stride = _tuple(buffer.stride)
                self.lines.append(f"{buffer.name} = laid_out({buffer.name}, {stride})")

    def _target(self, target: Any) -> str:
        if isinstance(target, torch._ops.OpOverload):
            name = str(target).replace(".", "_")
            self.operators[name] = f"torch.ops.{target}"
            return name
        if isinstance(target, torch._ops.HigherOrderOperator):
            if target.__name__ in control.HOSTED and self.part.parts:
                return target.__name__
            name = f"torch.ops.higher_order.{target.__name__}"
            if getattr(torch.ops.higher_order, target.__name__, None) is target:
                return name
        return self._opaque(target)

    def _opaque(self, value: Any) -> str:
        for name, known in self.constants.items():
            if known is value:
                return name
        name = f"constant_{len(self.constants)}"
        self.constants[name] = value
        return name

    def _constant(self, value: Any) -> str:
        """An argument as Python text; what has no text becomes a named constant."""
        if isinstance(value, Ref):
            return self._view(value.view)
        if isinstance(value, Constant):
            if value in self.part.parts:
                compiled = self.part.parts[value] is not None
                return _subgraph_name(value) if compiled else f"boxed({value})"
            return str(value)
        if isinstance(value, (Expr, sympy.logic.boolalg.Boolean)):
            return size_text(value)
        if isinstance(value, float):
            return f'float("{value}")' if value != value or value in (INF, -INF) else repr(value)
        if value is None or isinstance(value, (bool, int, str, complex)):
            return repr(value)
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return str(value)
        if isinstance(value, torch.device):
            return f"torch.device({str(value)!r})"
        if isinstance(value, (list, tuple)):
            inside = ", ".join(self._constant(v) for v in value)
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * bool(value)})"
        if isinstance(value, dict):
            inside = ", ".join(f"{k!r}: {self._constant(v)}" for k, v in value.items())
            return f"{{{inside}}}"
        return self._opaque(value)

    def _view(self, view: View) -> str:
        name = view.buffer.name
        if view.whole:
            return name
        return (
            f"reinterpret({name}, {_tuple(view.size)}, {_tuple(view.stride)}, "
            f"{size_text(view.offset)})"
        )

    def _output(self, value: Any) -> str:
        return self._view(value) if isinstance(value, View) else self._constant(value)

    def _freed(self) -> list[str]:
        """The lines, with `del` after the last use of each buffer."""
        last: dict[str, int] = {}
        for k, line in enumerate(self.lines):
            for name in _WORD.findall(line.partition("  # ")[0]):
                last[name] = k
        ends: dict[int, list[str]] = {}
        for name, k in last.items():
            if k < len(self.lines) - 1 and not name.startswith("constant_"):
                ends.setdefault(k, []).append(name)
        result = []
        for k, line in enumerate(self.lines):
            result.append(line)
            if k in ends:
                result.append(f"del {', '.join(sorted(ends[k]))}")
        return result


INF = float("inf")


def _subgraph_name(constant: str) -> str:
    return constant.replace("constant", "subgraph")


def _kernel_name(names: tuple[str, ...], number: int) -> str:
    ops = dict.fromkeys(re.sub(r"_\d+$", "", name) for name in names if name)
    return f"fused_{'_'.join(list(ops)[:5])}_{number}"[:120]


def _follow(result: str, path: tuple) -> str:
    """Where a size is found in a result: torch's key path as Python."""
    text = result
    method = False
    for key in path:
        name = type(key).__name__
        if name == "CallMethodKey":
            text, method = f"{text}.{key.name}", True
        elif isinstance(key, pytree.SequenceKey):
            text = f"{text}({key.idx})" if method else f"{text}[{key.idx}]"
            method = False
        elif name == "ConvertIntKey":
            text = f"int({text})"
        elif name == "DivideByKey":
            text = f"{text} // {size_text(key.divisor)}"
        else:
            raise TypeError(f"a size at {key!r}")
    return f"{text}()" if method else text
