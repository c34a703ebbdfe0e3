"""Random programs: a hypothesis strategy for the source text of a function on a few tensors.

Every statement is run as it is drawn, so a program is valid by construction; one that eager refuses
is left out, which also lets hypothesis shrink a failing program to a few lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int64", "int32", "uint8")
LAYOUTS = ("contiguous", "transposed", "strided", "channels_last", "expanded")
SIZES = (2, 3, 4, 2, 3, 1, 7, 5, 2, 3, 33, 0)
LARGEST = 2048


@dataclass(frozen=True, slots=True)
class Input:
    """A tensor argument: `values` are drawn from `seed`; see `make` for the layouts."""

    shape: tuple[int, ...]
    dtype: str
    layout: str
    grad: bool
    seed: int

    def make(self) -> torch.Tensor:
        """The tensor; a layout that its shape can't have is left contiguous."""
        dtype = getattr(torch, self.dtype)
        shape = list(self.shape)
        if self.layout == "transposed":
            shape = shape[::-1]
        elif self.layout == "strided" and shape:
            shape[-1] *= 2
        elif self.layout == "expanded" and shape:
            shape[0] = 1
        draw = torch.Generator().manual_seed(self.seed)
        if dtype == torch.bool:
            x = torch.rand(shape, generator=draw) > 0.5
        elif dtype.is_floating_point:
            x = (torch.randn(shape, generator=draw) * 1.5).to(dtype)
        else:
            low = 0 if dtype == torch.uint8 else -5
            x = torch.randint(low, 6, shape, generator=draw, dtype=dtype)
        if self.layout == "transposed":
            x = x.permute(list(range(x.dim()))[::-1])
        elif self.layout == "strided" and shape:
            x = x[..., ::2]
        elif self.layout == "channels_last" and x.dim() == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        elif self.layout == "expanded" and shape:
            x = x.expand(self.shape)
        return x.requires_grad_(self.grad)


@dataclass(frozen=True, slots=True)
class Program:
    """Source text of `f(x0, …)`, and its inputs."""

    source: str
    inputs: tuple[Input, ...]

    def function(self, **names: Any) -> Callable:
        """`f`, with `cond` and torch among its globals."""
        space: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, **names}
        exec(compile(self.source, "<program>", "exec"), space)
        return space["f"]

    def __str__(self) -> str:
        inputs = "\n".join(f"# x{n} = {given}" for n, given in enumerate(self.inputs))
        return f"{inputs}\n{self.source}"


def branch(predicate: torch.Tensor, true: Callable, false: Callable, operands: tuple) -> Any:
    """What `torch.cond` computes, in plain Python."""
    return (true if predicate else false)(*operands)


@st.composite
def programs(draw: Callable, halves: bool = True, longest: int = 10) -> Program:
    """Programs of up to `longest` statements on one to three inputs."""
    builder = _Builder(draw, halves)
    for _ in range(draw(st.integers(1, 3))):
        builder.add_input()
    for _ in range(draw(st.integers(3, longest))):
        builder.add_statement()
    return builder.finish()


UNARY = """sin cos tanh sigmoid exp neg abs relu floor ceil round erf expm1 square sign isnan
logical_not rsqrt reciprocal log1p softplus gelu silu trunc atan positive""".split()
BINARY = """add sub mul maximum minimum div eq lt ge ne atan2 remainder fmod hypot logical_and
logical_or bitwise_and bitwise_xor floor_divide""".split()
REDUCTIONS = "sum mean amax amin var std any all logsumexp prod argmax argmin norm".split()
ALONG = "softmax log_softmax cumsum cumprod logcumsumexp".split()
SCALARS = ("2", "-1", "0.5", "3.0", "True")


