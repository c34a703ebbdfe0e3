"""CL402: a Python number made of a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    DEFAULT_ONLY,
    Code,
    Context,
    Declined,
    Example,
    Fact,
    Fix,
    Mode,
    Rule,
    Sequence,
    Sighting,
    options,
)
from ..base.reading import numpy_scalar, shown
from .data import extern, held, read_number

_READERS = frozenset({"builtins.int", "builtins.float", "builtins.bool", "operator.index"})
# Functions that ask what a number is that was read out of a tensor; others carry on its symbol.
_ASKING = frozenset(
    {
        "math.exp",
        "math.log",
        "math.log10",
        "math.pow",
        "math.atan2",
        "math.fabs",
        "math.isnan",
        "math.isinf",
        "math.isfinite",
        "math.isclose",
        "math.hypot",
        "math.gcd",
        "math.fmod",
        "builtins.divmod",
    }
)


# Functions that give an int: of a NumPy scalar, too, which is traced as a tensor.
_ROUNDING = frozenset({"math.ceil", "math.floor", "math.trunc"})


class TensorToNumber(Rule):
    """`int(t)`, `float(t)`, `bool(t)`, `math.sqrt(t)`, `pow(t, 2)` of a tensor.

    ## What it does
    Flags Python conversions of tensors and traced NumPy arrays: `int(lengths.max())`,
    `float(loss)`, `bool(mask.any())`, `map(int, t)`, `int(np.prod(shape))`, and any function of
    `math` that is given a tensor.

    ## Why it matters
    They read the value, as `.item()` does: the graph ends, the host waits for the device.
    `complex()` and the functions of `math` fail under `fullgraph=True` as well.

    ## Example
    See the bad and good modules below.

    ## Fix
    Stay with tensors: `t.long()`, `t.float()`, `t != 0`, `torch.sqrt(t)`. For what follows from
    shapes use `math.prod(x.shape)` instead of NumPy, which makes an array of it.

    ## When it is safe
    `int` and `float` under `fullgraph=True`, or with
    `torch._dynamo.config.capture_scalar_outputs = True`, when the number only feeds tensor
    operations.
    """

    code = "CL402"
    name = "tensor-to-number"
    summary = "`int()`, `float()`, `bool()` or `math` on a tensor"
    nodes = (ast.Call,)
    callees = (
        *sorted(_READERS | _ASKING),
        "builtins.complex",
        "builtins.map",
        "builtins.pow",
        "math.",
    )
    graph_breaks = ("GB0124", "GB0033", "GB0059")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return x * float(x.mean())  # error: CL402
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x * x.mean()
""",
        ),
        Example(
            bad="""
import math
import torch

def f(x: torch.Tensor):
    return x / math.sqrt(x.abs().sum())  # error: CL402
""",
            good="""
import math
import torch

def f(x: torch.Tensor):
    return x / torch.sqrt(x.abs().sum()) / math.sqrt(x.shape[0])
""",
            note="functions of `math` fail under fullgraph as well",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    return pow(x, 2)  # error: CL402
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x**2
""",
            note="the builtin isn't traced on tensors",
        ),
        Example(
            bad="""
import numpy as np
import torch

def f(x: torch.Tensor):
    return x / int(np.prod(x.shape))  # error: CL402
""",
            good="""
import math
import torch

def f(x: torch.Tensor):
    return x / math.prod(x.shape)
""",
            inputs="[(torch.randn(3, 4),)]",
            note="NumPy makes an array of the shape, whose value Dynamo doesn't know",
        ),
        Example(
            bad="""
import math
import numpy as np
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hop = np.prod([1, 2])

    def forward(self, x):
        return x * math.ceil(x.shape[-1] / self.hop)  # error: CL402

f = Net
""",
            good="""
import math
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hop = math.prod([1, 2])

    def forward(self, x):
        return x * math.ceil(x.shape[-1] / self.hop)

f = Net
""",
            note="Dynamo knows the NumPy scalar that a module holds, but nothing computed of it",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for conversions and functions of `math` that are given tensor data."""
        assert isinstance(node, ast.Call)
        name = ctx.callee(node).name
        if name in _READERS or name == "builtins.complex" or name.startswith("math."):
            breaks = DEFAULT_ONLY if name in _READERS else BOTH
            for arg in node.args:
                fact = held(ctx.fact(arg))
                if fact is None and name in _ROUNDING:
                    fact = numpy_scalar(ctx.fact(arg))
                if fact is not None:
                    yield self._read(node, fact, breaks)
                    return
        if name == "builtins.pow":
            fact = next(filter(None, (held(ctx.fact(arg)) for arg in node.args)), None)
            if fact is not None:
                text = f"`{shown(node)}`: of tensors Dynamo only traces the operator `**`"
                yield Sighting(node, text, fact, graph_breaks=("GB0059",))
        elif name in _ASKING:
            for arg in node.args:
                number = read_number(ctx.fact(arg))
                if number is not None:
                    text = f"`{shown(node)}` asks for a number that was read out of a tensor"
                    yield Sighting(node, text, number, breaks=(Mode.FULLGRAPH,))
                    return
        elif name == "builtins.map" and len(node.args) == 2:
            if extern(ctx.fact(node.args[0])) in _READERS:
                fact = _element(ctx.fact(node.args[1]))
                if fact is not None:
                    yield self._read(node, fact, DEFAULT_ONLY)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the tensor itself, where it can take the number's place."""
        from ..rewrites.scalars import number_kept

        assert isinstance(sighting.node, ast.Call)
        if ctx.callee(sighting.node).name == "builtins.pow":
            raise Declined("write it as `**`")
        yield from number_kept(sighting.node, ctx, code)

    def _read(self, node: ast.Call, fact: Fact, breaks: tuple) -> Sighting:
        return Sighting(
            node, f"`{shown(node)}` reads a tensor's value into Python", fact, breaks=breaks
        )


def _element(fact: Fact) -> Fact | None:
    for option in options(fact):
        found = held(option.element()) if isinstance(option, Sequence) else held(option)
        if found is not None:
            return found
    return None
