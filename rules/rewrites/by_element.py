"""Lists of tensors that an arm computes anew, element by element: picked element by element.

`if total > limit: grads = [g * scale for g in grads]` becomes
`grads = [torch.where(total > limit, g * scale, g) for g in grads]`.

Declined, by giving None: comprehensions over something else than what the other arm leaves, with
filters or several loops.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from ..base.facts import Sequence, Unknown, options
from .arm_reader import Outcome


def elements(one: Outcome, two: Outcome) -> tuple[str, str, str] | None:
    """Return the element of each arm and the rest of the comprehension, None for other values."""
    for new, old, swapped in ((one, two, False), (two, one, True)):
        found = _of(new.text, old.text)
        if found is not None and _may_be_list(old):
            element, name, rest = found
            return (name, element, rest) if swapped else (element, name, rest)
    return None


def joined(found: tuple[str, str, str], pick: Callable[[str, str], str]) -> str:
    """Return the comprehension whose elements are picked."""
    element, other, rest = found
    return f"[{pick(element, other)} {rest}]"


def _of(text: str, whole: str) -> tuple[str, str, str] | None:
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.ListComp) or len(node.generators) != 1:
        return None
    (part,) = node.generators
    element = ast.get_source_segment(text, node.elt)
    plain = isinstance(part.target, ast.Name) and not (part.ifs or part.is_async)
    if not plain or element is None or ast.unparse(part.iter) != whole:
        return None
    name = ast.unparse(part.target)
    return element, name, f"for {name} in {whole}"


def _may_be_list(outcome: Outcome) -> bool:
    return all(
        isinstance(fact, Unknown) or (isinstance(fact, Sequence) and fact.kind == "list")
        for fact in options(outcome.fact)
    )
