"""CL333: methods of strings that Dynamo doesn't take for such."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..base import (
    Certainty,
    Const,
    Context,
    Example,
    Fact,
    Instance,
    Rule,
    Sighting,
    Tensor,
    options,
)
from ..base.reading import shown
from ..torch_facts import TorchFacts

_MIXED = ("builtins.str.", "enum.StrEnum.", "enum.Enum.")
_ENUMS = frozenset({"enum.Enum", "enum.StrEnum"})
_STRINGS = frozenset({"builtins.str", "enum.StrEnum"})
_NAMES = frozenset({"__name__", "__qualname__", "__module__"})


class TextMethod(Rule):
    """A method of `str` on a member of an enum, or on the name of a parameter's class.

    ## What it does
    Flags methods of `str` on members of `class Mode(str, Enum)` and its like, and
    methods on `type(parameter).__name__` or `__module__`.

    ## Why it matters
    Dynamo treats such a member as an object of your class, without the methods of `str`, and the
    name of the class of a parameter as an attribute it doesn't resolve: the graph ends there.

    ## Example
    See the bad and good modules below.

    ## Fix
    Ask the value: `mode.value.lower()`. Comparisons, `mode == "mean"`, `in`, `str(mode)` and
    methods of the enum's own are captured. Tell parameters apart with `isinstance`.

    ## When it is safe
    On ordinary strings.
    """

    code = "CL333"
    name = "text-method"
    summary = "str methods of enum members and of a parameter's class name"
    nodes = (ast.Call,)
    graph_breaks = ("GB0156",)
    examples = (
        Example(
            bad="""
from enum import Enum
import torch

class Mode(str, Enum):
    MEAN = "mean"
    SUM = "sum"

def f(x, mode: Mode = Mode.MEAN):
    return x.mean() if mode.lower() == "mean" else x.sum()  # error: CL333
""",
            good="""
from enum import Enum
import torch

class Mode(str, Enum):
    MEAN = "mean"
    SUM = "sum"

def f(x, mode: Mode = Mode.MEAN):
    return x.mean() if mode.value.lower() == "mean" else x.sum()
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        if type(self.weight).__module__.startswith("quantized."):  # error: CL333
            return x
        return x * self.weight
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        if type(self.weight).__name__ == "QuantizedParameter":
            return x
        return x * self.weight
""",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether a method of a mixed-in class is called, of a string or of who knows what."""
        return name == "" or name.startswith((*_MIXED, "str.", "torch.Tensor.__"))

    def check(self, node: ast.AST, ctx: Context) -> Iterable[Sighting]:
        """Yield a sighting for a method that Dynamo doesn't find."""
        assert isinstance(node, ast.Call)
        func = node.func
        if not isinstance(func, ast.Attribute):
            return ()
        told = hasattr(str, func.attr) or getattr(func.value, "attr", "") in _NAMES
        return self._unfound(node, func, ctx) if told else ()

    def _unfound(self, node: ast.Call, func: ast.Attribute, ctx: Context) -> Iterator[Sighting]:
        held = func.value
        facts = options(ctx.fact(held))
        member = next(filter(_member, facts), None)
        if member is not None and ctx.callee(node).project is None and hasattr(str, func.attr):
            sure = None if len(facts) == 1 else Certainty.LIKELY
            text = f"`{shown(func)}` is a method of a member of an enum"
            yield Sighting(node, text, member, certainty=sure)
        elif _class_name(held, ctx):
            text = f"`{shown(func)}` asks for the name of a parameter's class"
            yield Sighting(node, text)


def _member(fact: Fact) -> bool:
    """Say whether a value is a member of an enum of the project that is a string, too."""
    ancestry = getattr(fact.cls, "ancestry", None) if isinstance(fact, Instance) else None
    if ancestry is None or _ENUMS.isdisjoint(ancestry.external):
        return False
    return not _STRINGS.isdisjoint(ancestry.external)


def _class_name(node: ast.expr, ctx: Context) -> bool:
    """Say whether an expression is `type(parameter).__name__` or its like."""
    if not (isinstance(node, ast.Attribute) and node.attr in _NAMES):
        return False
    asked = node.value
    if not (isinstance(asked, ast.Call) and len(asked.args) == 1):
        return False
    facts = options(ctx.fact(asked.args[0]))
    known = [fact for fact in facts if not (isinstance(fact, Const) and fact.value is None)]
    return ctx.callee(asked).name == "builtins.type" and all(
        isinstance(fact, Tensor) and fact.role == "param" for fact in known
    )
