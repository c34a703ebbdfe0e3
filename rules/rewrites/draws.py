"""Random numbers that Python or numpy draw are drawn by torch, in the graph.

The numbers are other ones, from another generator, so none of these is applied unasked:
`random.random()` is `torch.rand(())`, a permutation `torch.randperm(n)`, and `trunc_normal_`, whose
library code branches, is written out by the inverse of its distribution. The exception is a
`trunc_normal_` with bounds that no draw reaches, such as the default ones around a small `std`: it
gives what `normal_` gives.

Declined: choices of objects, shuffles, seeds and generator objects (their numbers are wanted), and
numbers that index or size something in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from math import erf, sqrt

from ..base import Code, Const, Context, Declined, Fix, FromTensor, Instance, Safety, options
from ..base.scopes import assignments, dotted
from .replacements import operand

_UNIT = "torch.rand(())"
_NEVER = 9.0  # deviations: a normal draw made of 53 random bits stays below 8.6
_FACTORIES = frozenset({"empty", "empty_like", "new_empty", "zeros", "zeros_like", "new_zeros"})
_PARENTS = (ast.BinOp, ast.Compare, ast.Assign, ast.AugAssign, ast.If, ast.While, ast.IfExp)


def drawn(call: ast.Call, name: str, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that draws a number, or a permutation, with torch. Raises Declined."""
    last = name.rpartition(".")[2]
    numpy = name.startswith("numpy.random.")
    if (not numpy and not name.startswith("random.")) or "." in name.removeprefix("random."):
        if not numpy or name.count(".") != 2:
            raise Declined("the numbers of a generator object are its own: draw outside")
    arguments = [code.text(arg) for arg in call.args]
    if call.keywords:
        raise Declined("the draw has keyword arguments")
    if numpy and last == "permutation":
        yield from _permutation(call, ctx, code)
        return
    text = _number(last, call.args, arguments, numpy, code)
    if not isinstance(ctx.parent(call), _PARENTS):
        raise Declined("Python needs the number that is drawn")
    if isinstance(ctx.parent(call), ast.BinOp) and not text.startswith("torch."):
        text = f"({text})"
    text = text.replace("torch.", f"{code.spell('torch')}.")
    yield code.fix(
        f"draw `{text}` (other numbers than `{code.text(call.func)}` gives)",
        [code.replace(call, text)],
        Safety.UNSAFE,
        unused=[name],
    )


def _number(
    last: str, nodes: Sequence[ast.expr], given: Sequence[str], numpy: bool, code: Code
) -> str:
    """Return the source of a 0-dimensional draw. Raises Declined."""
    if last in ("random", "rand", "random_sample") and not given:
        return _UNIT
    if last in ("randn", "standard_normal") and not given:
        return "torch.randn(())"
    if last == "uniform" and len(given) in (0, 2):
        if not given or list(given) == ["0", "1"]:
            return _UNIT
        low, high = (_term(node, code) for node in nodes)
        return f"{low} + ({high} - {low}) * {_UNIT}"
    if last in ("gauss", "normalvariate", "normal") and len(given) in (0, 2):
        if not given or list(given) in (["0", "1"], ["0.0", "1.0"]):
            return "torch.randn(())"
        mean, spread = (_term(node, code) for node in nodes)
        return f"{mean} + {spread} * torch.randn(())"
    if numpy and last == "randint" and len(given) in (1, 2):
        return f"torch.randint({', '.join(given)}, ())"
    if last == "choice" and numpy and len(given) == 1 and isinstance(nodes[0], ast.Constant):
        return f"torch.randint({given[0]}, ())"
    raise Declined(f"torch has no draw like `{last}`: draw outside, and pass it in")


def _term(node: ast.expr, code: Code) -> str:
    return code.text(node) if isinstance(node, ast.Constant) else operand(node, code)


def redrawn(test: ast.expr, ctx: Context, code: Code) -> Fix | None:
    """Return the fix that draws with torch what a test compares, None where nothing was drawn.

    `randrange`, `randint` and `uniform` are captured, but a test needs their value.
    """
    for name in (part for part in ast.walk(test) if isinstance(part, ast.Name)):
        fact = ctx.fact(name)
        if not isinstance(fact, FromTensor) or fact.how != "random":
            continue
        made = [stmt.value for stmt in assignments(name.id, ctx.function)]
        if len(made) != 1 or not isinstance(made[0], ast.Call) or made[0].keywords:
            return None
        source = made[0].func
        if isinstance(source, ast.Attribute):
            if any(isinstance(o, Instance) for o in options(ctx.fact(source.value))):
                raise Declined("the numbers of a generator object are its own: draw outside")
        return _redraw(made[0], code)
    return None


