"""CL525: an except clause that waits for a tensor operator to fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Certainty, Code, Const, Context, Example, Fix, Rule, Severity, Sighting
from ..base.reading import shown, tensor_of
from .handlers import caught, guarded

_ERRORS = frozenset({"RuntimeError", "Exception", "BaseException", "LinAlgError", ""})
_ITEMS = frozenset({"IndexError", "LookupError"})
_CAUGHT = _ERRORS | _ITEMS
_SHAPED = frozenset(
    {
        "matmul",
        "mm",
        "bmm",
        "mv",
        "dot",
        "addmm",
        "baddbmm",
        "view",
        "reshape",
        "expand",
        "cat",
        "stack",
        "concat",
        "einsum",
        "tensordot",
        "unflatten",
        "split_with_sizes",
        "as_strided",
    }
)
# These fail on values: never on fake tensors, so the graph goes on, past the handler.
_VALUED = frozenset({"cholesky", "inv", "inverse", "solve", "eigh"})


class FailingOperator(Rule):
    """`try:` around a tensor operator, with an `except` that computes something else.

    ## What it does
    Flags operators that fail on the wrong shape or value (`a @ b`, `view`, `cat`, `cholesky`, …)
    in a `try` whose handler catches `RuntimeError`, `Exception` or everything and goes on; and
    `x[i]` with a constant index where the handler catches `IndexError`.

    ## Why it matters
    While capturing, the operator runs on fake tensors. If it fails there, Dynamo gives up on the
    graph: the handler isn't tried. If it would only fail on values (a matrix that isn't positive
    definite), the error comes out of the compiled graph, past the handler.

    ## Example
    `try: return a @ b` / `except RuntimeError: return a @ b.mT`.

    ## Fix
    Test what the operator needs: shapes and dtypes are known while capturing
    (`if a.shape[-1] == b.shape[-2]`). For values use the variants that report instead of raising,
    such as `torch.linalg.cholesky_ex`.

    ## When it is safe
    When the operator never fails on the inputs of the compiled call; hence only likely. Handlers
    that raise are not reported, nor are Python errors such as KeyError.
    """

    code = "CL525"
    name = "failing-operator"
    summary = "`except` that waits for a tensor operator to fail"
    nodes = (ast.Try,)
    graph_breaks = ("GB4315",)
    examples = (
        Example(
            bad="""
import torch

def f(a: torch.Tensor, b: torch.Tensor):
    try:
        return a @ b  # error: CL525
    except RuntimeError:
        return a @ b.mT
""",
            good="""
import torch

def f(a: torch.Tensor, b: torch.Tensor):
    if a.shape[-1] == b.shape[-2]:
        return a @ b
    return a @ b.mT
""",
            inputs="[(torch.randn(2, 3), torch.randn(4, 3))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor):
    try:
        y = x.view(5, 5)  # error: CL525
    except Exception:
        y = x.view(-1)
    return y + 1
""",
            good="""
import torch

def f(x: torch.Tensor):
    try:
        y = torch.relu(x)
    except Exception:
        y = x.view(-1)
    return y + 1
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for the operators of a try block that its handlers wait for."""
        assert isinstance(node, ast.Try)
        seen: set[int] = set()
        if caught(node).isdisjoint(_CAUGHT):
            return
        for part in guarded(node):
            line = getattr(part, "lineno", 0)
            if line in seen or not ctx.reached(part):
                continue
            if _fails(part, node, ctx):
                seen.add(line)
                what = f"if `{shown(part)}` fails, compiled code never gets to the `except`"
                name = ctx.callee(part).name if isinstance(part, ast.Call) else ""
                modes = () if name.rpartition(".")[2] in _VALUED else None
                severity = Severity.WARNING if modes == () else None
                yield Sighting(
                    part, what, certainty=Certainty.LIKELY, breaks=modes, severity=severity
                )

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the test of what the operator needs."""
        from ..rewrites.trying import asked_first

        guard = next((p for p in ctx.ancestors(sighting.node) if isinstance(p, ast.Try)), None)
        assert guard is not None
        assert isinstance(sighting.node, ast.expr)
        failing = [part for part in guarded(guard) if _fails(part, guard, ctx)]
        yield from asked_first(sighting.node, failing, ctx, code)


def _fails(part: ast.AST, guard: ast.Try, ctx: Context) -> bool:
    kinds = caught(guard)
    if kinds & _ERRORS and _may_fail(part, ctx):
        return True
    return bool(kinds & _ITEMS) and _constant_item(part, ctx)


def _may_fail(node: ast.AST, ctx: Context) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult) and tensor_of(ctx.fact(node)) is not None
    if not isinstance(node, ast.Call):
        return False
    owner, _, name = ctx.callee(node).name.rpartition(".")
    return owner.startswith("torch") and name in _SHAPED | _VALUED


def _constant_item(node: ast.AST, ctx: Context) -> bool:
    if not isinstance(node, ast.Subscript) or tensor_of(ctx.fact(node.value)) is None:
        return False
    index = ctx.fact(node.slice)
    return isinstance(index, Const) and index.kind == "int"
