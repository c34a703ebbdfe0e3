"""CL426: tensors and numbers read out of them as list indices and dict keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BOTH,
    DEFAULT_ONLY,
    Context,
    Example,
    Fact,
    Instance,
    Mapping,
    Mode,
    Rule,
    Sequence,
    Sighting,
    Tensor,
    options,
)
from ..base.reading import shown
from .data import derived, held, read_in, read_number

_FULLGRAPH = (Mode.FULLGRAPH,)
# Methods of Python containers whose first argument has to be known while capturing.
_METHODS = frozenset({
    "list.pop", "list.insert", "list.count", "tuple.count", "dict.get", "dict.pop",
    "dict.setdefault", "set.add", "set.discard", "set.remove",
})
# Functions that take every element of their first argument as a key.
_KEYED = frozenset({"builtins.set", "builtins.frozenset", "dict.fromkeys"})


class PythonIndex(Rule):
    """A list index, dict key or repeat count that a tensor decides.

    ## What it does
    Flags `layers[i]` where `i` is a tensor, or a number read out of one with `.item()`, and
    `layers` a list, tuple or `nn.ModuleList`; dict keys and `[x] * n` likewise.

    ## Why it matters
    Which Python object is meant has to be known while capturing. A tensor as an index is read
    first, which ends the graph by default; a number that was read out ends it under
    `fullgraph=True`, since its symbol has no value.

    ## Example
    See the bad and good modules below.

    ## Fix
    Stack the candidates and select with the tensor: `torch.stack(values)[i[None]]`. For layers,
    run all and choose with `torch.where`, or `torch.cond` between two. A number that is known
    before the call can be passed in as a Python int.

    ## When it is safe
    When a recompilation for every value is fine: pass the number in as a Python int.
    """

    code = "CL426"
    name = "python-index"
    summary = "a list index or dict key that a tensor decides"
    nodes = (ast.Subscript, ast.Call, ast.BinOp, ast.Set, ast.SetComp, ast.Dict, ast.DictComp)
    graph_breaks = ("GB0124",)
    examples = (
        Example(
            bad='''
import torch

def f(x: torch.Tensor, which: torch.Tensor):
    scales = [1.0, 2.0, 4.0]
    return x * scales[which.argmax()]  # error: CL426
''',
            good='''
import torch

def f(x: torch.Tensor, which: torch.Tensor):
    scales = torch.tensor([1.0, 2.0, 4.0])
    return x * scales[which.argmax()[None]]
''',
            inputs="[(torch.randn(3), torch.tensor([0, 1, 0]))]",
        ),
        Example(
            bad='''
import torch

def f(x: torch.Tensor, which: torch.Tensor):
    scales = {0: 1.0, 1: 2.0}
    return x * scales[which.max().item()]  # error: CL401, CL426
''',
            good='''
import torch

def f(x: torch.Tensor, which: torch.Tensor):
    scales = torch.tensor([1.0, 2.0])
    return x * scales[which].max()
''',
            inputs="[(torch.randn(3), torch.tensor([0, 1]))]",
            note="a number that was read out has no value under fullgraph",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a Python container is asked for what a tensor decides."""
        if isinstance(node, ast.Subscript):
            if not isinstance(node.slice, (ast.Slice, ast.Tuple)):
                yield from self._subscript(node, ctx)
        elif isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Mult):
                for one, other in ((node.left, node.right), (node.right, node.left)):
                    if all(isinstance(o, Sequence) for o in options(ctx.fact(one))):
                        number = read_number(ctx.fact(other))
                        if number is not None:
                            yield self._unknown(other, number, "the repeat count")
        elif isinstance(node, ast.Call):
            name = ctx.callee(node).name
            if node.args and (name in _METHODS or name in _KEYED):
                fact = ctx.fact(node.args[0])
                number = read_in(fact) if name in _KEYED else read_number(fact)
                if number is not None:
                    yield self._unknown(node.args[0], number, "what is looked up")
        else:
            for key in _keys(node):
                number = read_number(ctx.fact(key))
                if number is not None:
                    yield self._unknown(key, number, "the key")

    def _subscript(self, node: ast.Subscript, ctx: Context) -> Iterator[Sighting]:
        base, index = ctx.fact(node.value), ctx.fact(node.slice)
        kinds = options(base)
        layers = any(isinstance(o, Instance) and o.module for o in kinds)
        listed = any(isinstance(o, Sequence) for o in kinds)
        found = held(index) or derived(index)
        if found is not None and (layers or listed):
            known = isinstance(found, Tensor) and found.role and not layers
            text = f"index `{shown(node.slice)}` is a tensor, and must be known while capturing"
            yield Sighting(node.slice, text, found, breaks=DEFAULT_ONLY if known else BOTH)
            return
        if held(base) is not None and all(isinstance(o, Sequence) for o in options(index)):
            number = read_in(index)
            if number is not None:
                yield self._unknown(node.slice, number, "the list of indices")
            return
        number = read_number(index)
        if number is not None and (layers or listed or any(isinstance(o, Mapping) for o in kinds)):
            yield self._unknown(node.slice, number, "the index")

    def _unknown(self, node: ast.expr, number: Fact, what: str) -> Sighting:
        text = f"{what} `{shown(node)}` comes from a tensor, and must be known while capturing"
        return Sighting(node, text, number, breaks=_FULLGRAPH)


def _keys(node: ast.AST) -> list[ast.expr]:
    """Return the expressions that a display or comprehension hashes."""
    if isinstance(node, ast.Set):
        return [key for key in node.elts if not isinstance(key, ast.Starred)]
    if isinstance(node, ast.SetComp):
        return [node.elt]
    if isinstance(node, ast.DictComp):
        return [node.key]
    return [key for key in node.keys if key is not None] if isinstance(node, ast.Dict) else []
