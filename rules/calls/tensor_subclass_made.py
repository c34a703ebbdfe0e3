"""CL332: objects of tensor subclasses made inside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..base import ClassRef, Context, Example, Rule, Sighting, options
from ..base.reading import shown


class TensorSubclassMade(Rule):
    """A tensor subclass with a constructor of its own is made inside compiled code.

    ## What it does
    Flags calls of a class that derives from `torch.Tensor` and whose `__init__` needs arguments.

    ## Why it matters
    Dynamo makes the object with `__new__`, and then runs `__init__` without the arguments of the
    call: they can't be bound, and the graph ends at the call.

    ## Example
    See the bad and good modules below.

    ## Fix
    Give the arguments of `__init__` defaults and set the attributes after the object was made, or
    make it outside: `x.as_subclass(Labelled)` is captured.

    ## When it is safe
    Subclasses without an `__init__`, or with one that takes anything (`*args, **kwargs`).
    """

    code = "CL332"
    name = "tensor-subclass-made"
    summary = "a tensor subclass whose __init__ needs arguments is made inside"
    nodes = (ast.Call,)
    callees = ("torch.Tensor",)
    graph_breaks = ("GB7312",)
    examples = (
        Example(
            bad="""
import torch

class Labelled(torch.Tensor):
    @staticmethod
    def __new__(cls, x, label):
        return torch.as_tensor(x).as_subclass(cls)

    def __init__(self, x, label):
        self.label = label

def f(x):
    return Labelled(x, "a") + 1  # error: CL332
""",
            good="""
import torch

class Labelled(torch.Tensor):
    label = ""

def f(x):
    return x.as_subclass(Labelled) + 1
""",
        ),
        Example(
            bad="""
import torch

class Labelled(torch.Tensor):
    @staticmethod
    def __new__(cls, x, label):
        return torch.as_tensor(x).as_subclass(cls)

    def __init__(self, x, label):
        self.label = label

def f(x):
    return Labelled(x, label="a") + 1  # error: CL332
""",
            good="""
import torch

class Labelled(torch.Tensor):
    @staticmethod
    def __new__(cls, *x, label):
        return torch.as_tensor(x[0]).as_subclass(cls)

    def __init__(self, *x, label):
        self.label = label

def f(x):
    return Labelled(x, label="a") + 1
""",
            note="what is passed by name is there for `__init__`",
        ),
    )

    def answers(self, name: str, torch: object) -> bool:
        """Say whether the class that is called derives from tensors."""
        return name == "torch.Tensor"

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a tensor subclass that is made with arguments for `__init__`."""
        assert isinstance(node, ast.Call)
        made = ctx.callee(node).project
        classes = options(ctx.fact(node.func))
        if made is None or not all(isinstance(option, ClassRef) for option in classes):
            return
        if _needs(made, {keyword.arg for keyword in node.keywords}):
            text = f"`{shown(node.func)}` is made without the arguments that its `__init__` needs"
            yield Sighting(node, text)


def _needs(function: Any, named: set[str | None]) -> bool:
    """Say whether a method has a parameter beside `self` that it gets by position only.

    What the call names is passed on, and so is what it hides in `**kwargs`.
    """
    spec = function.node.args
    positional = [param.arg for param in (*spec.posonlyargs, *spec.args)]
    required = positional[1 : len(positional) - len(spec.defaults)]
    return None not in named and not named.issuperset(required)
