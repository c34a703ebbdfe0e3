"""CL329: making a TypedDict that has optional keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import ClassRef, Code, Context, Declined, Example, Fix, Rule, Sighting, options
from .seen import call_seen, shown

_OPTIONAL = frozenset({"NotRequired"})


class OptionalKeys(Rule):
    """`Message(x=x)`, where `class Message(TypedDict, total=False)`.

    ## What it does
    Flags calls of a `TypedDict` class that, or a base of which, is declared with `total=False` or
    has a `NotRequired` key.

    ## Why it matters
    Calling such a class makes a plain dict, but Dynamo doesn't trace the call: the graph ends.

    ## Example
    See the bad and good modules below.

    ## Fix
    Write the dict as a literal and annotate the name: type checkers check it just the same.

    ## When it is safe
    Where all keys are required, and for literals.
    """

    code = "CL329"
    name = "typed-dict-optional"
    summary = "a TypedDict with optional keys is made"
    nodes = (ast.Call,)
    callees = ("typing.TypedDict", "typing_extensions.TypedDict")
    graph_breaks = ("GB0257",)
    examples = (
        Example(
            bad="""
from typing import TypedDict

import torch

class Message(TypedDict, total=False):
    value: object
    name: str

def f(x):
    message = Message(value=x)  # error: CL329
    return message["value"] * 2
""",
            good="""
from typing import TypedDict

import torch

class Message(TypedDict, total=False):
    value: object
    name: str

def f(x):
    message: Message = {"value": x}
    return message["value"] * 2
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting where such a class is called."""
        assert isinstance(node, ast.Call)
        for fact in options(ctx.fact(node.func)):
            if isinstance(fact, ClassRef) and any(map(_optional, _family(fact))):
                text = f"`{shown(node)}` makes a TypedDict with optional keys"
                yield call_seen(node, ctx.callee(node), text, "GB0257")
                return

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the dict as a literal."""
        call = sighting.node
        assert isinstance(call, ast.Call)
        if call.args or any(keyword.arg is None for keyword in call.keywords):
            raise Declined("it takes over what another mapping holds")
        pairs = [f'"{keyword.arg}": {code.text(keyword.value)}' for keyword in call.keywords]
        edit = code.replace(call, f"{{{', '.join(pairs)}}}")
        yield code.fix("write the dict as a literal", [edit])


def _family(ref: ClassRef) -> list[ast.ClassDef]:
    ancestry = ref.cls.ancestry
    return [cls.node for cls in (ancestry.classes if ancestry is not None else (ref.cls,))]


def _optional(cls: ast.ClassDef) -> bool:
    for keyword in cls.keywords:
        if keyword.arg == "total" and getattr(keyword.value, "value", True) is False:
            return True
    hints = [stmt.annotation for stmt in cls.body if isinstance(stmt, ast.AnnAssign)]
    heads = [hint.value for hint in hints if isinstance(hint, ast.Subscript)]
    return any(getattr(h, "id", getattr(h, "attr", "")) in _OPTIONAL for h in heads)
