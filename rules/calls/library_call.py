"""CL311: other calls of the standard library that are not traced."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    BoundMethod,
    ClassRef,
    Code,
    Const,
    Context,
    Declined,
    Example,
    Extern,
    Fix,
    Instance,
    Mapping,
    ModuleRef,
    Rule,
    Sequence,
    Sighting,
    Static,
    Unknown,
    options,
)
from ..torch_facts import TorchFacts
from .file_io import is_io
from .print_call import PRINTS
from .processes import is_process
from .seen import call_seen, shown, top
from .stdlib import break_id

# Their calls are other rules' matter.
_ELSEWHERE = frozenset(
    {
        "logging",
        "warnings",
        "time",
        "datetime",
        "timeit",
        "random",
        "secrets",
        "copy",
        "torch",
        "numpy",
    }
)
_CLASSES = frozenset({"typing.NamedTuple", "dataclasses.make_dataclass", "types.new_class"})
# Traced when asked of functions of the project.
_DEPENDS = frozenset({"inspect.signature", "inspect.getmembers"})


class LibraryCall(Rule):
    """A builtin or standard library call that Dynamo doesn't trace.

    ## What it does
    Flags calls that were measured to break: `bisect`, `heapq`, `hashlib`, `uuid`, `threading`,
    `queue`, `gc`, `inspect.stack`, `sys._getframe`, `statistics`, `decimal`, `contextvars`,
    `importlib.import_module`, `exec`, `compile`, `globals()`, `input`, `breakpoint`,
    `bytes(...)`, and others.

    ## Why it matters
    Most are C functions on Dynamo's skip list, or need one. The graph ends at the call.

    ## Example
    See the bad and good modules below.

    ## Fix
    Do it outside and pass the result in, or use what is traced: `torch.searchsorted` for `bisect`,
    `sorted` and `min` for `heapq`, `sum(v) / len(v)` for `statistics.mean`.

    ## When it is safe
    When the call is on a path that compiled runs never take.
    """

    code = "CL311"
    name = "library-call"
    summary = "standard library calls that are not traced"
    nodes = (ast.Call,)
    graph_breaks = ("GB0007", "GB0059", "GB0156", "GB0147", "GB0134", "GB0142", "GB0116")
    examples = (
        Example(
            bad="""
import bisect
import torch

EDGES = [1, 4, 9]

def f(x):
    n = bisect.bisect_left(EDGES, x.shape[0])  # error: CL311
    return x * n
""",
            good="""
import torch

EDGES = [1, 4, 9]

def f(x):
    n = sum(edge < x.shape[0] for edge in EDGES)
    return x * n
""",
        ),
        Example(
            bad="""
import hashlib
import torch

def f(x, name):
    digest = hashlib.md5(name.encode())  # error: CL311
    return x + 1, digest
""",
            good="""
import torch

def f(x, name):
    return x + len(name)
""",
            inputs='[(torch.randn(3), "a")]',
        ),
        Example(
            bad="""
import sys
import torch

def f(x):
    return x + sys.getsizeof(1) % 2  # error: CL311
""",
            good="""
import torch

def f(x):
    return x + 1
""",
        ),
    )

    def answers(self, name: str, torch: TorchFacts) -> bool:
        """Say whether the callee was measured to break, and is no other rule's."""
        if name in PRINTS or name in _CLASSES or name in _DEPENDS or top(name) in _ELSEWHERE:
            return False
        return not is_io(name) and not is_process(name) and bool(break_id(name, torch))

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for a measured call that no other rule speaks of."""
        assert isinstance(node, ast.Call)
        callee = ctx.callee(node)
        name = callee.name
        if callee.project is not None or isinstance(ctx.fact(node.func), ClassRef):
            return  # a class of the project that derives from this one
        if name == "builtins.dir" and not _listed(node, ctx):
            return
        id = break_id(name, ctx.torch)
        yield call_seen(node, callee, f"`{shown(node)}` isn't traced: the graph ends here", id)

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Decline: what it gives must come from outside."""
        raise Declined("call it outside, and pass the result in")


def _listed(node: ast.Call, ctx: Context) -> bool:
    """Say whether `dir(x)` is asked of something other than a module, a class or a list."""
    traced = (Extern, ModuleRef, Sequence, Mapping, Unknown, Const, Static, BoundMethod)
    if not node.args:
        return True
    facts = options(ctx.fact(node.args[0]))
    return not any(isinstance(fact, traced) for fact in facts) or any(
        isinstance(fact, Instance) for fact in facts
    )
