"""CL325: functions of torch that Dynamo skips."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Fix, Rule, Sighting
from ..torch_facts import TorchFacts
from .file_io import is_io
from .packed_sequence import RNN_UTILS
from .seen import call_seen, shown
from .torch_random import touches_state

# Owned by other rules: TorchScript, distributions, what trains or differentiates inside.
_ELSEWHERE = (
    "torch.jit.",
    "torch.distributions.",
    "torch.autograd.",
    "torch.optim.",
    "torch.compiler.disable",
    "torch.compiler.compile",
    "torch.hub.",
    "torch.Generator",
    "torch.Tensor.",
    "torch.sparse_",
    "torch._dynamo.graph_break",
    "torch._dynamo.disable",
)
# Not in the tables: measured. "" where Dynamo gives no id for what it raises.
_MORE = {
    "torch.backends.cuda.SDPAParams": "GB0007",
    "torch.nn.attention.bias.causal_lower_right": "GB0026",
    "torch.nn.attention.bias.causal_upper_left": "GB0026",
    "torch.Tensor._make_wrapper_subclass": "GB0007",
    "torch.can_cast": "GB0208",
    "torch.utils.data.DataLoader": "GB0008",
    "torch.utils.data.TensorDataset": "GB0008",
    "torch._C._is_tracing": "GB0208",
    "torch._C._get_accelerator": "GB0007",
    "torch.backends.cudnn.is_available": "GB0208",
    "torch.backends.cuda.is_built": "GB0208",
    "torch.backends.mkl.is_available": "GB0208",
    "torch.backends.mkldnn.is_available": "GB0007",
    "torch.backends.mps.is_available": "GB0208",
    "torch.backends.openmp.is_available": "GB0208",
    "torch.testing.assert_close": "GB0170",
    "torch.nested.nested_tensor": "GB0016",
    "torch.func.linearize": "GB0007",
    "torch.func.stack_module_state": "GB7324",
    "torch.fx.symbolic_trace": "GB0116",
    "torch.autograd.Variable": "GB0007",
    "torch.autograd.gradcheck": "GB0007",
    "torch.autograd.gradgradcheck": "GB0007",
    "torch.autograd.functional.jacobian": "GB0055",
    "torch.autograd.functional.hessian": "GB0055",
    "torch.autograd.functional.vjp": "GB0055",
    "torch.autograd.functional.jvp": "GB0055",
    "torch._dynamo.reset": "GB0007",
    "torch._dynamo.mark_dynamic": "",
    "torch._dynamo.maybe_mark_dynamic": "",
    "torch.compiler.set_stance": "",
}


class TorchCall(Rule):
    """A function of torch itself that Dynamo doesn't trace.

    ## What it does
    Flags functions that Dynamo's lists skip, or that were measured to break in every form tried:
    `torch.cuda.device_count()`, `torch.result_type`, `torch._dynamo.mark_dynamic(x, 0)`, …

    ## Why it matters
    They ask the driver, or handle objects of C++: the graph ends at the call.

    ## Example
    See the bad and good modules below.

    ## Fix
    Ask once, outside, and keep the answer: device properties and backend settings don't change
    between calls. Mark dynamic dimensions on the caller's side.

    ## When it is safe
    Behind `if not torch.compiler.is_compiling():`.
    """

    code = "CL325"
    name = "torch-call-skipped"
    summary = "torch functions that are not traced"
    nodes = (ast.Call,)
    graph_breaks = ("GB0007", "GB0208", "GB0045", "GB0046", "GB0277", "GB4315", "GB0026", "GB0087")
    examples = (
        Example(
            bad="""
import torch

def f(x):
    if torch.cuda.device_count() > 1:  # error: CL325
        return x * 2
    return x
""",
            good="""
import torch

GPUS = torch.cuda.device_count()

def f(x):
    if GPUS > 1:
        return x * 2
    return x
""",
        ),
        Example(
            bad="""
import torch
from torch.autograd import Variable

def f(x):
    signs = x.sign()
    return x * Variable(signs)  # error: CL325
""",
            good="""
import torch

def f(x):
    signs = x.sign()
    return x * signs
""",
            note="since torch 0.4 every tensor is one",
        ),
        Example(
            bad="""
import torch

def f(x, y):
    dtype = torch.result_type(x, y)  # error: CL325
    return x.to(dtype) + 1
""",
            good="""
import torch

def f(x, y):
    dtype = torch.promote_types(x.dtype, y.dtype)
    return x.to(dtype) + 1
""",
            inputs="[(torch.randn(3), torch.arange(3))]",
        ),
        Example(
            bad="""
import torch

def f(x):
    torch._dynamo.mark_dynamic(x, 0)  # error: CL325
    return x + 1
""",
            good="""
import torch

def f(x):
    return x + 1
""",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee isn't traced, and no other rule's."""
        elsewhere = name.startswith(_ELSEWHERE) and name not in _MORE
        if not name.startswith("torch.") or elsewhere or is_io(name) or touches_state(name):
            return False
        data = {"data_dependent_output", "dynamic_output_shape"} & torch.tags(name)
        owned = data or name.rpartition(".")[2] in RNN_UTILS
        return not owned and (torch.break_id(name) is not None or name in _MORE)

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a torch call that isn't traced."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        if callee.project is not None or isinstance(ctx.parent(node), ast.withitem):
            return  # as context managers they are another rule's matter
        id = ctx.torch.break_id(callee.name) or _MORE[callee.name]
        yield call_seen(node, callee, f"`{shown(node)}` isn't traced: the graph ends here", id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield code that asks nothing while compiling."""
        from ..rewrites.asked import asked

        assert isinstance(sighting.node, ast.Call)
        name = ctx.callee(sighting.node).name
        yield from asked(sighting.node, name, ctx, code)
