"""CL314: nn.LSTM, nn.GRU and nn.RNN."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..base import Code, Context, Declined, Example, Fix, Instance, Rule, Sighting, options
from ..torch_facts import TorchFacts
from .seen import call_seen, shown

_FUNCTIONS = ("torch.lstm", "torch.gru")
_HELD = frozenset({"batch_first", "bidirectional", "hidden_size", "num_layers", "input_size"})


class Recurrent(Rule):
    """A module of `nn.LSTM`, `nn.GRU` or `nn.RNN` is called inside compiled code.

    ## What it does
    Flags calls of recurrent modules, of their `forward` through `super()`, of
    `flatten_parameters()`, and reads of what they hold, such as `self.rnn.batch_first`.

    ## Why it matters
    By default Dynamo doesn't trace them: the graph ends in front of the layer, the layer runs
    eagerly (on a GPU by one fast cuDNN kernel), and another graph starts behind it. Under
    `fullgraph=True` compilation raises.

    ## Example
    See the bad and good modules below.

    ## Fix
    Set `torch._dynamo.config.allow_rnn = True` to capture them, which unrolls the time steps; or
    compile what stands before and behind the layer separately; or use cells (`nn.LSTMCell`), which
    are captured.

    ## When it is safe
    A break on purpose is often the fastest form, since cuDNN's kernel is hard to beat. Without
    `fullgraph=True` nothing goes wrong.
    """

    code = "CL314"
    name = "recurrent-module"
    summary = "nn.LSTM, nn.GRU, nn.RNN are not traced"
    nodes = (ast.Call, ast.Attribute)
    graph_breaks = ("GB0014",)
    examples = (
        Example(
            bad="""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 4, batch_first=True)

    def forward(self, x):
        out, _ = self.rnn(x)  # error: CL314
        return out

f = Net
""",
            good="""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 4)

    def forward(self, x):
        state = (torch.zeros(x.shape[0], 4), torch.zeros(x.shape[0], 4))
        outs = []
        for step in x.unbind(1):
            state = self.cell(step, state)
            outs.append(state[0])
        return torch.stack(outs, 1)

f = Net
""",
            inputs="[(torch.randn(2, 3, 4),)]",
        ),
        Example(
            bad="""
import torch
from torch import nn

class Net(nn.GRU):
    def forward(self, x):
        return super().forward(x)[0]  # error: CL314

net = Net(4, 4)

def f(x):
    return net(x)  # error: CL314
""",
            good="""
import torch
from torch import nn

cell = nn.GRUCell(4, 4)

def f(x):
    return cell(x[0])
""",
            inputs="[(torch.randn(2, 3, 4),)]",
        ),
        Example(
            bad="""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, kind="GRU"):
        super().__init__()
        self.rnn = getattr(nn, kind)(4, 4, num_layers=1, batch_first=True)

    def forward(self, x):
        if self.rnn.batch_first:  # error: CL314
            x = x + 1
        return self.rnn(x)[0]  # error: CL314

f = Net
""",
            good="""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        return self.cell(x[:, 0])

f = Net
""",
            inputs="[(torch.randn(2, 3, 4),)]",
            note="The first line that touches the layer sends the whole function to eager.",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee is recurrent, or unnamed as objects of the project's classes."""
        return name in ("", *_FUNCTIONS) or torch.is_rnn(_stem(name))

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether a node is a call, or reads what recurrent modules hold."""
        return not isinstance(node, ast.Attribute) or node.attr in _HELD

    def check(self, node: ast.AST, ctx: Context) -> Iterable[Sighting]:
        """Return a sighting for a call of a recurrent module, or for a read of what it holds."""
        if isinstance(node, ast.Attribute):
            return self._read(node, ctx)
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        if name in _FUNCTIONS:
            return [call_seen(node, callee, f"`{shown(node)}` isn't traced by default", "GB0014")]
        if not isinstance(callee.receiver, Instance):
            return ()
        if name == "":
            kind = _subclassed(callee.receiver, ctx)
        else:
            stem = _stem(name)
            kind = stem.rpartition(".")[2] if ctx.torch.is_rnn(stem) else ""
        if not kind:
            return ()
        text = f"`{shown(node)}` runs an nn.{kind}, which Dynamo doesn't trace by default"
        return [call_seen(node, callee, text, "GB0014")]

    def _read(self, node: ast.Attribute, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for `self.rnn.batch_first`; calls of methods are seen as calls."""
        parent = ctx.parent(node)
        if isinstance(parent, ast.Call) and parent.func is node:
            return
        for option in options(ctx.fact(node.value)):
            if isinstance(option, Instance) and ctx.torch.is_rnn(str(option.cls)):
                kind = str(option.cls).rpartition(".")[2]
                text = f"`{shown(node)}` reads an nn.{kind}, which Dynamo doesn't trace by default"
                yield Sighting(node, text, option, graph_breaks=("GB0014",))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the layer run over the padded batch, where it was packed."""
        from ..rewrites.packed import padded

        calls = [part for part in ctx.inside(ctx.function) if isinstance(part, ast.Call)]
        if any(ctx.callee(c).name.endswith(".pack_padded_sequence") for c in calls):
            yield from padded(ctx, code)
            return
        raise Declined("set `torch._dynamo.config.allow_rnn`, or leave the layer out of the region")


def _stem(name: str) -> str:
    return name.removesuffix(".forward").removesuffix(".flatten_parameters")


def _subclassed(this: Instance, ctx: Context) -> str:
    """Return "LSTM" for an object of a class of the project that derives from nn.LSTM."""
    if isinstance(this.cls, str) or not this.module:
        return ""
    for base in this.cls.node.bases:
        last = getattr(base, "attr", getattr(base, "id", ""))
        if ctx.torch.is_rnn(f"torch.nn.{last}"):
            return last
    return ""
