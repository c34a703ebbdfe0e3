"""Names of numpy that break inside a region, beyond what torch_facts lists."""

from __future__ import annotations

import ast

from ..base import Const, Context, Sequence

# Parts of numpy that are code of their own: their calls aren't replaced by twins.
_PARTS = {
    "numpy.lib.": "GB0007",
    "numpy.polynomial.": "GB0007",
    "numpy.ma.": "GB0007",
    "numpy.char.": "GB0156",
    "numpy.emath.": "GB0156",
    "numpy.testing.": "GB0007",
    "numpy.ctypeslib.": "GB0007",
}
_MORE = {
    "numpy.result_type": "GB0208",
    "numpy.can_cast": "GB0208",
    "numpy.isscalar": "GB0208",
    "numpy.iscomplexobj": "GB0208",
    "numpy.isrealobj": "GB0208",
    "numpy.ndim": "GB0208",
    "numpy.size": "GB0208",
    "numpy.common_type": "GB0208",
    "numpy.min_scalar_type": "GB0208",
    "numpy.linalg.lstsq": "GB0036",
    "numpy.pad": "GB0033",
    "numpy.cov": "GB0033",
    "numpy.corrcoef": "GB0033",
}
_UFUNC_METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")
# Objects that are indexed: np.mgrid[0:3].
INDEXED = frozenset({"numpy.mgrid", "numpy.ogrid", "numpy.r_", "numpy.c_"})
_MAKERS = {"array": 1, "asarray": 1, "zeros": 1, "ones": 1, "empty": 1, "full": 2}


def call_break(name: str, ctx: Context) -> str:
    """Return the graph-break id of calling a function of numpy, "" when it has a twin in torch."""
    if ctx.torch.numpy(name) == "no":
        return "GB0294"
    known = _MORE.get(name)
    if known is not None:
        return known
    function, _, last = name.rpartition(".")
    if last in _UFUNC_METHODS and function.count(".") == 1 and ctx.torch.numpy(function):
        return "GB0290"
    return next((id for part, id in _PARTS.items() if name.startswith(part)), "")


def foreign_elements(node: ast.Call, name: str, ctx: Context) -> tuple[str, str]:
    """Return the id and the kind of elements when a call makes an array of what torch hasn't.

    Objects, strings and records; ("", "") for numbers and where nothing is known.
    """
    last = name.rpartition(".")[2]
    position = 0 if last == "astype" else _MAKERS.get(last)
    if position is None:
        return "", ""
    dtype = ctx.argument(node, position, "dtype")
    if dtype is not None:
        fact = ctx.fact(dtype)
        wanted = getattr(fact, "name", "")
        if wanted in ("builtins.object", "builtins.str", "builtins.bytes"):
            return "GB0055", wanted.partition(".")[2] + "s"
        if isinstance(fact, Sequence):
            return "GB4315", "records"
        if isinstance(fact, Const) and isinstance(fact.value, str) and fact.value[:1] in "US":
            return "GB4315", "strings"
        return "", ""
    values = ctx.fact(node.args[0]) if node.args and last in ("array", "asarray") else None
    if isinstance(values, Sequence) and values.items:
        kinds = {getattr(item, "kind", "") for item in values.items}
        if kinds & {"str", "NoneType"}:
            return "GB0087", "strings or None"
    return "", ""


__all__ = ["INDEXED", "call_break", "foreign_elements"]
