"""CL714: torch._dynamo.config.suppress_errors left on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Example, Extern, Fix, Rule, Safety, Severity, Sighting


class SuppressErrors(Rule):
    """`torch._dynamo.config.suppress_errors = True`.

    ## What it does
    Flags assignments of True to `torch._dynamo.config.suppress_errors`.

    ## Why it matters
    Every failure of the compiler, also of your own backend, then runs the function eagerly with a
    line in the log. The program is right, as slow as before, and nobody notices; the setting is
    global, so it hides the failures of other libraries too.

    ## Example
    A line that was copied from an error message to get on with work.

    ## Fix
    Remove it and fix what fails, or leave the one function out with `torch.compiler.disable`.

    ## When it is safe
    While bisecting, and in production where slow is better than down, if the log is watched.
    """

    code = "CL714"
    name = "suppress-errors"
    summary = "compiler errors are suppressed everywhere"
    nodes = (ast.Assign,)
    breaks = ()
    severity = Severity.INFO
    scope = "file"
    triggers = ("suppress_errors",)
    examples = (
        Example(
            bad="""
import torch
import torch._dynamo as dynamo

def setup():
    dynamo.config.suppress_errors = True  # error: CL714

def broken(graph, inputs):
    raise RuntimeError("no such kernel")

def step(x):
    return x.relu() + 1

def witness():
    setup()
    try:
        torch.compile(step, backend=broken)(torch.ones(3))
        return True
    except Exception:
        return False
    finally:
        dynamo.config.suppress_errors = False
""",
            good="""
import torch
import torch._dynamo as dynamo

def setup():
    dynamo.config.recompile_limit = 8

def broken(graph, inputs):
    raise RuntimeError("no such kernel")

def step(x):
    return x.relu() + 1

def witness():
    setup()
    try:
        torch.compile(step, backend=broken)(torch.ones(3))
        return True
    except Exception:
        return False
    finally:
        dynamo.config.suppress_errors = False
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when the setting is switched on."""
        assert isinstance(node, ast.Assign)
        if not (isinstance(node.value, ast.Constant) and node.value.value is True):
            return
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == "suppress_errors":
                owner = ctx.fact(target.value)
                name = owner.name if isinstance(owner, Extern) else ast.unparse(target.value)
                if name == "torch._dynamo.config":
                    yield Sighting(node, "failures of the compiler are hidden in the whole process")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the code without the setting."""
        from ..rewrites.autograd import gone

        edit = gone(ctx.statement(sighting.node), code)
        yield code.fix("let errors of the compiler be seen", [edit], Safety.UNSAFE)
