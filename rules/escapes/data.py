"""What the escape rules share: which facts hold tensor data, and how places are shown."""

from __future__ import annotations

import ast
from typing import ClassVar

from ..base import (
    Array,
    Callee,
    Certainty,
    Context,
    Declined,
    Extern,
    Fact,
    FromTensor,
    Rule,
    Sequence,
    Tensor,
    Unknown,
    options,
)
from ..base.reading import among
from ..torch_facts import NUMPY_COUNTING, TorchFacts

METHOD = "torch.Tensor."
ARRAY_METHOD = "numpy.ndarray."
OPERATIONS = ("torch.", "numpy.")  # what `operation` names starts with one of these


def held(fact: Fact) -> Tensor | Array | None:
    """Return the tensor or array among a fact's alternatives, None when there is none.

    NumPy scalars made of Python numbers are left out: Dynamo knows their values.
    """
    for option in options(fact):
        if isinstance(option, Tensor) or (isinstance(option, Array) and not option.constant):
            return among(option, fact)
    return None


def read_number(fact: Fact) -> FromTensor | None:
    """Return the Python number that was read out of a tensor, None when there is none."""
    for option in options(fact):
        if isinstance(option, FromTensor) and option.how in ("item", "size"):
            return option
    return None


def derived(fact: Fact) -> Tensor | Array | None:
    """Return the alternative whose value the graph computes, one element to all appearances.

    Inputs, buffers and parameters are left out: of those that hold one int, Dynamo knows how to
    make a symbol.
    """
    for option in options(fact):
        if isinstance(option, Tensor) and option.role == "" and option.rank in (0, None):
            return among(option, fact)
        if isinstance(option, Array) and not option.constant and option.rank in (0, None):
            return among(option, fact)
    return None


def derived_in(fact: Fact) -> Tensor | Array | None:
    """Return a `derived` value, also one that is an element of a tuple or list."""
    for option in options(fact):
        if isinstance(option, Sequence):
            for item in option.items if option.items is not None else (option.elem,):
                found = derived(item)
                if found is not None:
                    return found
    return derived(fact)


def read_in(fact: Fact) -> FromTensor | None:
    """Return a `read_number`, also one that is an element of a tuple or list."""
    for option in options(fact):
        if isinstance(option, Sequence):
            for item in option.items if option.items is not None else (option.elem,):
                found = read_number(item)
                if found is not None:
                    return found
    return read_number(fact)


def operation(name: str) -> str:
    """Return the bare name of a torch function, Tensor method or NumPy function, "" for others.

    `torch.nn.functional.one_hot`, `torch.ops.aten.nonzero.default` and `torch.Tensor.nonzero` give
    `one_hot` and `nonzero`.
    """
    if name.startswith("torch.ops.aten."):
        return name[len("torch.ops.aten.") :].partition(".")[0]
    if name.startswith(OPERATIONS):
        return name.rpartition(".")[2]
    return ""


def is_method(callee: Callee) -> bool:
    """Say whether the call is `value.name(...)`: the value is not among the arguments."""
    return callee.receiver is not None


def subject(call: ast.Call, callee: Callee, ctx: Context) -> Fact:
    """Return the fact of what an operation works on: the receiver or the first argument."""
    if callee.receiver is not None:
        return callee.receiver
    first = ctx.argument(call, 0, "input")
    return Unknown() if first is None else ctx.fact(first)


def traced(call: ast.Call, callee: Callee, ctx: Context) -> Fact | None:
    """Return the subject of a call of torch, or of NumPy on tensor data; None for others.

    torch functions give tensors whatever goes in; of NumPy's, few end the graph for that alone.
    """
    fact = subject(call, callee, ctx)
    if callee.name.startswith("torch."):
        return fact
    return held(fact) or (fact if callee.name in NUMPY_COUNTING else None)


def require_told(call: ast.Call, ctx: Context) -> None:
    """Decline to rewrite a call of NumPy on what may be a list: torch's functions take none."""
    callee = ctx.callee(call)
    if callee.name.startswith("numpy.") and held(subject(call, callee, ctx)) is None:
        raise Declined("what goes in isn't known to be a tensor or an array")


def certainty(callee: Callee) -> Certainty | None:
    """Return LIKELY where the receiver's type is a guess, None where facts decide."""
    return None if callee.sure else Certainty.LIKELY


def extern(fact: Fact) -> str:
    """Return the dotted name of a function or class outside the project, "" for others."""
    return fact.name if isinstance(fact, Extern) else ""


def operator_call(node: ast.AST, ctx: Context, names: frozenset[str]) -> tuple[Callee, Fact] | None:
    """Return callee and subject when the call is one of the named operations on tensor data."""
    assert isinstance(node, ast.Call)
    callee = ctx.callee(node)
    if operation(callee.name) not in names:
        return None
    fact = traced(node, callee, ctx)
    return None if fact is None else (callee, fact)


class OperationRule(Rule):
    """A rule about calls of a few operations, by the names that `operation` gives."""

    operations: ClassVar[frozenset[str]]

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee is one of the operations."""
        return operation(name) in self.operations
