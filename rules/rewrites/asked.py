"""Questions to the device, the driver or the allocator, which a graph can't ask.

Which attention kernel may run (`SDPAParams`, `can_use_flash_attention`) is taken as "no" in
compiled runs, as is whether a tensor was made in inference mode; the number of devices is asked
once, at module level; the type that two tensors promote to follows from their dtypes.

Declined: answers that something else needs, questions with arguments, settings that change what
later code computes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import Code, Context, Declined, Edit, Fix, Tensor
from .guards import IS_COMPILING, conditional, guarded, reports, untaken
from .hoist import CLAIM, holder

_PARAMETERS = "torch.backends.cuda.SDPAParams"
_KERNELS = "torch.backends.cuda.can_use_"
_ONCE = frozenset({"torch.cuda.device_count", "torch.xpu.device_count", "torch.mps.device_count"})


def asked(call: ast.Call, name: str, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix for a call of torch that only asks or reports. Raises Declined."""
    if name == _PARAMETERS or name.startswith(_KERNELS):
        yield code.fix(
            "take the kernel as unavailable in compiled runs", _unprobed(call, name, ctx, code)
        )
    elif name in _ONCE and not call.args and not call.keywords:
        yield _once(call, name, ctx, code)
    elif name == "torch.result_type" and len(call.args) == 2 and not call.keywords:
        if not all(isinstance(ctx.fact(arg), Tensor) for arg in call.args):
            raise Declined("a Python number takes part in the promotion")
        left, right = (f"{_operand(arg, code)}.dtype" for arg in call.args)
        text = f"{code.spell('torch.promote_types')}({left}, {right})"
        yield code.fix(f"write `{text}`", [code.replace(call, text)])
    elif reports(name):
        yield from guarded(call, ctx, code, f"`{code.text(call.func)}`")
    else:
        raise Declined("ask once, outside of compiled code, and keep the answer")


def inference(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that takes `x.is_inference()` as False in compiled runs."""
    title = f"take `{code.text(call)}` as False in compiled runs"
    yield code.fix(title, [untaken(call, ctx, code)])


def _once(call: ast.Call, name: str, ctx: Context, code: Code) -> Fix:
    constant = code.fresh(name.rpartition(".")[2].upper())
    top = holder(ctx.function, code.module)
    lines = [f"{constant} = {code.text(call)}", "", ""]
    edits = [CLAIM, code.insert(top, lines, above=True), code.replace(call, constant)]
    return code.fix(f"ask `{code.text(call.func)}` once, at module level", edits)


def _unprobed(call: ast.Call, name: str, ctx: Context, code: Code) -> Iterator[Edit]:
    """Yield the edits that leave out a probe of attention kernels, its parameters included."""
    if name != _PARAMETERS:
        yield untaken(call, ctx, code)
        return
    parent = ctx.parent(call)
    if isinstance(parent, ast.Call) and ctx.callee(parent).name.startswith(_KERNELS):
        yield untaken(parent, ctx, code)
        return
    made = ctx.statement(call)
    if not isinstance(made, ast.Assign) or made.value is not call:
        raise Declined("the parameters are part of a larger statement")
    (target,) = made.targets
    uses = code.uses(target.id) if isinstance(target, ast.Name) else ()
    probes = [ctx.parent(use) for use in uses]
    if not probes or not all(_probes(probe, ctx) for probe in probes):
        raise Declined("the parameters are used for more than to ask for a kernel")
    returned = _returned(made, probes, ctx, code)
    indent = code.indent(made)
    test = f"{code.spell(IS_COMPILING)}()"
    if returned:
        lines = [f"{indent}if {test}:", f"{indent}{code.step}return False"]
        yield code.insert(made, lines)
        return
    yield code.lines(made, conditional([made], f"not {test}", code))
    for probe in probes:
        assert isinstance(probe, ast.Call)
        yield untaken(probe, ctx, code)


def _probes(probe: ast.AST | None, ctx: Context) -> bool:
    return isinstance(probe, ast.Call) and ctx.callee(probe).name.startswith(_KERNELS)


def _returned(made: ast.stmt, probes: list[ast.AST | None], ctx: Context, code: Code) -> bool:
    """Say whether the next thing the function does is to return the answer."""
    block = list(code.block_of(made))
    place = block.index(made) + 1
    following = block[place] if place < len(block) else None
    return isinstance(following, ast.Return) and [following.value] == probes


def _operand(node: ast.expr, code: Code) -> str:
    text = code.text(node)
    simple = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    return text if simple else f"({text})"


__all__ = ["asked", "inference"]
