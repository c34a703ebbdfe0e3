"""A call into a library of arrays becomes a custom operator, one node of the graph.

The operator is generated in front of the code that calls it: the library runs on the host, as
before, and a fake kernel tells the compiler the shapes and types of what comes back. Nothing flows
backward through it, as nothing did through arrays. The fix is never applied unasked.

Declined: functions whose results aren't in the table below, arguments that aren't an array of one
tensor and plain numbers, results that are used as arrays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ..base import (
    Code,
    Const,
    Context,
    Declined,
    Edit,
    Fix,
    Safety,
    ShapeInt,
    Static,
    Tensor,
    options,
)
from ..base.scopes import bound, parameters
from .arrays import WRAPS
from .hoist import CLAIM, holder

_ASSIGNED = ("torch.empty(min({x}.shape), dtype=torch.int64)",) * 2
_SAME = ("torch.empty_like({x}, device='cpu', memory_format=torch.contiguous_format)",)
_DOUBLE = ("torch.empty({x}.shape, dtype=torch.float64)",)
# What functions of one array give: for each result, an empty tensor like it.
_RESULTS = {
    "scipy.optimize.linear_sum_assignment": _ASSIGNED,
    "scipy.ndimage.distance_transform_edt": _DOUBLE,
    **{
        f"scipy.ndimage.{name}": _SAME
        for name in (
            "gaussian_filter uniform_filter median_filter maximum_filter minimum_filter "
            "grey_dilation grey_erosion grey_opening grey_closing binary_fill_holes"
        ).split()
    },
    **{
        f"cv2.{name}": _SAME
        for name in "GaussianBlur blur medianBlur bilateralFilter erode dilate boxFilter".split()
    },
}
_MOVES = frozenset({"numpy", "cpu"})


@dataclass(frozen=True, slots=True)
class _Operator:
    """A call as an operator: its tensor, and (parameter, type, source) of other arguments."""

    tensor: ast.expr
    name: str  # of the tensor's parameter
    extra: tuple[tuple[str, str, ast.expr], ...]
    results: tuple[str, ...]


def as_operator(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that makes a custom operator of a library call. Raises Declined."""
    name = ctx.callee(call).name
    results = _RESULTS.get(name)
    if results is None:
        raise Declined(
            "call it outside, use a function of torch, or make it a `torch.library.custom_op`"
        )
    operator = _read(call, results, ctx, code)
    top = holder(ctx.function, code.module)
    op = code.fresh(f"{name.rpartition('.')[2]}_op")
    arguments = [code.text(operator.tensor), *(code.text(e) for _, _, e in operator.extra)]
    replaced = f"{op}({', '.join(arguments)})"
    edits = [
        CLAIM,
        code.insert(top, [*_written(call, operator, op, ctx, code), "", ""], above=True),
        *_used(call, replaced, ctx, code),
    ]
    title = f"make `{code.text(call.func)}` a custom operator"
    yield code.fix(title, edits, Safety.UNSAFE)


def _read(call: ast.Call, results: tuple[str, ...], ctx: Context, code: Code) -> _Operator:
    if not call.args:
        raise Declined("the array isn't the first argument")
    tensor = call.args[0]
    while isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute):
        if tensor.func.attr not in _MOVES or tensor.args:
            break
        tensor = tensor.func.value
    facts = options(ctx.fact(tensor))
    if tensor is call.args[0] or not all(isinstance(fact, Tensor) for fact in facts):
        raise Declined("what is passed isn't the array of a tensor")
    mine = {*bound(ctx.function), *parameters(ctx.function)}
    taken: list[str] = []
    named = tensor.id if isinstance(tensor, ast.Name) else "x"
    taken.append(named)
    extra = []
    others = [(None, arg) for arg in call.args[1:]] + [(k.arg, k.value) for k in call.keywords]
    for label, value in others:
        if not any(isinstance(p, ast.Name) and p.id in mine for p in ast.walk(value)):
            continue  # a constant: written where it was
        kind = _kind(value, ctx)
        parameter = label or (value.id if isinstance(value, ast.Name) else "")
        if not kind or not parameter or parameter in taken:
            raise Declined(f"`{code.text(value)}` isn't a plain number")
        taken.append(parameter)
        extra.append((parameter, kind, value))
    return _Operator(tensor, named, tuple(extra), results)


