"""Which overload of a torch function a call picks, as far as kinds of arguments tell.

An overload is one string of the tables: ``input:tensor,dim:int,keepdim:bool=,*,out:any=>tensors:2``
(parameters with their kinds, ``=`` where there is a default, then what it returns).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

# Kinds that a tensor can not stand for, and that can not stand for a tensor.
_PLAIN = frozenset(
    ("bool", "true", "false", "int", "float", "number", "str", "size", "dtype", "device", "none")
)
_FLAGS = frozenset(("true", "false"))
# NumPy's names, which torch takes as well.
_SYNONYMS = {"axis": "dim", "keepdims": "keepdim"}


def matching(
    overload: str, positional: Sequence[str], keywords: Mapping[str, str]
) -> Iterator[str]:
    """Yield the kind that ``overload`` returns if a call with these kinds may mean it."""
    parameters, _, returned = overload.partition(">")
    if _binds(parameters.split(",") if parameters else [], positional, keywords):
        yield returned


def _binds(
    parameters: Sequence[str], positional: Sequence[str], keywords: Mapping[str, str]
) -> bool:
    left = list(positional)
    named = {_SYNONYMS.get(name, name): kind for name, kind in keywords.items()}
    only_keywords = False
    for parameter in parameters:
        if parameter.startswith("*"):
            if len(parameter) > 1:  # ``*size``: takes whatever is left
                left.clear()
            only_keywords = True
            continue
        name, _, kind = parameter.partition(":")
        if left and not only_keywords:
            given = left.pop(0)
        elif name in named:
            given = named.pop(name)
        elif kind.endswith("="):
            continue
        else:
            return False
        if not _fits(given, kind.rstrip("=")):
            return False
    return not left and not named


def _fits(given: str, wanted: str) -> bool:
    if given in _FLAGS and wanted in _FLAGS:
        return given == wanted
    wants, gives = set(wanted.split("|")), set(given.split("|"))
    if wants == {"none"}:
        return not gives.isdisjoint(("none", "any"))
    if wants <= {"tensor"}:
        return not gives <= _PLAIN
    if wants <= _PLAIN:
        return not all(kind.startswith("tensor") for kind in gives)
    return True
