"""CL428: numbers read out of tensors as set elements, dict keys and repeat counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Code,
    Context,
    Declined,
    Example,
    Fact,
    Fix,
    Mode,
    Rule,
    Sequence,
    Sighting,
    Union,
    options,
)
from ..base.reading import shown
from ..torch_facts import TorchFacts
from .data import read_in, read_number

# Methods of Python containers whose first argument has to be known while capturing.
_METHODS = frozenset(
    {
        "list.pop",
        "list.insert",
        "list.count",
        "tuple.count",
        "dict.get",
        "dict.pop",
        "dict.setdefault",
        "set.add",
        "set.discard",
        "set.remove",
    }
)
# Functions that take every element of their first argument as a key.
_KEYED = frozenset({"builtins.set", "builtins.frozenset", "dict.fromkeys"})
_DISPLAYS = (ast.Set, ast.SetComp, ast.Dict, ast.DictComp)

_REPEATED = frozenset({Sequence, Union})  # facts that may be sequences, whatever the case


class PythonLookup(Rule):
    """A set, dict or list that is asked for a number read out of a tensor.

    ## What it does
    Flags numbers that came from `.item()`, `int(t)` or `.tolist()` as set elements, dict keys,
    arguments of `list.pop`, `list.insert`, `dict.get`, and as the `n` of `[x] * n`.

    ## Why it matters
    Under `fullgraph=True` such a number is a symbol without a value. Hashing it, or making a list
    of that length, needs the value, and compilation raises. By default the graph has already
    ended where the number was read.

    ## Example
    See the bad and good modules below.

    ## Fix
    Do it with tensors: `torch.isin` for sets, an index into a stacked tensor for dicts,
    `x.expand` or a mask for repeats. A number that is known before the call can be passed in as a
    Python int.

    ## When it is safe
    When fullgraph isn't asked for: the read is the break, and it has a finding of its own.
    """

    code = "CL428"
    name = "python-lookup"
    summary = "a number read out of a tensor as a key or a length"
    nodes = (ast.Call, ast.BinOp, *_DISPLAYS)
    callees = tuple(sorted(_METHODS | _KEYED))
    breaks = (Mode.FULLGRAPH,)
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, kinds: torch.Tensor):
    return x + len({int(k) for k in kinds})  # error: CL402, CL428
""",
            good="""
import torch

def f(x: torch.Tensor, kinds: torch.Tensor):
    present = (kinds[:, None] == torch.arange(8)).any(dim=0)
    return x + present.sum()
""",
            inputs="[(torch.randn(3), torch.tensor([1, 1, 2]))]",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether the operator, where there is one, is `*`."""
        return not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Mult)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a Python container needs a number that only the data knows."""
        if isinstance(node, ast.BinOp):
            yield from self._repeat(node, ctx)
        elif isinstance(node, ast.Call):
            name = ctx.callee(node).name
            if node.args and (name in _METHODS or name in _KEYED):
                fact = ctx.fact(node.args[0])
                number = read_in(fact) if name in _KEYED else read_number(fact)
                if number is not None:
                    yield _seen(node.args[0], number, "what is looked up")
        else:
            for key in _keys(node):
                number = read_number(ctx.fact(key))
                if number is not None:
                    yield _seen(key, number, "key")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: there is no form of fixed shape."""
        raise Declined("Python must know the number to look it up")

    def _repeat(self, node: ast.BinOp, ctx: Context) -> Iterator[Sighting]:
        if not isinstance(node.op, ast.Mult):
            return
        for one, other in ((node.left, node.right), (node.right, node.left)):
            fact = ctx.fact(one)
            if type(fact) in _REPEATED and all(isinstance(o, Sequence) for o in options(fact)):
                number = read_number(ctx.fact(other))
                if number is not None:
                    yield _seen(other, number, "repeat count")


def _seen(node: ast.expr, number: Fact, what: str) -> Sighting:
    text = f"{what} `{shown(node)}` comes from a tensor, and must be known while capturing"
    return Sighting(node, text, number)


def _keys(node: ast.AST) -> list[ast.expr]:
    """Return the expressions that a display or comprehension hashes."""
    if isinstance(node, ast.Set):
        return [key for key in node.elts if not isinstance(key, ast.Starred)]
    if isinstance(node, ast.SetComp):
        return [node.elt]
    if isinstance(node, ast.DictComp):
        return [node.key]
    return [key for key in node.keys if key is not None] if isinstance(node, ast.Dict) else []