def _redraw(call: ast.Call, code: Code) -> Fix | None:
    last = ast.unparse(call.func).rpartition(".")[2]
    given = [code.text(arg) for arg in call.args]
    torch = code.spell("torch")
    if last == "randrange" and len(given) in (1, 2):
        text = f"{torch}.randint({', '.join(given)}, ())"
    elif last == "randint" and len(given) == 2:
        text = f"{torch}.randint({given[0]}, {_term(call.args[1], code)} + 1, ())"
    elif last == "uniform" and len(given) == 2:
        low, high = (_term(arg, code) for arg in call.args)
        text = f"{low} + ({high} - {low}) * {torch}.rand(())"
    else:
        return None
    title = f"draw `{text}` (other numbers than `{code.text(call.func)}` gives)"
    return code.fix(title, [code.replace(call, text)], Safety.UNSAFE)


def _permutation(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    if len(call.args) != 1 or not isinstance(ctx.fact(call.args[0]), Const):
        raise Declined("what is permuted isn't a range")
    stmt = ctx.statement(call)
    name = f"{code.spell('torch.randperm')}({code.text(call.args[0])})"
    edits = [code.replace(call, name)]
    parent = ctx.parent(call)
    if isinstance(parent, ast.Call) and ctx.callee(parent).name == "torch.from_numpy":
        edits = [code.replace(parent, name)]
    elif isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Name):
        for use in code.uses(stmt.targets[0].id):
            wrap = ctx.parent(use)
            if not (isinstance(wrap, ast.Call) and ctx.callee(wrap).name == "torch.from_numpy"):
                raise Declined("the permutation is used as an array")
            edits.append(code.replace(wrap, use.id))
    else:
        raise Declined("the permutation is used as an array")
    title = f"draw `{name}` (another permutation than numpy's)"
    yield code.fix(title, edits, Safety.UNSAFE, unused=["numpy.random.permutation"])


def _constant(given: ast.expr | None, default: float, ctx: Context) -> float:
    if given is None:
        return default
    fact = ctx.fact(given)
    if not isinstance(fact, Const) or not isinstance(fact.value, (int, float)):
        raise Declined(f"`{ast.unparse(given)}` isn't a constant")
    return float(fact.value)


def _made_here(tensor: ast.expr, stmt: ast.stmt, ctx: Context, code: Code) -> bool:
    """Say whether a tensor was made empty or of zeros just before: it asks for no gradient."""
    block = list(code.block_of(stmt))
    before = block[block.index(stmt) - 1] if block.index(stmt) else None
    if not isinstance(before, ast.Assign) or not isinstance(before.value, ast.Call):
        return False
    made = ctx.callee(before.value).name.rpartition(".")[2] in _FACTORIES
    plain = all(keyword.arg != "requires_grad" for keyword in before.value.keywords)
    return made and plain and [ast.unparse(t) for t in before.targets] == [ast.unparse(tensor)]


def truncated(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the fix that writes `trunc_normal_` out, without its branches."""
    stmt = ctx.statement(call)
    if not isinstance(stmt, ast.Expr) or stmt.value is not call:
        raise Declined("the result of the call is used")
    tensor = ctx.argument(call, 0, "tensor")
    if tensor is None:
        raise Declined("what is filled isn't known")
    defaults = (("mean", 0.0), ("std", 1.0), ("a", -2.0), ("b", 2.0))
    mean, std, low, high = (
        _constant(ctx.argument(call, place, name), default, ctx)
        for place, (name, default) in enumerate(defaults, 1)
    )
    indent = code.indent(stmt)
    torch = code.spell("torch.no_grad")
    if std > 0 and min(mean - low, high - mean) >= _NEVER * std:
        fill = f"{operand(tensor, code)}.normal_({mean!r}, {std!r})"
        lines = [f"{indent}with {torch}():", f"{indent}{code.step}{fill}"]
        text = [indent + fill] if _made_here(tensor, stmt, ctx, code) else lines
        title = "draw by `normal_`: the bounds are too far out to cut anything"
        yield code.fix(title, [code.lines(stmt, text)])
    bounds = [f"{erf((bound - mean) / std / sqrt(2)):.12g}" for bound in (low, high)]
    steps = [
        f"uniform_({', '.join(b if '.' in b else b + '.0' for b in bounds)})",
        "erfinv_()",
        f"mul_({std!r} * 2**0.5)",
        *([f"add_({mean!r})"] if mean else []),
        f"clamp_({low!r}, {high!r})",
    ]
    inner = f"{indent}{code.step}{operand(tensor, code)}."
    lines = [inner + ".".join(steps)]
    if len(lines[0]) > code.width:
        if not dotted(tensor):
            raise Declined(f"`{code.text(tensor)}` isn't a variable")
        lines = [inner + ".".join(steps[:2]), inner + ".".join(steps[2:])]
    lines.insert(0, f"{indent}with {torch}():")
    title = "write `trunc_normal_` without branches (it draws other numbers)"
    yield code.fix(title, [code.lines(stmt, lines)], Safety.UNSAFE)


__all__ = ["drawn", "redrawn", "truncated"]
