"""CL517: a module's parameters are replaced inside the region."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Certainty,
    Code,
    Context,
    Declined,
    Example,
    Fix,
    Rule,
    Sighting,
)
from ..base.reading import module_of, shown
from ..torch_facts import TorchFacts

_IDS = {"load_state_dict": "GB0208", "half": "GB0264", "double": "GB0264", "bfloat16": "GB0264"}


class ModuleRebuild(Rule):
    """A module is loaded or cast in code that is captured.

    ## What it does
    Flags `module.load_state_dict(...)`, `module.half()`, `.double()` and `.bfloat16()`.

    ## Why it matters
    They replace the parameters of the module. Parameters are inputs of the compiled graph, chosen
    before it starts; replacing them takes code that Dynamo doesn't trace (the loader, the
    `nn.Parameter` constructor), and what follows would see other inputs.

    ## Example
    Casting a layer inside `forward`, "in case the input is double".

    ## Fix
    Load and cast before compiling. To compute in another dtype, cast the activations, or use
    `torch.autocast`. To swap weights per call, use `torch.func.functional_call`.

    ## When it is safe
    A cast to the dtype that the module already has changes nothing; the finding is only likely.
    """

    code = "CL517"
    name = "module-rebuild"
    summary = "Module loaded or cast inside the region"
    nodes = (ast.Call,)
    graph_breaks = ("GB0208", "GB0264")
    examples = (
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        self.layer.double()  # error: CL517
        return self.layer(x.double())
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3).double()

    def forward(self, x):
        return self.layer(x.double())
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

layer = nn.Linear(3, 3)
saved = {"weight": torch.ones(3, 3), "bias": torch.ones(3)}

def f(x):
    layer.load_state_dict(saved)  # error: CL517
    return layer(x)
""",
            good="""
import torch
from torch import nn

layer = nn.Linear(3, 3)
saved = {"weight": torch.ones(3, 3), "bias": torch.ones(3)}

def f(x):
    return torch.func.functional_call(layer, saved, (x,))
""",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee replaces parameters."""
        return name.rpartition(".")[2] in _IDS

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the call on a module object."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        method = callee.name.rpartition(".")[2]
        if callee.project is not None or callee.receiver is None:
            return
        if module_of(callee.receiver) is not None:
            what = f"`{shown(node)}` replaces parameters of a module that is being captured"
            sure = Certainty.CERTAIN if method == "load_state_dict" else Certainty.LIKELY
            yield Sighting(node, what, certainty=sure, graph_breaks=(_IDS[method],))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: the parameters change for the caller, too."""
        raise Declined("load and cast modules before compiling")
