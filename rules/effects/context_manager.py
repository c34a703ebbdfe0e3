"""CL514: context managers that Dynamo doesn't enter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Instance, Rule, Sighting, options
from ..base.reading import shown

# What each breaks with as a `with` item, measured.
MANAGERS = {
    "torch.device": "GB0142",
    "torch.backends.cuda.sdp_kernel": "GB0208",
    "torch.backends.cudnn.flags": "GB0208",
    "torch.backends.mkldnn.flags": "GB0208",
    "torch.backends.mkl.verbose": "GB0008",
    "torch.backends.mkldnn.verbose": "GB0008",
    "torch.autograd.graph.saved_tensors_hooks": "GB0008",
    "torch.autograd.graph.save_on_cpu": "GB0008",
    "torch.autograd.graph.allow_mutation_on_saved_tensors": "GB0208",
    "torch.autograd.detect_anomaly": "GB0008",
    "torch.autograd.set_detect_anomaly": "GB0008",
    "torch.autograd.set_multithreading_enabled": "GB0008",
    "torch.autograd.profiler.emit_nvtx": "GB0008",
    "torch.random.fork_rng": "GB0208",
    "torch.cuda.nvtx.range": "GB0208",
    "torch.jit.fuser": "GB0007",
    "torch.jit.optimized_execution": "GB0007",
    "torch.utils.flop_counter.FlopCounterMode": "GB0008",
    "torch.utils._python_dispatch.TorchDispatchMode": "GB0007",
    "contextlib.closing": "GB0262",
    "contextlib.redirect_stdout": "GB0262",
    "contextlib.redirect_stderr": "GB0262",
}
_STACK = "contextlib.ExitStack.enter_context"


class ContextManager(Rule):
    """A `with` statement enters a context manager that Dynamo doesn't know.

    ## What it does
    Flags `with` items that are measured to break: `torch.device(...)`, backend flags, saved-tensor
    hooks, anomaly detection, `fork_rng`, NVTX ranges, FLOP counters, subclasses of
    `TorchDispatchMode`, `contextlib.closing`, `redirect_stdout` and `ExitStack.enter_context`.

    ## Why it matters
    What these set (a global flag of the dispatcher, the default device, a stack of modes) isn't
    part of a graph. The graph ends at the `with`, and often the whole function runs eagerly,
    since a graph can't be resumed in the middle of a block that Dynamo doesn't understand.

    ## Example
    `with torch.backends.cudnn.flags(enabled=False):` around a loss.

    ## Fix
    Enter it around the compiled call instead of inside it. For `torch.device`, pass `device=` to
    the functions that create tensors; for `sdp_kernel`, use `torch.nn.attention.sdpa_kernel`,
    which is captured.

    ## When it is safe
    `no_grad`, `enable_grad`, `set_grad_enabled`, `autocast`, `inference_mode`, `sdpa_kernel`,
    `profiler.record_function`, `nullcontext`, `suppress` and your own managers made in the `with`
    are captured.
    """

    code = "CL514"
    name = "unsupported-context-manager"
    summary = "`with` on a context manager Dynamo can't enter"
    nodes = (ast.With, ast.Call)
    callees = (_STACK,)
    graph_breaks = ("GB0007", "GB0008", "GB0142", "GB0208", "GB0262")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    with torch.device("cpu"):  # error: CL514
        noise = torch.rand(3)
    return x + noise
""",
            good="""
import torch

def f(x):
    with torch.no_grad():
        noise = torch.rand(3, device="cpu")
    return x + noise
""",
        ),
        Example(
            bad="""
import torch

def f(x):
    with torch.backends.cudnn.flags(enabled=False):  # error: CL514
        return x.exp()
""",
            good="""
import torch

def f(x):
    with torch.autocast("cpu", enabled=False):
        return x.exp()
""",
        ),
        Example(
            bad="""
from contextlib import ExitStack

import torch

def f(x):
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())  # error: CL514
        return x.exp()
""",
            good="""
from contextlib import nullcontext

import torch

def f(x):
    with nullcontext(), torch.no_grad():
        return x.exp()
""",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for each `with` item, or enter_context call, that can't be entered."""
        if isinstance(node, ast.Call):
            if ctx.callee(node).name == _STACK and _foreign(node, ctx):
                what = f"`{shown(node)}` enters a manager that Dynamo can't see through"
                yield Sighting(node, what, graph_breaks=("GB0007",))
        for item in node.items if isinstance(node, ast.With) else ():
            call = item.context_expr
            if not isinstance(call, ast.Call):
                continue
            id_ = MANAGERS.get(ctx.callee(call).name)
            if id_ is not None:
                what = f"`{shown(call)}` is a context manager that Dynamo can't enter"
                yield Sighting(call, what, graph_breaks=(id_,))

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield a manager that is entered only where nothing is compiled."""
        from ..rewrites.managers import watched

        assert isinstance(sighting.node, ast.Call)
        name = ctx.callee(sighting.node).name
        yield from watched(sighting.node, name, ctx, code)


def _foreign(call: ast.Call, ctx: Context) -> bool:
    """Say whether the manager is an object of a library: those of project classes are traced."""
    managers = [o for arg in call.args[:1] for o in options(ctx.fact(arg))]
    return any(isinstance(o, Instance) and isinstance(o.cls, str) for o in managers)
