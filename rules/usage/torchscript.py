"""CL704: TorchScript where torch.compile is meant today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Severity, Sighting

_CALLS = {
    "torch.jit.script": "script",
    "torch.jit.trace": "trace",
    "torch.jit.trace_module": "trace_module",
}


class TorchScript(Rule):
    """`torch.jit.script` or `torch.jit.trace`, which torch.compile replaces.

    ## What it does
    Flags calls of `torch.jit.script`, `torch.jit.trace` and `torch.jit.trace_module`, and
    functions decorated with `@torch.jit.script`.

    ## Why it matters
    TorchScript is deprecated. Under torch.compile it does nothing for functions (Dynamo traces
    their Python source) and breaks the graph at modules. Outside of it, it fuses less, supports
    less of Python, and a trace silently bakes in every branch that its example input took.

    ## Example
    `@torch.jit.script` over a fused activation.

    ## Fix
    Drop it and compile the caller, or use `torch.compile` in its place. To ship a model without
    Python, use `torch.export`.

    ## When it is safe
    When the TorchScript file itself is the product, for a runtime that reads nothing else.
    """

    code = "CL704"
    name = "torchscript"
    summary = "TorchScript script or trace, which torch.compile replaces"
    nodes = (ast.Call, ast.FunctionDef)
    callees = tuple(_CALLS)
    breaks = ()
    severity = Severity.INFO
    scope = "file"
    triggers = ("jit.script", "jit.trace", "import jit", "import script", "import trace")
    examples = (
        Example(
            bad="""
import torch

def clip(x):
    return -x if x.sum() < 0 else x

traced = torch.jit.trace(clip, torch.ones(3))  # error: CL704

def witness():
    return not torch.equal(traced(-torch.ones(3)), clip(-torch.ones(3)))
""",
            good="""
import torch

def clip(x):
    return torch.where(x.sum() < 0, -x, x)

compiled = torch.compile(clip, backend="eager")

def witness():
    return not torch.equal(compiled(-torch.ones(3)), clip(-torch.ones(3)))
""",
            truth="witness",
            entry="explicit",
            note="A trace keeps only the branch that its example took.",
        ),
        Example(
            bad="""
import torch

@torch.jit.script  # error: CL704
def mish(x: torch.Tensor):
    return x * torch.tanh(torch.nn.functional.softplus(x))

def witness():
    return isinstance(mish, torch.jit.ScriptFunction)
""",
            good="""
import torch

@torch.compile
def mish(x: torch.Tensor):
    return x * torch.tanh(torch.nn.functional.softplus(x))

def witness():
    return isinstance(mish, torch.jit.ScriptFunction)
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for every use of script or trace."""
        if isinstance(node, ast.Call):
            kind = _CALLS.get(ctx.callee(node).name)
            if kind is not None:
                target = ctx.argument(node, 0, "func" if kind == "trace" else "obj")
                what = "" if target is None else f" of `{_short(target)}`"
                yield Sighting(node, f"`torch.jit.{kind}`{what}: torch.compile replaces it")
            return
        assert isinstance(node, ast.FunctionDef)
        for deco in node.decorator_list:
            called = deco.func if isinstance(deco, ast.Call) else deco
            if getattr(ctx.fact(called), "name", ast.unparse(called)) == "torch.jit.script":
                yield Sighting(deco, f"`{node.name}` is TorchScript: torch.compile replaces it")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the code without TorchScript."""
        from ..rewrites.compiled import unscripted

        assert isinstance(sighting.node, ast.expr)
        yield from unscripted(sighting.node, ctx, code)


def _short(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 40 else text[:39] + "…"
