"""Questions that many rules ask of facts and nodes: is it tensor data, and how is it shown."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TypeVar

from .context import Context
from .facts import Array, Const, Fact, FromTensor, Instance, Tensor, options
from .finding import Mode
from .rule import BOTH

_Data = TypeVar("_Data", bound=Fact)


def data_in(fact: Fact) -> Fact | None:
    """Return the alternative that depends on tensor data, tensors first, None without one.

    It isn't sure where the value may also be something else that isn't None. Arrays that Dynamo
    knows the value of are left out.
    """
    found = None
    for option in options(fact):
        if isinstance(option, Tensor) or (isinstance(option, Array) and not option.constant):
            return among(option, fact)
        if isinstance(option, FromTensor) and found is None:
            found = option
    return None if found is None else among(found, fact)


def among(option: _Data, fact: Fact) -> _Data:
    """Return an alternative of a fact; not sure where the value may be no tensor data, nor None."""
    for other in options(fact):
        known = isinstance(other, (Tensor, FromTensor, Array))
        if not known and not (isinstance(other, Const) and other.value is None):
            return replace(option, sure=False) if option.sure else option
    return option


def made_at(fact: Fact | None, ctx: Context) -> int:
    """Return the line of this function where a value was made, 0 for one that came in."""
    origin = fact.origin if fact is not None else None
    first = getattr(ctx.function, "lineno", 1)
    last = getattr(ctx.function, "end_lineno", 1)
    if origin is None or origin.path != ctx.path or not first <= origin.line <= last:
        return 0
    return origin.line


def numpy_scalar(fact: Fact) -> Array | None:
    """Return the NumPy scalar whose value Dynamo knows among a fact's alternatives."""
    for option in options(fact):
        if isinstance(option, Array) and option.constant:
            return among(option, fact)
    return None


def tensor_of(fact: Fact) -> Tensor | None:
    """Return the tensor alternative of a fact, None without one."""
    return next((option for option in options(fact) if isinstance(option, Tensor)), None)


def module_of(fact: Fact) -> Instance | None:
    """Return the alternative of a fact that is an `nn.Module`, None without one."""
    for option in options(fact):
        if isinstance(option, Instance) and option.module:
            return option
    return None


def place(node: ast.AST) -> tuple[int, int]:
    """Return where a node starts, to put nodes in source order."""
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def modes_of(fact: Fact) -> tuple[Mode, ...]:
    """Return the modes in which Python breaks the graph by asking for the value.

    A Python value that was read out of a tensor (`.item()`, a data-dependent size) broke the
    graph where it was read by default, and only fullgraph carries it on, as a symbol, to where it
    is asked for. What a breaking call gave is an ordinary value by then.
    """
    if isinstance(fact, FromTensor):
        if fact.how in ("item", "size"):
            return (Mode.FULLGRAPH,)
        return () if fact.how == "call" else BOTH
    return BOTH


def shown(node: ast.AST, limit: int = 60) -> str:
    """Return the node as source on one line, shortened for messages."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
