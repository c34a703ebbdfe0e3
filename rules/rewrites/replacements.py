"""Calls that can't be captured, and what says the same in torch.

Copies: `copy.deepcopy(x)` is `x.detach().clone()` (gradients don't flow through a deep copy),
`copy.copy(x)` is `x.detach()` (it shares storage), containers are copied by their own class.

TorchScript inside of a region is the Python function it was made of; a distribution validates its
arguments by default, which torch.compile knows how to switch off, so the flag goes.

Declined: copies of modules, which make new parameters, and of objects; scripted modules that were
made elsewhere; methods of distributions that branch by themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base import (
    Array,
    Code,
    Context,
    Declined,
    Fact,
    Fix,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    options,
)
from .moved import call_text


def copied(call: ast.Call, source: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that copies a value by methods of its own. Raises Declined."""
    deep = ctx.callee(call).name == "copy.deepcopy"
    facts = options(ctx.fact(source))
    text = _deep(source, facts, code) if deep else _shallow(source, facts, code)
    name = f"copy.{'deepcopy' if deep else 'copy'}"
    title = f"write `{text}` for `{name}`"
    yield code.fix(title, [code.replace(call, text)], unused=[name])


def _deep(source: ast.expr, facts: tuple[Fact, ...], code: Code) -> str:
    text = operand(source, code)
    if all(isinstance(fact, Tensor) for fact in facts):
        return f"{text}.detach().clone()"
    if all(isinstance(fact, Array) for fact in facts):
        return f"{text}.copy()"
    (fact, *others) = facts
    if others:
        raise Declined("what is copied may be one thing or another")
    if isinstance(fact, Instance) and fact.module:
        raise Declined("a module's copy has parameters of its own: copy it before compiling")
    if isinstance(fact, Sequence) and isinstance(fact.element(), Tensor):
        each = code.fresh("item")
        inner = f"{each}.detach().clone() for {each} in {code.text(source)}"
        if fact.kind == "list":
            return f"[{inner}]"
        if fact.kind == "tuple":
            return f"tuple({inner})"
    if isinstance(fact, Mapping) and fact.kind == "dict" and isinstance(fact.element(), Tensor):
        key, each = code.fresh("key"), code.fresh("item")
        return f"{{{key}: {each}.detach().clone() for {key}, {each} in {text}.items()}}"
    raise Declined("what it holds isn't all tensors")


def _shallow(source: ast.expr, facts: tuple[Fact, ...], code: Code) -> str:
    text = operand(source, code)
    if all(isinstance(fact, Tensor) for fact in facts):
        return f"{text}.detach()"
    if all(isinstance(fact, Array) for fact in facts):
        return f"{text}.copy()"
    (fact, *others) = facts
    if isinstance(fact, (Sequence, Mapping)) and not others:
        if isinstance(source, (ast.List, ast.Set, ast.Dict)):
            return code.text(source)  # made here: nothing else holds it
        if fact.kind in ("list", "set", "dict"):
            return f"{fact.kind}({code.text(source)})"
        if fact.kind == "deque":
            return f"{text}.copy()"
    raise Declined("a module's copy shares its parameters: copy it before compiling")


# -- TorchScript and distributions ---------------------------------------------------------------


def plain(call: ast.Call, name: str, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that runs what TorchScript wraps as the Python that it is."""
    last = name.rpartition(".")[2]
    if last in ("script", "trace") and call.args:
        text = code.text(call.args[0])
        yield code.fix(f"use `{text}` itself", [code.replace(call, text)], unused=[name])
        return
    if last != "fork" or not call.args:
        raise Declined("use the Python function or module that was scripted")
    rest = [code.text(part) for part in (*call.args[1:], *call.keywords)]
    text = f"{operand(call.args[0], code)}({', '.join(rest)})"
    stmt = ctx.statement(call)
    target = stmt.targets[0] if isinstance(stmt, ast.Assign) and stmt.value is call else None
    if not isinstance(target, ast.Name):
        raise Declined("the future isn't a variable of its own")
    edits = [code.replace(call, text)]
    for use in code.uses(target.id):
        wait = ctx.parent(use)
        if not isinstance(wait, ast.Call) or ctx.callee(wait).name != "torch.jit.wait":
            raise Declined("the future is used for more than waiting")
        edits.append(code.replace(wait, target.id))
    yield code.fix(f"call `{text}` at once", edits, unused=["torch.jit.fork", "torch.jit.wait"])


def unvalidated(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that leaves `validate_args=True` to the default, off while compiling."""
    if not any(keyword.arg == "validate_args" for keyword in call.keywords):
        raise Declined("write the density or the divergence out, or compute it outside")
    text = call_text(call, code, without=("validate_args",))
    yield code.fix("leave `validate_args` to the default", [code.replace(call, text)])


def number_last(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that passes the factor of an old in-place signature by name."""
    method = ctx.callee(call).name.rpartition(".")[2]
    if method == "type" or call.keywords:
        raise Declined("name the dtype that is meant")
    name = "alpha" if method == "add_" else "value"
    factor, *tensors = [code.text(arg) for arg in call.args]
    text = f"{code.text(call.func)}({', '.join(tensors)}, {name}={factor})"
    yield code.fix(f"pass the factor as `{name}=`", [code.replace(call, text)])


def uncached(decorator: ast.expr, name: str, code: Code) -> Iterator[Fix]:
    """Yield the fix that makes a plain property of a cached one."""
    for part in ast.walk(code.module):
        if isinstance(part, ast.Attribute) and part.attr == name:
            if not isinstance(part.ctx, ast.Load):
                raise Declined(f"`{name}` is set or deleted: fill it in `__init__`")
    edit = code.replace(decorator, "property")
    used = ["functools.cached_property"]
    yield code.fix(f"compute `{name}` anew on each read", [edit], unused=used)


def operand(node: ast.expr, code: Code) -> str:
    """Return the source of an expression as something that `.method` can follow."""
    simple = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Dict)
    text = code.text(node)
    return text if isinstance(node, simple) else f"({text})"


__all__ = ["copied", "number_last", "operand", "plain", "uncached", "unvalidated"]
