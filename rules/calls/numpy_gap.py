"""CL307: numpy that torch has no twin of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Array,
    Code,
    Const,
    Context,
    Declined,
    Example,
    Extern,
    Fix,
    Rule,
    Sighting,
    Static,
    options,
)
from ..torch_facts import TorchFacts
from .file_io import is_io
from .numpy_names import INDEXED, call_break, foreign_elements
from .seen import call_seen, shown

_USED = {"strides": "GB4841", "itemsize": "GB4841", "nbytes": "GB4841", "__array__": "GB4315"}
_READS = frozenset({"tolist", "item"})  # reading values out is a matter of its own


class NumpyGap(Rule):
    """A numpy function or array attribute that Dynamo can't translate to torch.

    ## What it does
    Flags numpy functions that `torch._numpy` lacks (`np.interp`, `np.poly1d`, `np.vectorize`,
    `np.isin`, `np.nanmean`, …), functions that give Python values (`np.isscalar`, `np.ndim`,
    `np.size`, `np.iscomplexobj`, …), attributes of arrays such as `dtype` and `flags`, and arrays
    of strings or objects.

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
    In code that only runs once, such as filling a buffer in `__init__`: that isn't captured.
    """

    code = "CL307"
    name = "numpy-gap"
    summary = "numpy code that has no twin in torch"
    nodes = (ast.Call, ast.Attribute, ast.Subscript)
    callees = ("numpy.",)
    graph_breaks = ("GB0294", "GB0157", "GB0158", "GB4315", "GB0055", "GB0290", "GB0007")
    examples = (
        Example(
            bad="""
import numpy as np
import torch

def f(x):
    grid = np.interp(np.arange(3), [0, 2], [0.0, 1.0])  # error: CL307
    return x + torch.from_numpy(grid)
""",
            good="""
import torch

def f(x):
    grid = torch.linspace(0.0, 1.0, 3)
    return x + grid
""",
        ),
        Example(
            bad="""
import numpy as np
import torch

def f(x):
    a = x.numpy()
    zeros = np.zeros(3, dtype=a.dtype)  # error: CL307
    return torch.from_numpy(zeros) + x
""",
            good="""
import torch

def f(x):
    return torch.zeros(3, dtype=x.dtype) + x
""",
        ),
        Example(
            bad="""
import numpy as np
import torch

def f(x, scale=2.0):
    if np.isscalar(scale):  # error: CL307
        return x * scale
    return x
""",
            good="""
import torch

def f(x, scale=2.0):
    if isinstance(scale, float):
        return x * scale
    return x
""",
            note="What isn't an array can't come out of the twin, whatever went in.",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether an attribute is one that arrays break on; calls and items may all be."""
        return not isinstance(node, ast.Attribute) or bool(_unknown(node, torch))

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for numpy code outside of torch's twin."""
        if isinstance(node, ast.Attribute):
            yield from self._attribute(node, ctx)
        elif isinstance(node, ast.Subscript):
            held = ctx.fact(node.value)
            if isinstance(held, Extern) and held.name in INDEXED:
                text = f"`{shown(node.value)}[…]` has no twin in torch"
                yield Sighting(node, text, graph_breaks=("GB0008",))
        elif isinstance(node, ast.Call):
            yield from self._call(node, ctx)

    def _call(self, node: ast.Call, ctx: Context) -> Iterator[Sighting]:
        callee = ctx.callee(node)
        name = callee.name
        if not name.startswith("numpy.") or name.startswith("numpy.random.") or is_io(name):
            return
        array = name.startswith("numpy.ndarray.")
        id = "" if array else call_break(name, ctx)
        if id:
            yield call_seen(node, callee, f"`{shown(node)}` has no twin in torch", id)
            return
        id, kind = foreign_elements(node, name, ctx)
        if id:
            text = f"`{shown(node)}` makes an array of {kind}, which torch hasn't"
            yield call_seen(node, callee, text, id)

    def _attribute(self, node: ast.Attribute, ctx: Context) -> Iterator[Sighting]:
        facts = options(ctx.fact(node.value))
        arrays = [fact for fact in facts if isinstance(fact, Array)]
        if arrays and all(isinstance(fact, (Array, Const, Static)) for fact in facts):
            text = f"`{shown(node)}`: Dynamo doesn't know this attribute of an array"
            breaks = (_unknown(node, ctx.torch),)
            yield Sighting(node, text, arrays[0], graph_breaks=breaks)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the function of torch, or a constant of the module."""
        from ..rewrites.arrays import torch_twin

        if not isinstance(sighting.node, ast.Call):
            raise Declined("ask the tensor for it, before it is made an array")
        yield from torch_twin(sighting.node, ctx, code)


def _unknown(node: ast.Attribute, torch: TorchFacts) -> str:
    """Return the graph-break id of reading the attribute from an array, "" where it is traced."""
    id = _USED.get(node.attr) or torch.ndarray(node.attr)
    if id is None or id == "ok" or node.attr in _READS or not isinstance(node.ctx, ast.Load):
        return ""
    return id
