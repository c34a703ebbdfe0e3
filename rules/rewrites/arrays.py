"""NumPy that Dynamo has no twin of → torch's own function, or a constant of the module.

`np.nanmean(x.numpy(), axis=0)` becomes `torch.nanmean(x, dim=0).numpy()`, without the arrays where
the result is made a tensor again or a number. What is computed of constants alone, such as a grid
by `np.interp`, is computed once, at module level. A number that NumPy computes for `float(…)` is
computed by torch, and stays a tensor if a later rewrite finds that it can.

Declined: functions that aren't in the tables below, arguments that have no counterpart, arrays of
unknown origin, constants that are written to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..base import Array, Code, Context, Declined, Edit, Extern, Fix, options
from ..base.reading import shown, tensor_of
from ..base.scopes import assignments
from .editing import Changes
from .hoist import CLAIM, holder
from .layout import flat, receiver

_OPTIONS = {"axis": "dim", "keepdims": "keepdim"}
# What makes an array a tensor.
WRAPS = frozenset({"torch.from_numpy", "torch.as_tensor", "torch.asarray", "torch.tensor"})
_NUMBERS = frozenset({"builtins.float", "builtins.int", "builtins.bool"})


@dataclass(frozen=True, slots=True)
class _Twin:
    """A function of torch: how many arrays it takes first, more arguments, if a rank is next."""

    name: str
    arrays: int = 1
    more: str = ""
    rank: str = ""  # "q": a number from 0 to 1 follows, "%": one up to 100, "half": it is 0.5


_GAPS = {
    "numpy.nanmean": _Twin("torch.nanmean"),
    "numpy.nansum": _Twin("torch.nansum"),
    "numpy.nanquantile": _Twin("torch.nanquantile", rank="q"),
    "numpy.nanpercentile": _Twin("torch.nanquantile", rank="%"),
    "numpy.nanmedian": _Twin("torch.nanquantile", rank="half"),
    "numpy.isin": _Twin("torch.isin", 2),
    "numpy.digitize": _Twin("torch.bucketize", 2, "right=True"),
    "numpy.trapezoid": _Twin("torch.trapezoid", 2),
    "numpy.trapz": _Twin("torch.trapezoid", 2),
}
_REDUCED = {
    "numpy.mean": _Twin("torch.mean"),
    "numpy.sum": _Twin("torch.sum"),
    "numpy.max": _Twin("torch.amax"),
    "numpy.amax": _Twin("torch.amax"),
    "numpy.min": _Twin("torch.amin"),
    "numpy.amin": _Twin("torch.amin"),
    "numpy.prod": _Twin("torch.prod"),
    "numpy.std": _Twin("torch.std", more="correction=0"),
    "numpy.var": _Twin("torch.var", more="correction=0"),
    "numpy.quantile": _Twin("torch.quantile", rank="q"),
    "numpy.percentile": _Twin("torch.quantile", rank="%"),
    "numpy.median": _Twin("torch.quantile", rank="half"),
    "numpy.linalg.norm": _Twin("torch.linalg.vector_norm"),
}


def torch_twin(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix for a call of NumPy that has no twin. Raises Declined."""
    if _constant(call, ctx):
        yield _once(call, ctx, code)
        return
    twin = _GAPS.get(ctx.callee(call).name)
    if twin is None:
        raise Declined("use the function of torch, or compute it outside")
    text = _written(call, twin, ctx, code)
    parent = ctx.parent(call)
    place: ast.expr = call
    if isinstance(parent, ast.Call) and parent.args == [call] and not parent.keywords:
        name = ctx.callee(parent).name
        if name in WRAPS:
            place = parent
        elif name not in _NUMBERS:
            text += ".numpy()"
    else:
        text += ".numpy()"
    title = f"`{code.spell(twin.name)}` for `{code.text(call.func)}`"
    yield code.fix(title, _edits(place, text, ctx, code), unused=[ctx.callee(call).name])


