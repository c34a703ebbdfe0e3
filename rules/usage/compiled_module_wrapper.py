"""CL703: torch.compile(module) where module.compile() leaves the module as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Certainty,
    Code,
    Context,
    Example,
    Fix,
    Instance,
    Rule,
    Severity,
    Sighting,
    Unknown,
)
from .arms import body_nodes
from .compiling import compile_name

_MODULE_ONLY = frozenset({"state_dict", "load_state_dict", "parameters", "named_parameters"})
_SAVING = frozenset(
    {"state_dict", "load_state_dict", "named_parameters", "save_pretrained", "isinstance"}
)


class CompiledModuleWrapper(Rule):
    """`model = torch.compile(model)`, where `model.compile()` keeps the module what it is.

    ## What it does
    Flags `torch.compile(module)`. It is a warning when the same function then calls
    `state_dict()`, `load_state_dict()` or `isinstance()` on the result, else a note.

    ## Why it matters
    The result is an `OptimizedModule` around the model. Its `state_dict` keys start with
    `_orig_mod.`, so checkpoints saved from it don't load into the plain model and the other way
    round, and `isinstance(model, MyModel)` is False.

    ## Example
    `model = torch.compile(model)` … `torch.save(model.state_dict(), path)`

    ## Fix
    `model.compile()` compiles in place, with the same options.

    ## When it is safe
    When only the call matters, or when the original module is kept under a name of its own and
    saved from there.
    """

    code = "CL703"
    name = "compiled-module-wrapper"
    summary = "torch.compile(module) where module.compile() keeps state_dict keys and type"
    nodes = (ast.Call,)
    breaks = ()
    severity = Severity.INFO
    scope = "file"
    triggers = ("compile",)
    examples = (
        Example(
            bad="""
import torch
from torch import nn

def build():
    model = nn.Linear(3, 3)
    model = torch.compile(model)  # error: CL703
    return model.state_dict()

def witness():
    return any(key.startswith("_orig_mod.") for key in build())
""",
            good="""
import torch
from torch import nn

def build():
    model = nn.Linear(3, 3)
    model.compile()
    return model.state_dict()

def witness():
    return any(key.startswith("_orig_mod.") for key in build())
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting when a module is compiled by wrapping it."""
        assert isinstance(node, ast.Call)
        if compile_name(node, ctx) != "torch.compile":
            return
        target = ctx.argument(node, 0, "model")
        if target is None or isinstance(ctx.parent(node), ast.Call):
            return  # called or passed on at once: only the call matters
        text = ast.unparse(target)
        statement = ctx.statement(node)
        bound = ""
        if isinstance(statement, ast.Assign) and statement.value is node:
            bound = ast.unparse(statement.targets[0])
        uses = list(_uses(ctx.function, bound, node.lineno)) if bound else []
        if any(use in ("_orig_mod",) for use, _ in uses):
            return  # the prefix is taken care of
        fact = ctx.fact(target)
        told = isinstance(fact, Unknown) and any(use in _MODULE_ONLY for use, _ in uses)
        if not told and not (isinstance(fact, Instance) and fact.module):
            return
        saving = next(((use, at) for use, at in uses if use in _SAVING), None)
        if saving is None and bound.isidentifier() and bound != text:
            return  # the module itself is still there, under a name of its own
        message = f"`torch.compile({text})` wraps the module"
        if saving is None:
            message += f": `{text}.compile()` keeps its state_dict keys and type"
        elif saving[0] == "isinstance":
            message += f": `isinstance` on line {saving[1]} sees an OptimizedModule"
        else:
            message += f": keys in `{bound}.{saving[0]}()` on line {saving[1]} get `_orig_mod.`"
        yield Sighting(
            node,
            message,
            certainty=Certainty.LIKELY if told else Certainty.CERTAIN,
            severity=Severity.WARNING if saving else None,
        )

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the module compiled in place."""
        from ..rewrites.compiled import in_place

        assert isinstance(sighting.node, ast.Call)
        yield from in_place(sighting.node, ctx, code)


def _uses(function: ast.AST, name: str, line: int) -> Iterator[tuple[str, int]]:
    """Yield what is done with a variable after a line: methods called, isinstance, `_orig_mod`."""
    for node in body_nodes(function):
        at = getattr(node, "lineno", 0)
        if at <= line:
            continue
        if "_orig_mod" in str(getattr(node, "attr", getattr(node, "value", ""))):
            yield "_orig_mod", at
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == name:
                yield node.func.attr, node.lineno
            elif isinstance(node.func, ast.Name) and node.func.id == "isinstance" and node.args:
                if ast.unparse(node.args[0]) == name:
                    yield "isinstance", node.lineno
