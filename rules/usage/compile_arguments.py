"""CL712: arguments that torch.compile refuses or ignores."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Example, Fix, Rule, Safety, Severity, Sighting
from .compiling import compile_decorator, compile_name

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_WITHOUT_MODES = ("eager", "aot_eager")


class CompileArguments(Rule):
    """`torch.compile` with a mode it doesn't know, or with arguments that exclude each other.

    ## What it does
    Flags `torch.compile(…, mode=…, options=…)` (one or the other), an unknown `mode`, and a
    `mode` or `options` for the backends "eager" and "aot_eager".

    ## Why it matters
    The first two raise RuntimeError, for a decorator while the module is being imported. The
    debugging backends only log that they ignore the argument.

    ## Example
    `torch.compile(f, mode="reduce-overhead", options={"max_autotune": True})`

    ## Fix
    Say it all in `options`: `torch._inductor.list_mode_options("reduce-overhead")` prints what a
    mode stands for.

    ## When it is safe
    Never.
    """

    code = "CL712"
    name = "compile-arguments"
    summary = "arguments that torch.compile refuses or ignores"
    nodes = (ast.Call, ast.FunctionDef, ast.AsyncFunctionDef)
    breaks = ()
    severity = Severity.WARNING
    scope = "file"
    triggers = ("compile",)
    examples = (
        Example(
            bad="""
import torch

def build(f):
    options = {"max_autotune": True}
    return torch.compile(f, mode="reduce-overhead", options=options)  # error: CL712

def witness():
    try:
        build(torch.relu)
    except RuntimeError:
        return True
    return False
""",
            good="""
import torch

def build(f):
    options = {"max_autotune": True, "triton.cudagraphs": True}
    return torch.compile(f, options=options)

def witness():
    try:
        build(torch.relu)
    except RuntimeError:
        return True
    return False
""",
            truth="witness",
            entry="explicit",
        ),
        Example(
            bad="""
import torch

def build(f):
    return torch.compile(f, mode="max_autotune")  # error: CL712

def witness():
    try:
        build(torch.relu)
    except RuntimeError:
        return True
    return False
""",
            good="""
import torch

def build(f):
    return torch.compile(f, mode="max-autotune")

def witness():
    try:
        build(torch.relu)
    except RuntimeError:
        return True
    return False
""",
            truth="witness",
            entry="explicit",
        ),
    )

    def check(self, node: ast.AST, ctx: Context) -> Iterator[Sighting]:
        """Yield a sighting for arguments that raise or do nothing."""
        call = node if isinstance(node, ast.Call) else compile_decorator(node, ctx)
        if not isinstance(call, ast.Call):
            return
        if isinstance(node, ast.Call) and compile_name(node, ctx) != "torch.compile":
            return
        given = {k.arg: k.value for k in call.keywords if k.arg is not None}
        mode, options = given.get("mode"), given.get("options")
        known = mode.value if isinstance(mode, ast.Constant) else None
        if isinstance(known, str) and known not in _MODES:
            text = f"torch.compile has no mode {known!r} (it has {', '.join(_MODES)})"
            yield Sighting(mode or call, text, severity=Severity.ERROR)
        elif known is not None and options is not None and not _is_none(options):
            text = "torch.compile takes `mode` or `options`, not both"
            yield Sighting(call, text, severity=Severity.ERROR)
        backend = given.get("backend")
        if isinstance(backend, ast.Constant) and backend.value in _WITHOUT_MODES:
            for name in ("mode", "options"):
                if name in given and not _is_none(given[name]):
                    yield Sighting(call, f"backend {backend.value!r} ignores `{name}`")

    def fix(self, sighting: Sighting, ctx: Context, code: Code) -> Iterator[Fix]:
        """Yield the mode that was meant, or the call without what it ignores."""
        from ..rewrites.compiled import option_gone

        node = sighting.node
        if isinstance(node, ast.Constant):
            meant = str(node.value).replace("_", "-").replace(" ", "-").lower()
            if meant not in _MODES:
                raise Declined("which mode was meant isn't known")
            edit = code.replace(node, code.text(node).replace(str(node.value), meant))
            yield code.fix(f"use mode {meant!r}", [edit], Safety.SAFE)
            return
        assert isinstance(node, ast.Call)
        given = {k.arg: k.value for k in node.keywords}
        backend = given.get("backend")
        if not (isinstance(backend, ast.Constant) and backend.value in _WITHOUT_MODES):
            raise Declined("whether the mode or the options are meant isn't known")
        yield from option_gone(node, [n for n in ("mode", "options") if n in given], code)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
