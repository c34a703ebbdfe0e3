"""CL334: operators between objects and tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..base import Certainty, Context, Example, Fact, Instance, Rule, Sighting, Tensor, options
from ..base.facts import Union, Unknown
from ..base.reading import shown

_NAMES: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
_OBJECTS = frozenset({Instance, Union})  # of what facts of objects are
_TENSORS = ("torch.Tensor", "torch.nn.Parameter", "torch.nn.parameter.")


class ObjectOperator(Rule):
    """An operator between an object of yours and a tensor, `@` between objects, or `~` of one.

    ## What it does
    Flags arithmetic of a tensor and an object whose class overloads the operator, without
    `__torch_function__`; `@` where one side is such an object; and `~` of one.

    ## Why it matters
    Where a tensor takes part Dynamo puts the operation into the graph, which has no place for your
    object; `@` and `~` it only knows of tensors. The rest of the function runs eagerly.

    ## Example
    See the bad and good modules below.

    ## Fix
    Call a method: `scale.times(x)`. A class that tensors are to be mixed with needs
    `__torch_function__`.

    ## When it is safe
    Operators other than `@` and `~` between objects, or of an object and a number, are traced.
    """

    code = "CL334"
    name = "object-operator"
    summary = "an operator between an object and a tensor"
    nodes = (ast.BinOp, ast.UnaryOp)
    graph_breaks = ("GB0055", "GB0059")
    examples = (
        Example(
            bad="""
import torch

class Scale:
    def __init__(self, by):
        self.by = by

    def __mul__(self, other):
        return other * self.by

scale = Scale(2)

def f(x: torch.Tensor):
    return scale * x  # error: CL334
""",
            good="""
import torch

class Scale:
    def __init__(self, by):
        self.by = by

    def times(self, other):
        return other * self.by

scale = Scale(2)

def f(x: torch.Tensor):
    return scale.times(x)
""",
        ),
        Example(
            bad="""
import torch

class Diagonal:
    def __init__(self, values):
        self.values = values

    def __matmul__(self, other):
        return Diagonal(self.values * other.values)

def f(x: torch.Tensor):
    return (Diagonal(x) @ Diagonal(x)).values  # error: CL334
""",
            good="""
import torch

class Diagonal:
    def __init__(self, values):
        self.values = values

    def __mul__(self, other):
        return Diagonal(self.values * other.values)

def f(x: torch.Tensor):
    return (Diagonal(x) * Diagonal(x)).values
""",
        ),
    )

    def concerns(self, node: ast.AST, torch: object) -> bool:
        """Say whether the operator is one of those."""
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Invert)
        return isinstance(node, ast.BinOp) and type(node.op) in _NAMES

    def check(self, node: ast.AST, ctx: Context) -> Iterable[Sighting]:
        """Yield a sighting for an operation that isn't traced."""
        if isinstance(node, ast.UnaryOp):
            this = _overloads(ctx.fact(node.operand), "__invert__")
            return [_seen(node, this, ctx.fact(node.operand), "GB0059")] if this is not None else ()
        assert isinstance(node, ast.BinOp)
        left, right = ctx.fact(node.left), ctx.fact(node.right)
        plain = _OBJECTS.isdisjoint((type(left), type(right)))  # most of them
        return () if plain else self._operation(node, left, right)

    def _operation(self, node: ast.BinOp, left: Fact, right: Fact) -> Iterator[Sighting]:
        name = _NAMES[type(node.op)]
        for one, other, method in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
            this = _overloads(one, method)
            if this is None:
                continue
            product = name == "matmul" and not _certainly(other, Tensor)
            if product or (_certainly(other, Tensor) and not _defines(this, "__torch_function__")):
                id = "GB0059" if product else "GB0055"
                open = not product and not all(option.sure for option in options(other))
                yield _seen(node, this, one, id, open or _certainly(other, Unknown))
                return


def _seen(node: ast.expr, this: Instance, fact: Fact, id: str, open: bool = False) -> Sighting:
    text = f"`{shown(node)}`: Dynamo doesn't trace the operator of a {this.cls.name}"
    sure = this is fact and not open
    certainty = None if sure else Certainty.LIKELY
    return Sighting(node, text, this, certainty=certainty, graph_breaks=(id,))


def _certainly(fact: Fact, kind: type[Fact]) -> bool:
    return all(isinstance(option, kind) for option in options(fact))


def _overloads(fact: Fact, method: str) -> Instance | None:
    """Return the object of a project class that defines the method, None without one."""
    found = None
    for option in options(fact):
        if isinstance(option, Tensor):
            return None  # `Tensor | TensorList`: the list is for what comes in several parts
        if isinstance(option, Instance) and not isinstance(option.cls, str):
            if _defines(option, method):
                found = option
    return found


def _defines(this: Instance, method: str) -> bool:
    ancestry = this.cls.ancestry
    if ancestry is None or any(base.startswith(_TENSORS) for base in ancestry.external):
        return False
    return any(method in owner.methods for owner in ancestry.classes)
