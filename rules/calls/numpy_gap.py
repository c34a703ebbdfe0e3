"""CL307: numpy that torch has no twin of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Array, Const, Context, Example, Rule, Sighting, Static, options
from .file_io import is_io
from .seen import call_seen, shown

# Parts of numpy that are code of their own, and not among the functions torch_facts lists.
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
    "numpy.linalg.lstsq": "GB0036",
    "numpy.ndarray.__array__": "GB4315",
}
_READS = frozenset({"tolist", "item"})  # reading values out is a matter of its own


class NumpyGap(Rule):
    """A numpy function or array attribute that Dynamo can't translate to torch.

    ## What it does
    Flags numpy functions that `torch._numpy` lacks (`np.interp`, `np.poly1d`, `np.vectorize`,
    `np.isin`, `np.nanmean`, …), attributes of arrays such as `dtype` and `flags`, and arrays of
    strings or objects.

    ## Why it matters
    Inside a region Dynamo replaces numpy by a twin built of torch operations, so that arrays become
    part of the graph. Where there is no twin the graph ends, the arrays are made real, and numpy
    runs on the host; on a GPU that costs a copy each way.

    ## Example
    See the bad and good modules below.

    ## Fix
    Use the torch function (`torch.isin`, `torch.nanmean`, `torch.quantile`, …), or precompute
    constants outside. For a type, ask the tensor: `x.dtype`.

    ## When it is safe
    In code that only runs once, such as filling a buffer in `__init__`: it is not captured and not
    reported.
    """

    code = "CL307"
    name = "numpy-gap"
    summary = "numpy code that has no twin in torch"
    nodes = (ast.Call, ast.Attribute)
    graph_breaks = ("GB0294", "GB0157", "GB0158", "GB4315")
    examples = (
        Example(
            bad='''
import numpy as np
import torch

def f(x):
    grid = np.interp(np.arange(3), [0, 2], [0.0, 1.0])  # error: CL307
    return x + torch.from_numpy(grid)
''',
            good='''
import torch

def f(x):
    grid = torch.linspace(0.0, 1.0, 3)
    return x + grid
''',
        ),
        Example(
            bad='''
import numpy as np
import torch

def f(x):
    a = x.numpy()
    zeros = np.zeros(3, dtype=a.dtype)  # error: CL307
    return torch.from_numpy(zeros) + x
''',
            good='''
import torch

def f(x):
    return torch.zeros(3, dtype=x.dtype) + x
''',
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for numpy code outside of torch's twin."""
        if isinstance(node, ast.Attribute):
            yield from self._attribute(node, ctx)
            return
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        if name.startswith("numpy.ndarray."):
            if ctx.argument(node, 0, "dtype") is not None and name.endswith(".astype"):
                yield from self._dtype(node, 0, ctx)
            return
        if not name.startswith("numpy.") or name.startswith("numpy.random.") or is_io(name):
            return
        id = "GB0294" if ctx.torch.numpy(name) == "no" else _MORE.get(name, "")
        if not id:
            id = next((i for part, i in _PARTS.items() if name.startswith(part)), "")
        if id:
            yield call_seen(node, callee, f"`{shown(node)}` has no twin in torch", id)
        elif name.rpartition(".")[2] in ("array", "zeros", "ones", "empty", "full", "asarray"):
            yield from self._dtype(node, 2 if name.endswith(".full") else 1, ctx)

    def _dtype(self, node: ast.Call, position: int, ctx: Context) -> Iterator[Sighting]:
        dtype = ctx.argument(node, position, "dtype")
        name = getattr(ctx.fact(dtype), "name", "") if dtype is not None else ""
        if name in ("builtins.object", "builtins.str", "builtins.bytes"):
            kind = name.partition(".")[2]
            yield Sighting(node, f"`{shown(node)}` makes an array of {kind}, which torch hasn't",
                           graph_breaks=("GB0055",))

    def _attribute(self, node: ast.Attribute, ctx: Context) -> Iterator[Sighting]:
        if not isinstance(node.ctx, ast.Load) or node.attr in _READS:
            return
        id = ctx.torch.ndarray(node.attr)
        if id is None or id == "ok":
            return
        facts = options(ctx.fact(node.value))
        arrays = [fact for fact in facts if isinstance(fact, Array)]
        if arrays and all(isinstance(fact, (Array, Const, Static)) for fact in facts):
            text = f"`{shown(node)}`: Dynamo doesn't know this attribute of an array"
            yield Sighting(node, text, arrays[0], graph_breaks=(id,))
