"""What copying a value breaks."""

from __future__ import annotations

from ..base import Array, Fact, Instance, Mapping, Sequence, Tensor, options


def deep_copied(fact: Fact, depth: int = 3) -> tuple[str, str]:
    """Return the break that deep-copying a value gives, and what the value is."""
    if isinstance(fact, Tensor):
        return "GB4198", "a tensor"
    if isinstance(fact, Array):
        return "GB4315", "an array"
    if isinstance(fact, Instance) and fact.module:
        return "GB4198", "a module"
    held: list[Fact] = []
    if isinstance(fact, Sequence):
        held = list(fact.items) if fact.items is not None else [fact.elem]
    elif isinstance(fact, Mapping):
        held = [item for _, item in fact.items] + ([] if fact.exact else [fact.elem])
    elif isinstance(fact, Instance):
        held = [item for _, item in fact.attrs]
    if depth:
        for item in held:
            for option in options(item):
                id, _ = deep_copied(option, depth - 1)
                if id:
                    return id, "which holds tensors or modules"
    return "", ""


def copied(fact: Fact) -> tuple[str, str]:
    """Return the break that `copy.copy` of a value gives, and what the value is."""
    if isinstance(fact, Tensor):
        return "GB0208", "a tensor"
    if isinstance(fact, Array):
        return "GB0156", "an array"
    if isinstance(fact, Instance) and fact.module:
        return "GB0008", "a module"
    if isinstance(fact, Sequence) and fact.kind in ("list", "set"):
        return "GB0007", f"a {fact.kind}"
    if isinstance(fact, Sequence) and fact.kind == "deque":
        return "GB0156", "a deque"
    if isinstance(fact, Mapping) and fact.kind == "dict":
        return "GB0007", "a dict"
    return "", ""


__all__ = ["copied", "deep_copied"]
