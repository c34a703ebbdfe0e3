"""CL326: functions of torch that branch on tensors inside."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Const, Context, Declined, Example, Fix, Instance, Rule, Sighting
from ..torch_facts import TorchFacts
from .seen import call_seen, shown

# Python code of torch that tests tensor values, or registers things, when it is called.
_CALLS = {
    "torch.nn.init.trunc_normal_": "GB0170",
    "torch.nn.functional.gaussian_nll_loss": "GB0033",
    "torch.nn.utils.weight_norm": "GB0007",
    "torch.nn.utils.remove_weight_norm": "GB0264",
    "torch.nn.utils.spectral_norm": "GB0467",
    "torch.nn.utils.parametrizations.weight_norm": "GB0264",
    "torch.nn.utils.prune.l1_unstructured": "GB0467",
    "torch.nn.utils.fuse_conv_bn_eval": "GB4198",
    "torch.nn.utils.skip_init": "GB0264",
}
_CLIPPING = "clip_grad_norm_"
_MODULES = {
    "torch.nn.GaussianNLLLoss": "GB0033",
    "torch.nn.AdaptiveLogSoftmaxWithLoss": "GB0036",
}


class LibraryBranch(Rule):
    """A torch function whose own Python code breaks the graph.

    ## What it does
    Flags `nn.init.trunc_normal_`, the Gaussian NLL and adaptive softmax losses,
    `clip_grad_norm_(..., error_if_nonfinite=True)`, and functions of `nn.utils` that rebuild
    modules (`weight_norm`, `spectral_norm`, pruning, `fuse_conv_bn_eval`).

    ## Why it matters
    These are traced into, and there meet an `if` on a tensor, a size that depends on data, or new
    parameters. The break is reported in library code that you can't change.

    ## Example
    See the bad and good modules below.

    ## Fix
    Initialise and rebuild modules before compiling. Compute losses that branch outside of the
    compiled part, or write them out: the variance of a Gaussian can be clamped without a check.

    ## When it is safe
    `gaussian_nll_loss` with a plain number as variance, `clip_grad_norm_` without the check, and
    the other initialisers are captured.
    """

    code = "CL326"
    name = "torch-library-branch"
    summary = "torch functions that branch on tensors inside"
    nodes = (ast.Call,)
    graph_breaks = ("GB0170", "GB0124", "GB0033", "GB0036", "GB0007", "GB0264", "GB0467", "GB4198")
    examples = (
        Example(
            bad="""
import torch
from torch import nn

def f(x):
    noise = nn.init.trunc_normal_(torch.empty(3), std=0.02)  # error: CL326
    return x + noise
""",
            good="""
import torch
from torch import nn

def f(x):
    noise = nn.init.normal_(torch.empty(3), std=0.02).clamp(-0.04, 0.04)
    return x + noise
""",
        ),
        Example(
            bad="""
import torch
from torch import nn

loss = nn.GaussianNLLLoss()

def f(x, y, var):
    return loss(x, y, var)  # error: CL326
""",
            good="""
import torch

def f(x, y, var):
    var = var.clamp(min=1e-6)
    return 0.5 * (var.log() + (x - y) ** 2 / var).mean()
""",
            inputs="[(torch.randn(3), torch.randn(3), torch.rand(3))]",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee is one of those functions or modules."""
        known = torch.canonical(name)
        return name in _CALLS or known in _CALLS or name in _MODULES or known.endswith(_CLIPPING)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a call whose library code breaks."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.project is not None:
            return
        name = ctx.torch.canonical(callee.name)
        id = _CALLS.get(callee.name) or _CALLS.get(name, "")
        if isinstance(callee.receiver, Instance):
            id = _MODULES.get(callee.name, id)
        if name.endswith("gaussian_nll_loss"):
            variance = ctx.argument(node, 2, "var")
            if variance is not None and isinstance(ctx.fact(variance), Const):
                return
        if name.endswith(_CLIPPING):
            flag = ctx.argument(node, 3, "error_if_nonfinite")
            fact = ctx.fact(flag) if flag is not None else None
            id = "GB0170" if isinstance(fact, Const) and fact.value else ""
        if id:
            text = f"`{shown(node)}` tests values or makes parameters inside torch"
            yield call_seen(node, callee, text, id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield `trunc_normal_` written out."""
        from ..rewrites.draws import truncated

        call = sighting.node
        assert isinstance(call, ast.Call)
        if not ctx.callee(call).name.endswith("trunc_normal_"):
            raise Declined("call it outside of compiled code, or write it out")
        yield from truncated(call, ctx, code)