class _Builder:
    """Statements so far, and the values that running them gave."""

    def __init__(self, draw: Callable, halves: bool) -> None:
        self.draw = draw
        self.floats = FLOATS if halves else FLOATS[:2]
        self.inputs: list[Input] = []
        self.lines: list[str] = []
        self.env: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, "cond": branch}
        self.tensors: list[str] = []

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def add_input(self) -> None:
        base = self.inputs[0].shape if self.inputs and self.draw(st.booleans()) else None
        if base is None:
            shape = tuple(self.draw(st.lists(st.sampled_from(SIZES), max_size=4)))
        else:  # one that broadcasts against the first
            shape = tuple(1 if self.draw(st.booleans()) else size for size in base)
            shape = shape[self.draw(st.integers(0, len(shape))) :]
        dtype = self.pick(["float32", *self.floats, *INTS, "bool"])
        grad = dtype in FLOATS and self.draw(st.booleans())
        made = Input(shape, dtype, self.pick(LAYOUTS), grad, self.draw(st.integers(0, 9)))
        name = f"x{len(self.inputs)}"
        self.inputs.append(made)
        self.env[name] = made.make()
        self.tensors.append(name)

    def finish(self) -> Program:
        arguments = ", ".join(f"x{n}" for n in range(len(self.inputs)))
        # What no later statement reads is returned, so that nothing is dead code.
        unread = [n for n in self.tensors if n[0] == "v" and not self._read(n)]
        result = ", ".join(unread or self.tensors[-1:])
        body = "".join(f"    {line}\n" for line in self.lines)
        return Program(f"def f({arguments}):\n{body}    return {result},\n", tuple(self.inputs))

    def _read(self, name: str) -> bool:
        later = (line.split(" = ", 1)[-1] for line in self.lines)
        return any(re.search(rf"\b{name}\b", text) for text in later)

    # --- statements ---------------------------------------------------------------------------

    def add_statement(self) -> None:
        """Draw a statement; left out when eager refuses it or its result is large."""
        kind = self.pick(KINDS)
        expression = getattr(self, f"_{kind}")()
        if expression is None:
            return
        in_place = expression.startswith("!")
        name = f"v{len(self.tensors)}"
        line = expression[1:] if in_place else f"{name} = {expression}"
        before = dict(self.env)
        try:
            exec(line, self.env)
        except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError):
            self.env = before
            return
        if not in_place:
            value = self.env[name]
            if not isinstance(value, torch.Tensor) or value.numel() > LARGEST:
                self.env = before
                return
            self.tensors.append(name)
        self.lines.append(line)

    def any(self) -> str:
        return self.pick(self.tensors[::-1])

    def of(self, wanted: Callable[[torch.Tensor], bool]) -> str | None:
        names = [name for name in self.tensors[::-1] if wanted(self.env[name])]
        return self.pick(names) if names else None

    def floating(self) -> str | None:
        return self.of(lambda x: x.is_floating_point())

    def dim(self, name: str) -> int | None:
        rank = self.env[name].dim()
        return self.draw(st.integers(-rank, rank - 1)) if rank else None

    def _unary(self) -> str:
        name, op = self.any(), self.pick(UNARY)
        return f"{'F' if op in ('softplus', 'gelu', 'silu') else 'torch'}.{op}({name})"

    def _binary(self) -> str:
        return f"torch.{self.pick(BINARY)}({self.any()}, {self.any()})"

    def _scalar(self) -> str:
        form = self.pick(["{x} * {s}", "{x} + {s}", "{s} - {x}", "{x} / {s}", "{x} > {s}"])
        return form.format(x=self.any(), s=self.pick(SCALARS))

    def _where(self) -> str | None:
        mask = self.of(lambda x: x.dtype == torch.bool)
        return mask and f"torch.where({mask}, {self.any()}, {self.pick([self.any(), '0.0', '7'])})"

    def _masked_fill(self) -> str | None:
        mask = self.of(lambda x: x.dtype == torch.bool)
        return mask and f"{self.any()}.masked_fill({mask}, {self.pick(['0', '2'])})"

    def _cast(self) -> str:
        """Floats outside an integer's range have no defined value: they are clamped before."""
        name, dtype = self.any(), self.pick([*self.floats, *INTS, "bool"])
        if dtype in INTS and self.env[name].is_floating_point():
            name = f"{name}.nan_to_num(0.0).clamp({0 if dtype == 'uint8' else -100}, 100)"
        return f"{name}.to(torch.{dtype})"

    def _clamp(self) -> str:
        return f"{self.any()}.clamp({self.pick(['0', '-1'])}, {self.pick(['1', '2.5'])})"

    def _reduce(self) -> str:
        name, op = self.any(), self.pick(REDUCTIONS)
        if (dim := self.dim(name)) is None or self.draw(st.booleans()):
            return f"{name}.{op}({'' if op != 'logsumexp' else '()'})"
        second = self.dim(name)
        dims = f"({dim}, {second})" if op in ("sum", "mean", "amax", "var") else f"{dim}"
        dims = f"{dim}" if self.draw(st.booleans()) else dims
        return f"{name}.{op}(dim={dims}, keepdim={self.draw(st.booleans())})"

    def _along(self) -> str | None:
        name = self.any()
        return None if (dim := self.dim(name)) is None else f"{name}.{self.pick(ALONG)}({dim})"

    def _sort(self) -> str | None:
        name = self.any()
        how = self.pick(["max", "min", "sort"])
        return None if (dim := self.dim(name)) is None else f"{name}.{how}({dim})[0]"

    def _norm(self) -> str | None:
        name = self.of(lambda x: x.is_floating_point() and x.dim() > 0)
        return name and f"F.layer_norm({name}, {name}.shape[-1:])"

    def _view(self) -> str | None:
        name = self.any()
        if (dim := self.dim(name)) is None:
            return f"{name}.{self.pick(['unsqueeze(0)', 'view(1)', 'expand(3)'])}"
        other = self.dim(name)
        size = self.env[name].shape[dim]
        forms = [
            f"transpose({dim}, {other})",
            f"unsqueeze({dim})",
            f"flip({dim})",
            f"narrow({dim}, {self.draw(st.integers(0, size))}, 1)",
            "reshape(-1)",
            f"flatten(0, {dim})",
            f"movedim({dim}, {other})",
            f"squeeze({dim})",
            f"diagonal(0, {dim}, {other})",
            f"select({dim}, {-1 if size else 0})",
            f"unfold({dim}, 2, 1)",
            f"roll(1, {dim})",
            f"chunk(2, {dim})[-1]",
            "contiguous()",
            f"expand(2, {', '.join(['-1'] * self.env[name].dim())})",
            f"repeat({', '.join(['2'] * self.env[name].dim())})",
        ]
        return f"{name}.{self.pick(forms)}"

    def _slice(self) -> str:
        parts = ["1:", ":-1", "::2", "0", "None", "...", "1:3", "[0, -1]", "-1", ":"]
        drawn = self.draw(st.lists(st.sampled_from(parts), min_size=1, max_size=3))
        return f"{self.any()}[{', '.join(drawn)}]"

    def _join(self) -> str | None:
        name = self.any()
        same = [n for n in self.tensors if self.env[n].shape == self.env[name].shape]
        other, dim = self.pick(same), self.dim(name) or 0
        return f"torch.{self.pick(['cat', 'stack'])}([{name}, {other}], {dim})"

    def _gather(self) -> str | None:
        name = self.of(lambda x: x.dim() > 0 and x.numel() > 0)
        if name is None or (dim := self.dim(name)) is None:
            return None
        size = self.env[name].shape[dim]
        index = f"torch.arange({size + 1}, device={name}.device) % {size}"
        return self.pick(
            [
                f"{name}.index_select({dim}, {index})",
                f"{name}.gather({dim}, torch.zeros_like({name}, dtype=torch.int64))",
                f"{name}.index_add({dim}, torch.arange({size}), {name})",
                f"{name}.scatter_add({dim}, torch.zeros_like({name}, dtype=torch.int64), {name})",
                f"{name}.index_fill({dim}, torch.tensor([0]), 1)",
                f"F.pad({name}, (1, 2))",
                f"F.one_hot(torch.arange({size}), {size + 1})",
                f"{name}.tril()",
            ]
        )

    def _matmul(self) -> str | None:
        name = self.of(lambda x: x.is_floating_point() and x.dim() >= 2)
        return name and f"{name} @ {name}.transpose(-1, -2)"

    def _in_place(self) -> str | None:
        name, other = self.any(), self.any()
        forms = [
            f"{name}.add_({other})",
            f"{name}.mul_(2)",
            f"{name}.copy_({other})",
            f"{name}[..., 0] = 1",
            f"{name}[0] += {other}[0]",
            f"{name}.clamp_(min=0)",
            f"{name}[1:].neg_()",
            f"{name}.t().sub_(1)",
            f"{name}.masked_fill_({name} > 0, 3)",
            f"{name}.zero_()",
        ]
        return "!" + self.pick(forms)

    def _clone(self) -> str:
        return f"{self.any()}.clone()"

    def _cond(self) -> str | None:
        name = self.floating()
        if name is None:
            return None
        arms = ["a.sin() + 1.0", "a * 2.0", "(a - 0.5).relu()", "a.exp() * 0.25", "a.cumsum(-1)"]
        test = self.pick([f"{name}.sum() > 0", f"{name}.isnan().any()"])
        return f"cond({test}, lambda a: {self.pick(arms)}, lambda a: {self.pick(arms)}, ({name},))"


KINDS = (
    "unary binary scalar view reduce cast slice where in_place along clone join gather norm matmul "
    "masked_fill clamp sort cond"
).split()
