"""Context managers that Dynamo can't enter become ones that it can.

`guard.__enter__()` … `guard.__exit__(…)` of a grad mode is a `with` statement; a grad mode that
was made outside is made in the `with`; a manager that only watches (NVTX ranges, anomaly
detection, redirected output) is entered only where nothing is compiled.

Declined: managers that change what the code computes or where; blocks that are left between enter
and exit; objects of classes whose arguments aren't known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..base import Code, Context, Declined, Fix, Instance, Safety, options
from .guards import IS_COMPILING

_MODES = frozenset({"torch.no_grad", "torch.enable_grad"})
_WATCHING = (
    "torch.cuda.nvtx.",
    "torch.autograd.detect_anomaly",
    "torch.autograd.set_detect_anomaly",
    "torch.autograd.anomaly_mode.",
    "torch.autograd.profiler.",
    "torch.profiler.",
    "torch.utils.flop_counter.",
    "contextlib.redirect_stdout",
    "contextlib.redirect_stderr",
)


def watched(call: ast.Call, name: str, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that enters a manager that only watches outside of compiled runs."""
    item = ctx.parent(call)
    if not name.startswith(_WATCHING):
        raise Declined("the manager changes what runs inside: enter it around the compiled call")
    if not isinstance(item, ast.withitem) or item.optional_vars is not None:
        raise Declined("what the manager gives is used")
    nothing, compiling = code.spell("contextlib.nullcontext"), code.spell(IS_COMPILING)
    text = f"{nothing}() if {compiling}() else {code.text(call)}"
    title = f"enter `{code.text(call.func)}` only outside of compiled runs"
    yield code.fix(title, [code.replace(call, text)], Safety.SAFE)


def made_inside(node: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that makes a grad mode in the `with` that enters it."""
    classes = {o.cls for o in options(ctx.fact(node)) if isinstance(o, Instance)}
    name = next(iter(classes)) if len(classes) == 1 else None
    if not isinstance(name, str) or name not in _MODES:
        raise Declined("how the manager was made isn't known: make it in the `with`")
    text = f"{code.spell(name)}()"
    yield code.fix(f"make `{text}` in the `with`", [code.replace(node, text)])


def entered(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that writes enter and exit, called by hand, as a `with` statement."""
    assert isinstance(call.func, ast.Attribute)
    owner = call.func.value
    if not isinstance(owner, ast.Name):
        raise Declined("the manager isn't a variable of the function")
    name = owner.id
    enter = _only(name, "__enter__", ctx, code)
    leave = _only(name, "__exit__", ctx, code)
    block = list(code.block_of(enter))
    made, place = _made(name, block, enter)
    assert isinstance(made, ast.Assign)
    if len(code.uses(name)) != 2:
        raise Declined(f"`{name}` is used for more than entering and leaving")
    following = block[place + 1] if place + 1 < len(block) else None
    if leave in block:
        body = block[place + 1 : block.index(leave)]
        last = leave
    elif isinstance(following, ast.Try) and following.finalbody == [leave]:
        if following.handlers or following.orelse:
            raise Declined("the `try` around the block catches errors")
        body, last = following.body, following
    else:
        raise Declined("the block is entered and left at different depths")
    if not body or (last is leave and code.boundary(body).exits):
        raise Declined("the block is left before its `__exit__`")
    indent = code.indent(enter)
    head = f"{indent}with {code.text(made.value)}:"
    moved = code.block(body, indent + code.step)
    if block.index(made) == place - 1:
        edits = [code.lines(made, [head, *moved], last)]
    else:
        edits = [code.lines(made, []), code.lines(enter, [head, *moved], last)]
    yield code.fix(f"enter `{code.text(made.value)}` by `with`", edits)


def _only(name: str, method: str, ctx: Context, code: Code) -> ast.stmt:
    """Return the one statement that calls a method of a variable. Raises Declined."""
    found = []
    for use in code.uses(name):
        attribute = ctx.parent(use)
        if isinstance(attribute, ast.Attribute) and attribute.attr == method:
            found.append(ctx.statement(use))
    if len(found) != 1 or not isinstance(found[0], ast.Expr):
        raise Declined(f"`{method}` isn't called once, as a statement")
    return found[0]


def _made(name: str, block: Sequence[ast.stmt], enter: ast.stmt) -> tuple[ast.stmt, int]:
    """Return the statement before `enter` that makes the manager, and the place of `enter`."""
    place = block.index(enter)
    for stmt in reversed(block[:place]):
        if isinstance(stmt, ast.Assign) and [ast.unparse(t) for t in stmt.targets] == [name]:
            late = "set_grad_enabled" in ast.unparse(stmt.value)  # it acts where it is made
            if isinstance(stmt.value, ast.Call) and not (late and block[place - 1] is not stmt):
                return stmt, place
    raise Declined("the manager isn't made in the same block")


__all__ = ["entered", "made_inside", "watched"]
