"""CL335: functions whose arguments are checked by beartype."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..base import Context, Example, Rule, Sighting
from ..torch_facts import TorchFacts
from .seen import call_seen, shown

# Hints of containers of which beartype checks an item that it draws at random.
_DRAWN = frozenset({"List", "list", "Sequence", "MutableSequence"})
_TUPLES = frozenset({"Tuple", "tuple"})


class TypeChecker(Rule):
    """A call that beartype checks, of a function with hints like `List[Tensor]`.

    ## What it does
    Flags calls of functions and modules under `@beartype` that have a hint of a list, a sequence
    or a tuple of any length, also inside `Optional` and `Union`.

    ## Why it matters
    Of such a container beartype checks one item, and draws which: a random number out of C, which
    Dynamo doesn't trace, whatever is passed. The graph ends in front of the call.

    ## Example
    See the bad and good modules below.

    ## Fix
    Leave the decorator to code that isn't compiled, or hint tuples of a known length.

    ## When it is safe
    Hints of tensors, numbers, dicts, `Callable` and tuples of a known length are captured.
    """

    code = "CL335"
    name = "runtime-type-check"
    summary = "a function that beartype checks with a random number"
    nodes = (ast.Call,)
    triggers = ("beartype",)
    graph_breaks = ("GB0007",)
    examples = (
        Example(
            bad="""
from typing import List, Optional

import torch
from beartype import beartype

@beartype
def step(x: torch.Tensor, memories: Optional[List[torch.Tensor]] = None):
    return x + 1

def f(x):
    return step(x)  # error: CL335
""",
            good="""
from typing import Optional, Tuple

import torch
from beartype import beartype

@beartype
def step(x: torch.Tensor, memory: Optional[Tuple[torch.Tensor, torch.Tensor]] = None):
    return x + 1

def f(x):
    return step(x)
""",
            requires=("beartype",),
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee may be the project's."""
        return not name

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call of a function that is checked."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        function = callee.project
        if function is None or isinstance(function.node, ast.Lambda) or not _checked(function):
            return
        given = function.node.args
        hints = [p.annotation for p in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        if any(_draws(hint) for hint in (*hints, function.node.returns) if hint is not None):
            text = f"`{shown(node)}` is checked by beartype, which draws an item to look at"
            yield call_seen(node, callee, text, "GB0007")


def _checked(function: Any) -> bool:
    """Say whether a function of the project, or its class, is decorated with beartype."""
    decorators = function.decorators
    if not decorators and function.cls is not None:  # another decorator may hide the hints
        decorators = function.cls.node.decorator_list
    for decorator in decorators:
        name = decorator.attr if isinstance(decorator, ast.Attribute) else ""
        name = decorator.id if isinstance(decorator, ast.Name) else name
        bound = function.module.bindings.get(name)
        if name == "beartype" and getattr(bound, "module", "beartype") == "beartype":
            return True
    return False


def _draws(hint: ast.expr) -> bool:
    """Say whether a hint asks for what the items of a container of any length are."""
    for node in ast.walk(hint):
        if not isinstance(node, ast.Subscript):
            continue
        name = getattr(node.value, "attr", getattr(node.value, "id", ""))
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name in _DRAWN and not (isinstance(items[0], ast.Name) and items[0].id == "Any"):
            return True
        if name in _TUPLES and isinstance(items[-1], ast.Constant) and items[-1].value is ...:
            return True
    return False
