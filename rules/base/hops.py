"""Names that the analysis and the rules share: control-flow operators, and what is compiled."""

from __future__ import annotations

from .facts import Fact, Origin

COMPILED = "compiled by"  # how the origin of a compiled callable starts

_OPERATORS = ("cond", "while_loop", "scan", "associative_scan", "map")
_HOMES = ("torch._higher_order_ops.", "functorch.experimental.", "torch._functorch.")
_PUBLIC = {f"torch.{name}": name for name in _OPERATORS if name != "map"}
HOPS = (*_PUBLIC, *_HOMES)  # prefixes of the names that `operator_of` knows


def operator_of(name: str) -> str:
    """Return "cond", "while_loop", "scan", "associative_scan" or "map", "" for other callees."""
    known = _PUBLIC.get(name)
    if known is not None:
        return known
    last = name.rpartition(".")[2]
    return last if last in _OPERATORS and name.startswith(_HOMES) else ""


def compiled_at(fact: Fact) -> Origin | None:
    """Return where a callable went through torch.compile, None when it didn't."""
    if fact.origin is None:
        return None
    return next((step for step in fact.origin.chain() if step.message.startswith(COMPILED)), None)
