"""CL611: a cache that the first call fills."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Const, Context, Example, Rule, Severity, Sighting, Tensor, options
from ..base.reading import shown
from ..base.scopes import dotted
from ..base.walking import all_nodes
from ..torch_facts import TorchFacts
from .state import kept


class LazyCache(Rule):
    """A tensor attribute is None until the first compiled call fills it.

    ## What it does
    Flags `if self.table is None: self.table = torch.…` (and `if not hasattr(self, "table")`) on
    modules and globals.

    ## Why it matters
    The first call captures the graph that fills the cache, the second one that finds it: the
    function is compiled twice. Where a size is tested too, every growth compiles again. Under
    CUDA graphs a tensor that a recorded graph made is overwritten by its next replay.

    ## Example
    A rotary-embedding table that is built on first use.

    ## Fix
    Fill the cache in `__init__`, as a buffer, or by one call of a method before compiling.

    ## When it is safe
    When the model is warmed up eagerly; then only the second graph is compiled. This is advice.
    """

    code = "CL611"
    name = "lazy-cache"
    summary = "Cache that the first compiled call fills"
    nodes = (ast.If,)
    breaks = ()
    severity = Severity.INFO
    examples = (
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = None

    def forward(self, x: torch.Tensor):
        if self.table is None:  # error: CL611
            self.table = torch.arange(3).cos()
        return x * self.table
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(3).cos())

    def forward(self, x: torch.Tensor):
        return x * self.table
""",
            inputs="[(torch.ones(3),)] * 3",
            truth="recompile",
        ),
        Example(
            bad="""
import torch
from torch import nn

class f(nn.Module):
    def forward(self, x: torch.Tensor):
        if not hasattr(self, "table"):  # error: CL611
            self.table = torch.arange(3).cos()
        return x * self.table
""",
            good="""
import torch
from torch import nn

class f(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(3).cos())

    def forward(self, x: torch.Tensor):
        return x * self.table
""",
            inputs="[(torch.ones(3),)] * 3",
            truth="recompile",
        ),
    )

    def concerns(self, node: ast.AST, torch: TorchFacts) -> bool:
        """Say whether something is found empty, and assigned then."""
        assert isinstance(node, ast.If)
        return any(isinstance(stmt, ast.Assign) for stmt in node.body) and any(
            _asked(part) for part in all_nodes(node.test)
        )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the body assigns a tensor to the attribute that is tested."""
        assert isinstance(node, ast.If)
        for part in ast.walk(node.test):
            path = _asked(part)
            if not path:
                continue
            for stmt in node.body:
                for target, value in _assigned(stmt):
                    if dotted(target) == path and _is_tensor(value, ctx) and _lasts(target, ctx):
                        what = f"`{shown(target)}` is filled by the first call, and compiled again"
                        yield Sighting(node.test, what)
                        return


def _asked(test: ast.AST) -> str:
    """The path that a test finds empty: `p is None`, `not hasattr(o, "a")`."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
        right = test.comparators[0]
        if isinstance(right, ast.Constant) and right.value is None:
            return dotted(test.left)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        call = test.operand
        if isinstance(call, ast.Call) and dotted(call.func) == "hasattr" and len(call.args) == 2:
            owner, name = call.args
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and dotted(owner):
                return f"{dotted(owner)}.{name.value}"
    return ""


def _assigned(stmt: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(stmt, ast.Assign):
        yield from ((target, stmt.value) for target in stmt.targets)


def _is_tensor(value: ast.expr, ctx: Context) -> bool:
    found = [o for o in options(ctx.fact(value)) if not isinstance(o, Const)]
    return bool(found) and all(isinstance(o, Tensor) for o in found)


def _lasts(target: ast.expr, ctx: Context) -> bool:
    return kept(target, ctx, filled=True)
