"""Calls that can't be captured, and what says the same in torch.

Copies: `copy.deepcopy(x)` is `x.detach().clone()` (gradients don't flow through a deep copy),
`copy.copy(x)` is `x.detach()` (it shares storage), containers are copied by their own class.

Declined: copies of modules, which make new parameters, and of objects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Array,
    Code,
    Context,
    Declined,
    Fact,
    Fix,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    options,
)


def copied(call: ast.Call, source: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that copies a value by methods of its own. Raises Declined."""
    deep = ctx.callee(call).name == "copy.deepcopy"
    facts = options(ctx.fact(source))
    text = _deep(source, facts, code) if deep else _shallow(source, facts, code)
    name = f"copy.{'deepcopy' if deep else 'copy'}"
    title = f"write `{text}` for `{name}`"
    yield code.fix(title, [code.replace(call, text)], unused=[name])


def _deep(source: ast.expr, facts: tuple[Fact, ...], code: Code) -> str:
    text = operand(source, code)
    if all(isinstance(fact, Tensor) for fact in facts):
        return f"{text}.detach().clone()"
    if all(isinstance(fact, Array) for fact in facts):
        return f"{text}.copy()"
    (fact, *others) = facts
    if others:
        raise Declined("what is copied may be one thing or another")
    if isinstance(fact, Instance) and fact.module:
        raise Declined("a module's copy has parameters of its own: copy it before compiling")
    if isinstance(fact, Sequence) and isinstance(fact.element(), Tensor):
        each = code.fresh("item")
        inner = f"{each}.detach().clone() for {each} in {code.text(source)}"
        if fact.kind == "list":
            return f"[{inner}]"
        if fact.kind == "tuple":
            return f"tuple({inner})"
    if isinstance(fact, Mapping) and fact.kind == "dict" and isinstance(fact.element(), Tensor):
        key, each = code.fresh("key"), code.fresh("item")
        return f"{{{key}: {each}.detach().clone() for {key}, {each} in {text}.items()}}"
    raise Declined("what it holds isn't all tensors")


def _shallow(source: ast.expr, facts: tuple[Fact, ...], code: Code) -> str:
    text = operand(source, code)
    if all(isinstance(fact, Tensor) for fact in facts):
        return f"{text}.detach()"
    if all(isinstance(fact, Array) for fact in facts):
        return f"{text}.copy()"
    (fact, *others) = facts
    if isinstance(fact, (Sequence, Mapping)) and not others:
        if isinstance(source, (ast.List, ast.Set, ast.Dict)):
            return code.text(source)  # made here: nothing else holds it
        if fact.kind in ("list", "set", "dict"):
            return f"{fact.kind}({code.text(source)})"
        if fact.kind == "deque":
            return f"{text}.copy()"
    raise Declined("a module's copy shares its parameters: copy it before compiling")


def operand(node: ast.expr, code: Code) -> str:
    """Return the source of an expression as something that `.method` can follow."""
    simple = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Dict)
    text = code.text(node)
    return text if isinstance(node, simple) else f"({text})"


__all__ = ["copied", "operand"]
