"""CL113: min(), max(), sorted() and list.sort() over tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    BoundMethod,
    Callee,
    Certainty,
    Code,
    Context,
    Example,
    Extern,
    Fact,
    Fix,
    FromTensor,
    Function,
    Instance,
    Mode,
    Rule,
    Sequence,
    Sighting,
    options,
)
from ..base.reading import data_in, modes_of, shown
from .holding import element_of, tensor_inside


class TensorOrder(Rule):
    """Python sorting, or `min`/`max` with a key, over tensors.

    ## What it does
    Flags `sorted` and `list.sort` whose elements, or keys, are tensors or hold tensors, and `min`
    and `max` with `key=` or `default=` over tensors. `sorted(kwargs.items())` sorts pairs, so
    tensors, modules and objects of your classes among the values count.

    ## Why it matters
    Sorting compares elements one by one and branches on every answer, which breaks the graph.
    `min` and `max` of tensors are captured, but not with a key or a default, whatever it reads.

    ## Example
    See the bad and good modules below.

    ## Fix
    Stack the values and use `torch.sort`, `argsort`, `topk`, `amax` or `argmax`. Ordering tensors
    by what Python knows, such as a length, is captured: `sorted(items, key=…)[-1]` for `max`.

    ## When it is safe
    `max(a, b)` of tensors, sorting names, shapes or numbers, and sorting tensors by a key that
    only reads shapes or Python values.
    """

    code = "CL113"
    name = "tensor-order"
    summary = "sorted() or min/max with a key over tensors"
    nodes = (ast.Call,)
    callees = ("builtins.sorted", "list.sort", "builtins.min", "builtins.max")
    graph_breaks = ("GB0193", "GB0207", "GB0059")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    return sorted([x.sum(), y.mean()])[0]  # error: CL113
""",
            good="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    parts = sorted([x, y], key=lambda t: t.shape[0])
    return torch.stack([parts[0].sum(), parts[1].mean()]).sort().values[0]
""",
            inputs="[(torch.randn(3), torch.randn(4))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    return max([x, y], key=lambda t: t.shape[0])  # error: CL113
""",
            good="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    return sorted([x, y], key=lambda t: t.shape[0])[-1] + max(x.sum(), y.sum())
""",
            inputs="[(torch.randn(3), torch.randn(4))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    order = [2, 0, 1]
    order.sort(key=lambda i: x[i])  # error: CL113
    return x
""",
            good="""
import torch

def f(x: torch.Tensor):
    return x[x.argsort()]
""",
        ),
        Example(
            bad="""
import torch

class Scale:
    def __init__(self, by):
        self.by = by

def apply(x, **scales):
    for name, scale in sorted(scales.items()):  # error: CL113
        x = x * scale.by
    return x

def f(x: torch.Tensor):
    return apply(x, a=Scale(2), b=Scale(3))
""",
            good="""
import torch

class Scale:
    def __init__(self, by):
        self.by = by

def apply(x, **scales):
    for name in sorted(scales):
        x = x * scales[name].by
    return x

def f(x: torch.Tensor):
    return apply(x, a=Scale(2), b=Scale(3))
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when Python has to order tensors."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        if callee.name in ("builtins.sorted", "list.sort"):
            yield from _sorted(node, callee, "key" in keywords, ctx)
        elif callee.name in ("builtins.min", "builtins.max") and keywords:
            yield from _extreme(node, callee, keywords, ctx)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield a sort of one tensor."""
        from ..rewrites.choices import sorted_fixes

        assert isinstance(sighting.node, ast.Call)
        return sorted_fixes(sighting.node, ctx, code)


def _sorted(node: ast.Call, callee: Callee, keyed: bool, ctx: Context) -> Iterator[Sighting]:
    if callee.name == "list.sort":
        items = callee.receiver
    else:
        items = ctx.fact(node.args[0]) if node.args else None
    compared = callee.inner if keyed or items is None else element_of(items)
    fact = None if compared is None else tensor_inside(compared) or data_in(compared)
    if fact is None and compared is not None and not keyed:
        fact = _beside_key(compared)
        if fact is not None:
            text = f"`{shown(node, 40)}` orders pairs, of which some hold an object"
            yield Sighting(node, text, fact, graph_breaks=("GB0207",))
            return
        if _asked_for_tensors(node, ctx):
            text = f"`{shown(node, 40)}` orders pairs, of which some hold a tensor"
            yield Sighting(node, text, certainty=Certainty.LIKELY, graph_breaks=("GB0207",))
            return
    if fact is None or not modes_of(fact):
        return
    modes = (Mode.FULLGRAPH,) if isinstance(fact, FromTensor) else BOTH
    word = callee.name.rpartition(".")[2]
    by = " by keys that are" if keyed else ""
    yield Sighting(
        node, f"`{word}` orders{by} tensors in Python, comparing one by one", fact, breaks=modes
    )


def _beside_key(fact: Fact) -> Fact | None:
    """Return an object of a project class or a module in the tuples that are compared, else None.

    Dynamo sorts only constants: a tuple of a name and an object isn't one, though the names alone
    decide.
    """
    for option in options(fact):
        if isinstance(option, Sequence) and option.kind == "tuple":
            for item in option.items or (option.elem,):
                for inner in options(item):
                    if isinstance(inner, Instance) and (
                        inner.module or not isinstance(inner.cls, str)
                    ):
                        return inner
    return None


def _asked_for_tensors(node: ast.Call, ctx: Context) -> bool:
    """Say whether the loop over sorted pairs asks of their second part if it is a tensor."""
    loop = ctx.parent(node)
    if not (isinstance(loop, ast.For) and loop.iter is node and isinstance(loop.target, ast.Tuple)):
        return False
    value = getattr(loop.target.elts[-1], "id", "")
    return bool(value) and any(
        isinstance(part, ast.Call)
        and part.args
        and getattr(part.args[0], "id", "") == value
        and _asks(part, ctx)
        for part in ctx.inside(loop)
    )


def _asks(call: ast.Call, ctx: Context) -> bool:
    name = ctx.callee(call).name
    if name == "builtins.isinstance" and len(call.args) == 2:
        named = ctx.fact(call.args[1])
        return any(isinstance(o, Extern) and o.name == "torch.Tensor" for o in options(named))
    return name == "torch.is_tensor"


def _extreme(
    node: ast.Call, callee: Callee, keywords: dict[str | None, ast.expr], ctx: Context
) -> Iterator[Sighting]:
    found: Fact | None = None
    for arg in node.args:
        found = found or tensor_inside(ctx.fact(arg))
    if found is None and "key" in keywords:
        found = tensor_inside(callee.inner) if callee.inner is not None else None
        for option in options(ctx.fact(keywords["key"])):
            if isinstance(option, Function):
                for _, fact in option.closure:
                    found = found or tensor_inside(fact)
            elif isinstance(option, BoundMethod):
                found = found or tensor_inside(option.receiver)
    if found is not None:
        word = callee.name.rpartition(".")[2]
        how = "key" if "key" in keywords else "default"
        yield Sighting(node, f"`{word}` with `{how}=` over tensors: {shown(node, 40)}", found)