def number_by_torch(source: ast.expr, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that lets torch compute what `float(source)` reads. Raises Declined."""
    made, readers = source, 1
    if isinstance(source, ast.Name):
        bound = assignments(source.id, ctx.function)
        made, readers = (bound[0].value if len(bound) == 1 else source), len(code.uses(source.id))
    name = ctx.callee(made).name if isinstance(made, ast.Call) else ""
    twin = _REDUCED.get(name) or _GAPS.get(name)
    if not isinstance(made, ast.Call) or twin is None or readers != 1:
        raise Declined(f"`{shown(source)}` is a NumPy array: write it with torch")
    text = _written(made, twin, ctx, code)
    title = f"`{code.spell(twin.name)}` for `{code.text(made.func)}`"
    yield code.fix(title, _edits(made, text, ctx, code), unused=[name])


def _edits(node: ast.expr, text: str, ctx: Context, code: Code) -> list[Edit]:
    changes = Changes(ctx, code)
    changes.made[node] = lambda: text
    return changes.edits()


def _written(call: ast.Call, twin: _Twin, ctx: Context, code: Code) -> str:
    """Return the call of torch's function, on tensors."""
    given = list(call.args)
    arguments = [_tensor(arg, ctx, code) for arg in given[: twin.arrays]]
    rest = given[twin.arrays :]
    if not arguments or any(isinstance(arg, ast.Starred) for arg in given):
        raise Declined("what it computes on isn't in sight")
    if twin.rank == "half":
        arguments.append("0.5")
    elif twin.rank:
        if not rest or not isinstance(rest[0], ast.Constant):
            raise Declined("which quantile is meant isn't in sight")
        value = rest.pop(0).value  # type: ignore[attr-defined]
        arguments.append(repr(value / 100 if twin.rank == "%" else value))
    if rest:
        if twin.arrays != 1 or len(rest) > 1:
            raise Declined(f"`{shown(rest[0])}` has no counterpart in torch")
        arguments.append(f"dim={flat(code.text(rest[0]))}")
    for keyword in call.keywords:
        option = _OPTIONS.get(keyword.arg or "") if twin.arrays == 1 else None
        if option is None:
            raise Declined(f"`{keyword.arg}=` has no counterpart in torch")
        arguments.append(f"{option}={flat(code.text(keyword.value))}")
    if twin.more:
        arguments.append(twin.more)
    return f"{code.spell(twin.name)}({', '.join(arguments)})"


def _tensor(node: ast.expr, ctx: Context, code: Code) -> str:
    """Return an array's source as a tensor: x of `x.numpy()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "numpy" and not node.args:
            return receiver(flat(code.text(node.func.value)))
    text = flat(code.text(node))
    facts = options(ctx.fact(node))
    if tensor_of(ctx.fact(node)) is not None and len(facts) == 1:
        return text
    if all(isinstance(fact, Array) for fact in facts):
        return f"{code.spell('torch.as_tensor')}({text})"
    if isinstance(node, (ast.List, ast.Tuple)):
        return f"{code.spell('torch.tensor')}({text})"
    raise Declined(f"`{shown(node)}` isn't known to be an array")


# -- constants -----------------------------------------------------------------------------------


def _constant(call: ast.Call, ctx: Context) -> bool:
    """Say whether a call reads constants and what modules hold only."""
    return all(
        ctx.is_global(part.id) and isinstance(ctx.fact(part), Extern)
        for part in ast.walk(call)
        if isinstance(part, ast.Name)
    )


def _once(call: ast.Call, ctx: Context, code: Code) -> Fix:
    stmt = ctx.statement(call)
    last = ctx.callee(call).name.rpartition(".")[2]
    name = last
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
        (target,) = stmt.targets
        if isinstance(target, ast.Name):
            name = target.id if stmt.value is call else last
            found = code.effects(ctx.function.body)  # type: ignore[attr-defined]
            if any(path.partition("[")[0] == target.id for path in found.mutates | found.stores):
                raise Declined(f"`{target.id}` is written to")
    constant = code.fresh(name.upper())
    top = holder(ctx.function, code.module)
    edits: list[Edit] = [
        CLAIM,
        code.insert(top, [f"{constant} = {code.text(call)}", "", ""], above=True),
        code.replace(call, constant),
    ]
    return code.fix(f"compute `{shown(call)}` once, at module level", edits)


__all__ = ["WRAPS", "number_by_torch", "torch_twin"]
