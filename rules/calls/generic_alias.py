"""CL336: calls of generic aliases, `dict[str, int]()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import ClassRef, Code, Context, Declined, Example, Extern, Fact, Fix, Rule, Sighting
from ..torch_facts import TorchFacts
from .seen import shown

_TYPES = frozenset({"list", "dict", "set", "frozenset", "tuple"})
_HOLDERS = ("builtins.", "collections.", "typing.")


class GenericAlias(Rule):
    """A class is called through its brackets: `dict[str, int]()`.

    ## What it does
    Flags calls of built-in types, classes of `collections` and classes of the project with type
    arguments in brackets.

    ## Why it matters
    The brackets make a `GenericAlias`, an object in C whose call makes the real thing. Dynamo
    doesn't trace that call, and the graph ends.

    ## Example
    See the bad and good modules below.

    ## Fix
    Call the class itself, and give the type to the variable: `seen: dict[str, int] = {}`.

    ## When it is safe
    In annotations, which nothing calls.
    """

    code = "CL336"
    name = "generic-alias-call"
    summary = "a class called with type arguments in brackets"
    nodes = (ast.Call,)
    graph_breaks = ("GB0147",)
    examples = (
        Example(
            bad="""
import torch

def f(x):
    seen = dict[str, int]()  # error: CL336
    seen["rows"] = x.shape[0]
    return x * seen["rows"]
""",
            good="""
import torch

def f(x):
    seen: dict[str, int] = {}
    seen["rows"] = x.shape[0]
    return x * seen["rows"]
""",
        ),
        Example(
            bad="""
from collections import OrderedDict

import torch

def f(x):
    parts = OrderedDict[str, torch.Tensor]([("x", x)])  # error: CL336
    return parts["x"] + 1
""",
            good="""
from collections import OrderedDict

import torch

def f(x):
    parts = OrderedDict([("x", x)])
    return parts["x"] + 1
""",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee is unnamed, as what an index gives is."""
        return not name

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call of a class that is indexed."""
        assert isinstance(node, ast.Call)
        if isinstance(node.func, ast.Subscript) and _is_class(ctx.fact(node.func.value)):
            yield Sighting(node, f"`{shown(node)}` calls a generic alias, which isn't traced")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: the type belongs to an annotation, which may not be there."""
        raise Declined("call the class itself, and annotate what it makes")


def _is_class(fact: Fact) -> bool:
    """Say whether a value is a class of which type arguments are asked."""
    if isinstance(fact, Extern):
        last = fact.name.rpartition(".")[2]
        known = last in _TYPES or fact.name.startswith("collections.")
        return known and fact.name.startswith(_HOLDERS)
    if not isinstance(fact, ClassRef):
        return False
    node = fact.cls.node
    generic = any(isinstance(base, ast.Subscript) for base in node.bases)
    return generic or bool(getattr(node, "type_params", None))  # `class Box[T]`, since 3.12