def _kind(value: ast.expr, ctx: Context) -> str:
    fact = ctx.fact(value)
    known = isinstance(fact, (Const, Static, ShapeInt)) and fact.kind
    return known if known in ("int", "float", "bool", "str") else ""


def _written(call: ast.Call, operator: _Operator, op: str, ctx: Context, code: Code) -> list[str]:
    """Return the lines of the operator and its fake kernel."""
    step, x, torch = code.step, operator.name, code.spell("torch")
    space = re.sub(r"\W|^(?=\d)", "_", PurePath(ctx.path).stem)
    many = len(operator.results) > 1
    one = f"{torch}.Tensor"
    given = f"tuple[{', '.join([one] * len(operator.results))}]" if many else one
    parameters = ", ".join([f"{x}: {one}", *(f"{p}: {kind}" for p, kind, _ in operator.extra)])
    changes: dict[ast.AST, str] = {call.args[0]: f"{x}.detach().cpu().numpy()"}
    changes.update({value: p for p, _, value in operator.extra})
    run = code.text(call, changes)
    names = ["first", "second"] if many else ["result"]
    stmt = ctx.statement(call)
    if isinstance(stmt, ast.Assign) and stmt.value is call:
        names = [name if name != x else f"{name}_out" for name in _names(stmt.targets[0])]
    give = ", ".join(f"{torch}.as_tensor({name})" for name in names)
    fakes = [f.format(x=x).replace("torch.", f"{torch}.") for f in operator.results]
    quoted = [f.replace("'", '"') for f in fakes]
    untyped = ", ".join([x, *(p for p, _, _ in operator.extra)])
    fake = (
        [f"{step}return {quoted[0]}"]
        if not many
        else [f"{step}{n} = {q}" for n, q in zip(names, quoted)]
        + [f"{step}return {', '.join(names)}"]
    )
    return [
        f'@{torch}.library.custom_op("{space}::{op.removesuffix("_op")}", mutates_args=())',
        f"def {op}({parameters}) -> {given}:",
        f"{step}{', '.join(names)} = {run}",
        f"{step}return {give}",
        "",
        "",
        f"@{op}.register_fake",
        f"def _({untyped}):",
        *fake,
    ]


def _used(call: ast.Call, replaced: str, ctx: Context, code: Code) -> Iterator[Edit]:
    """Yield the edits that call the operator and use its results as the tensors they are."""
    parent = ctx.parent(call)
    if isinstance(parent, ast.Call) and _wraps(parent, ctx):
        yield code.replace(parent, replaced)
        return
    stmt = ctx.statement(call)
    if not isinstance(stmt, ast.Assign) or stmt.value is not call:
        raise Declined("the result is used as an array")
    (target,) = stmt.targets
    names = _names(target)
    yield code.replace(call, replaced)
    for name in names:
        for use in code.uses(name):
            wrap = ctx.parent(use)
            if not (isinstance(wrap, ast.Call) and _wraps(wrap, ctx) and wrap.args == [use]):
                raise Declined(f"`{name}` is used as an array")
            if len(wrap.args) == 1 and not wrap.keywords:
                yield code.replace(wrap, name)


def _names(target: ast.expr) -> Sequence[str]:
    elements = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    names = [element.id for element in elements if isinstance(element, ast.Name)]
    if len(names) != len(elements):
        raise Declined("the results aren't variables of their own")
    return names


def _wraps(call: ast.Call, ctx: Context) -> bool:
    return ctx.callee(call).name in WRAPS


__all__ = ["as_operator"]
