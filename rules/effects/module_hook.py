"""CL512: module hooks registered inside the region."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from ..base.reading import module_of, shown
from ..torch_facts import TorchFacts

_HOOKS = frozenset(
    {
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
        "register_backward_hook",
    }
)


class ModuleHook(Rule):
    """A module hook is registered in code that is captured.

    ## What it does
    Flags `module.register_forward_hook(...)`, the pre-hook and the backward-hook variants.

    ## Why it matters
    Registering makes a `RemovableHandle`, whose constructor counts up an attribute of its own
    class: a write that Dynamo doesn't trace. The graph ends here, and ends again at
    `handle.remove()`.

    ## Example
    Feature extraction that hooks a layer, runs the model and removes the hook, all in `forward`.

    ## Fix
    Register hooks once, before compiling: hooks that are there when the module is captured are
    traced into the graph. Or return the intermediate from `forward`.

    ## When it is safe
    Outside the region, always.
    """

    code = "CL512"
    name = "module-hook-inside"
    summary = "Module hook registered inside the region"
    nodes = (ast.Call,)
    graph_breaks = ("GB0467", "GB0013", "GB0083")
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
        self.layer.register_forward_hook(lambda m, args, out: out * 2)  # error: CL512
        return self.layer(x)
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.layer.register_forward_hook(lambda m, args, out: out * 2)

    def forward(self, x):
        return self.layer(x)
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        self.layer.register_forward_pre_hook(lambda m, args: None)  # error: CL512
        return self.layer(x)
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

layer = nn.Linear(3, 3)

def seen(module, x):
    module.register_forward_hook(lambda m, args, out: out * 2)  # error: CL512
    return module(x)

def f(x):
    return seen(layer, x)
""",
            good="""
import torch
from torch import nn

layer = nn.Linear(3, 3)

def f(x):
    return layer(x) * 2
""",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee registers a hook."""
        return name.rpartition(".")[2] in _HOOKS

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a registration on a module."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.receiver is None:
            return
        if module_of(callee.receiver) is not None:
            what = f"`{shown(node)}` registers a hook while the module is captured"
            yield Sighting(node, what, callee.receiver)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: a hook is there for every call afterwards."""
        raise Declined("hooks are registered before compiling, once")
