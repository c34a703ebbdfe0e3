"""CL323: modules and parameters made inside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ..base import (
    UNKNOWN,
    Certainty,
    Code,
    Const,
    Context,
    Declined,
    Example,
    Fix,
    Rule,
    Sighting,
    Tensor,
    Unknown,
    options,
)
from ..torch_facts import TorchFacts
from .seen import call_seen, shown

_PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
# Classes of torch.nn whose constructor makes parameters whatever the arguments.
_ALWAYS = frozenset(
    {
        "Linear",
        "Bilinear",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
        "Embedding",
        "EmbeddingBag",
        "PReLU",
        "LSTM",
        "GRU",
        "RNN",
        "LSTMCell",
        "GRUCell",
        "RNNCell",
        "MultiheadAttention",
        "Transformer",
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
        "AdaptiveLogSoftmaxWithLoss",
    }
)
_HOLDERS = frozenset({"ParameterList", "ParameterDict"})  # of what they are given
# Classes that make them unless this argument is False: its name, position and default.
_AFFINE = {
    "LayerNorm": ("elementwise_affine", 2, True),
    "RMSNorm": ("elementwise_affine", 2, True),
    "GroupNorm": ("affine", 3, True),
    "BatchNorm1d": ("affine", 3, True),
    "BatchNorm2d": ("affine", 3, True),
    "BatchNorm3d": ("affine", 3, True),
    "SyncBatchNorm": ("affine", 3, True),
    "InstanceNorm1d": ("affine", 3, False),
    "InstanceNorm2d": ("affine", 3, False),
    "InstanceNorm3d": ("affine", 3, False),
}


class ModuleInside(Rule):
    """Parameters are made inside compiled code.

    ## What it does
    Flags `nn.Parameter(...)`, and modules that make parameters (`nn.Linear`, `nn.LayerNorm`, …),
    when they are constructed in code that is captured, also by a module of yours that is made and
    called there.

    ## Why it matters
    Dynamo only knows parameters that exist before the region starts; making one ends the graph. It
    is nearly always a mistake too: the weights are new on every call and no optimizer sees them.

    ## Example
    See the bad and good modules below.

    ## Fix
    Construct in `__init__` and call in `forward`. For plain computation use the functional form
    (`F.linear`, `F.layer_norm`) or an ordinary tensor.

    ## When it is safe
    Modules without parameters (`nn.ReLU()`, losses, pooling) are captured and not reported; nor is
    `nn.Parameter(x)` of an input as it comes.
    """

    code = "CL323"
    name = "module-made-inside"
    summary = "modules or parameters made inside compiled code"
    nodes = (ast.Call,)
    graph_breaks = ("GB0264", "GB0119")
    examples = (
        Example(
            bad="""
import torch
from torch import nn

def f(x):
    layer = nn.Linear(3, 3)  # error: CL323
    return layer(x)
""",
            good="""
import torch
from torch import nn

layer = nn.Linear(3, 3)

def f(x):
    held = nn.ParameterDict()
    return nn.ReLU()(layer(x)) + len(held)
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return nn.LayerNorm(3)(x)  # error: CL323

f = Net
""",
            good="""
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return nn.LayerNorm(3, elementwise_affine=False)(x)

f = Net
""",
            note="Without an affine transform a norm has no parameters.",
        ),
        Example(
            bad="""
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))  # error: CL323

    def forward(self, x):
        return x * self.weight

def f(x):
    return Scale(3)(x)
""",
            good="""
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self, by):
        super().__init__()
        self.by = by

    def forward(self, x):
        return x * self.by

def f(x):
    return Scale(3)(x)
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

def f(x):
    scale = nn.Parameter(torch.ones(3))  # error: CL323
    return x * scale
""",
            good="""
import torch

def f(x):
    scale = torch.ones(3)
    return x * scale
""",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee may make parameters."""
        if name in _PARAMETERS:
            return True
        last = name.rpartition(".")[2]
        made = last in _ALWAYS or last in _AFFINE or last in _HOLDERS
        return made and name.startswith("torch.nn.") and torch.module(name) is not None

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a constructor that makes parameters."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.receiver is not None or callee.project is not None:
            return
        if callee.name in _PARAMETERS:
            data = ctx.argument(node, 0, "data")
            fact = ctx.fact(data) if data is not None else None
            parts = options(fact) if fact is not None else ()
            unknown = any(isinstance(option, Unknown) for option in parts)
            made = all(isinstance(o, Tensor) and not o.role for o in parts if o != UNKNOWN)
            if made and (not unknown or isinstance(data, ast.Call)):
                text = "a parameter can't be made inside a graph"
                seen = call_seen(node, callee, text, "GB0264")
                # one may be made of what comes in, and a function may hand that on
                here = isinstance(data, ast.Call) and ctx.callee(data).project is None
                here = here and not unknown
                yield seen if here or data is None else replace(seen, certainty=Certainty.LIKELY)
        elif self._makes(node, callee.name, ctx):
            text = f"`{shown(node)}` makes parameters, which a graph can't"
            yield call_seen(node, callee, text, "GB0264")

    def _makes(self, node: ast.Call, name: str, ctx: Context) -> bool:
        last = name.rpartition(".")[2]
        if last in _AFFINE:
            argument, position, default = _AFFINE[last]
            given = ctx.argument(node, position, argument)
            fact = ctx.fact(given) if given is not None else None
            return bool(fact.value) if isinstance(fact, Const) else default and given is None
        return last not in _HOLDERS or bool(node.args or node.keywords)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: where the parameters belong isn't known."""
        raise Declined("make modules and parameters in `__init__`")
