"""CL419: questions about a tensor's memory that Dynamo can't answer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Sighting
from ..base.reading import shown
from ..torch_facts import TorchFacts
from .data import METHOD, certainty, subject

# Breaking methods that other rules speak of.
_OWNED = frozenset(
    {
        "equal",
        "allclose",
        "cov",
        "corrcoef",
        "requires_grad_",
        "retain_grad",
        "resize_",
        "resize_as_",
        "sparse_resize_",
        "sparse_resize_and_clear_",
        "to_sparse",
        "to_sparse_bsc",
        "to_sparse_bsr",
        "to_sparse_coo",
        "to_sparse_csc",
        "to_sparse_csr",
        "to_mkldnn",
        "random_",
    }
)
_STORAGE = frozenset({"data_ptr", "nbytes"})


class TensorMemory(Rule):
    """`storage()`, `data_ptr()` in arithmetic, `is_shared()` and other questions about memory.

    ## What it does
    Flags tensor methods that Dynamo has no answer for: `storage`, `storage_offset`,
    `is_inference`, `is_shared`, `is_pinned`, `is_same_size`, `is_set_to`, `is_conj`, `is_signed`,
    `share_memory_`; `data_ptr()` where its value is used; `untyped_storage().data_ptr()`.

    ## Why it matters
    While capturing there is no memory, only shapes and dtypes. The graph breaks in every mode.

    ## Example
    See the bad and good modules below.

    ## Fix
    Ask what is known while capturing: `x is y`, `x.shape == y.shape`, `x.is_contiguous()`,
    `x.dtype.is_signed`. Other checks belong before the compiled function, or behind
    `if not torch.compiler.is_compiling():`.

    ## When it is safe
    Outside of the compiled region.
    """

    code = "CL419"
    name = "tensor-memory"
    summary = "a question about a tensor's memory"
    nodes = (ast.Call,)
    graph_breaks = ("GB0208", "GB0156", "GB5976")
    examples = (
        Example(
            bad="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    if x.data_ptr() == y.data_ptr():  # error: CL419
        return x
    return x + y
""",
            good="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    if x is y:
        return x
    return x + y
""",
            inputs="[(torch.randn(3), torch.randn(3))]",
        ),
        Example(
            bad="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    if x.is_same_size(y):  # error: CL419
        return x + y
    return x
""",
            good="""
import torch

def f(x: torch.Tensor, y: torch.Tensor):
    if x.shape == y.shape:
        return x + y
    return x
""",
            inputs="[(torch.randn(3), torch.randn(3))]",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee may be a method of a storage, or one that breaks."""
        if name.startswith(METHOD):
            last = name[len(METHOD) :]
            return last in _STORAGE or bool(_break_of(last, torch))
        return not name or name.rpartition(".")[2] in _STORAGE

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when measured tables say that the method breaks."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if last in _STORAGE and _of_storage(node, ctx):
            ids: tuple[str, ...] = ("GB0156",)
        elif callee.name.startswith(METHOD):
            ids = self._ids(node, callee.name[len(METHOD) :], ctx)
        else:
            return
        if ids:
            text = f"`{shown(node)}`: a tensor has no memory while it is captured"
            fact = subject(node, callee, ctx)
            yield Sighting(node, text, fact, certainty=certainty(callee), graph_breaks=ids)

    def _ids(self, node: ast.Call, last: str, ctx: Context) -> tuple[str, ...]:
        if last == "data_ptr":
            parent = ctx.parent(node)
            compared = isinstance(parent, ast.Compare) and parent.left is node
            return ("GB5976",) if compared or isinstance(parent, ast.BinOp) else ()
        return _break_of(last, ctx.torch)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the answer that compiled code may take for granted."""
        from ..rewrites.asked import inference

        assert isinstance(sighting.node, ast.Call)
        if ctx.callee(sighting.node).name != METHOD + "is_inference":
            raise Declined("only an eager tensor has memory to ask for")
        yield from inference(sighting.node, ctx, code)


def _break_of(method: str, torch: TorchFacts) -> tuple[str, ...]:
    if method in _OWNED or (method.startswith("__") and method != "__array__"):
        return ()
    found = torch.break_id(METHOD + method)
    return () if found is None else (found,)


def _of_storage(node: ast.Call, ctx: Context) -> bool:
    """`x.untyped_storage().data_ptr()`."""
    inner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return isinstance(inner, ast.Call) and ctx.callee(inner).name == METHOD + "untyped_storage"
