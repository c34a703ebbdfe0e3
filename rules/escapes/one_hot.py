"""CL417: one_hot without a number of classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Const, Context, Declined, Example, Fix, Mode, Sighting
from ..base.reading import shown
from .data import OperationRule, certainty, derived, is_method, operator_call, read_number

_NAMES = frozenset({"one_hot"})


class OneHot(OperationRule):
    """`F.one_hot(x)` without `num_classes` takes the largest value.

    ## What it does
    Flags `torch.nn.functional.one_hot` without `num_classes`, with -1, or with a number that is
    computed from a tensor.

    ## Why it matters
    The size of the result depends on data, and unlike other such operations this one breaks the
    graph in every mode.

    ## Example
    See the bad and good modules below.

    ## Fix
    Pass the number of classes as a Python int.

    ## When it is safe
    Outside of compiled code.
    """

    code = "CL417"
    name = "one-hot-classes"
    summary = "`one_hot` without a known number of classes"
    nodes = (ast.Call,)
    operations = _NAMES
    graph_breaks = ("GB0246", "GB0033")
    examples = (
        Example(
            bad="""
import torch
import torch.nn.functional as F

def f(labels: torch.Tensor):
    return F.one_hot(labels)  # error: CL417
""",
            good="""
import torch
import torch.nn.functional as F

def f(labels: torch.Tensor):
    return F.one_hot(labels, num_classes=4)
""",
            inputs="[(torch.tensor([2, 0, 1]),)]",
        ),
        Example(
            bad="""
import torch
import torch.nn.functional as F

def f(labels: torch.Tensor):
    return F.one_hot(labels, labels.max() + 1)  # error: CL417
""",
            good="""
import torch
import torch.nn.functional as F

def f(labels: torch.Tensor):
    return (labels[:, None] == torch.arange(4)).long()
""",
            inputs="[(torch.tensor([2, 0, 1]),)]",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the number of classes is missing or depends on data."""
        assert isinstance(node, ast.Call)
        found = operator_call(node, ctx, self.operations)
        if found is None:
            return
        callee, labels = found
        if any(isinstance(a, ast.Starred) for a in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            return
        sure = certainty(callee)
        classes = ctx.argument(node, 0 if is_method(callee) else 1, "num_classes")
        fact = None if classes is None else ctx.fact(classes)
        if fact is None or (isinstance(fact, Const) and fact.value == -1):
            text = f"`{shown(node)}` takes as many classes as the largest value says"
            yield Sighting(node, text, labels, certainty=sure)
            return
        data = derived(fact)
        if data is not None:
            text = f"`{shown(node)}` has as many classes as a tensor says"
            yield Sighting(node, text, data, certainty=sure, local=True)
            return
        number = read_number(fact)
        if number is not None:
            text = f"the number of classes of `{shown(node)}` must be known while capturing"
            yield Sighting(node, text, number, breaks=(Mode.FULLGRAPH,))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: there is no form of fixed shape."""
        raise Declined("the number of classes isn't in sight: pass `num_classes=`")
