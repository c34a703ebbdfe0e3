"""What `torch.while_loop` needs so that its gradients are those of the Python loop.

Seen in torch 2.13: its backward pass differentiates only through carries that require grad when the
loop starts, so a sum that starts from zeros loses all but the last round's gradients; and it runs
one round backwards even where the loop ran none. Both are silent. So a zero that depends on all
that the loop differentiates is added to what starts it, and where the loop may not turn at all,
`torch.where` chooses between its result and its start.

Nothing of this is written where gradients are off (`@torch.no_grad()`), and for integers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..base.context import Context
from ..base.facts import BoundMethod, Fact, Function, Instance, Tensor, options
from ..base.reading import module_of
from ..base.rewriting import Code
from .carries import Carry, Loop
from .layout import flat, statement

_OFF = ("no_grad", "inference_mode")
_STEEP = ("sqrt", "rsqrt", "log", "log2", "log10", "reciprocal")  # at zero
_NOTE = "# while_loop differentiates through what requires grad from the start"


def differentiable(loop: Loop, ctx: Context) -> bool:
    """Say whether gradients may be asked of a loop: False under `no_grad`."""
    decorators = getattr(ctx.function, "decorator_list", [])
    holders = [a for a in ctx.ancestors(loop.stmt) if isinstance(a, ast.With)]
    texts = [ast.unparse(d) for d in decorators]
    texts += [ast.unparse(item.context_expr) for holder in holders for item in holder.items]
    return not any(word in text for text in texts for word in _OFF)


def steep(loop: Loop) -> str:
    """Return the name of a function in a loop whose derivative is infinite at zero, "" for none.

    The round that runs backwards alone makes NaN of it where the loop didn't turn. The test of the
    loop isn't differentiated.
    """
    for node in (inner for stmt in loop.stmt.body for inner in ast.walk(stmt)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            holder = node.func.value
            if node.func.attr in _STEEP and not (
                isinstance(holder, ast.Name) and holder.id in ("math", "np", "numpy")
            ):
                return node.func.attr
    return ""


def sources(loop: Loop, carried: Sequence[Carry], ctx: Context, code: Code) -> list[str]:
    """Return what the loop captures that may require grad, as elements of a tuple."""
    names = {carry.name for carry in carried}
    bound = names | {n.id for n in loop.names() if not isinstance(n.ctx, ast.Load)}
    found: dict[str, None] = {}
    stack = list(loop.nodes)
    while stack:
        node = stack.pop(0)
        if isinstance(node, ast.Call):
            for holder in _modules(node, ctx):
                found[f"*{flat(code.text(holder))}.parameters()"] = None
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            base = node
            while isinstance(base, ast.Attribute):
                base = base.value
            outside = isinstance(base, ast.Name) and base.id not in bound
            if outside and any(_real(option) for option in options(ctx.fact(node))):
                if all(isinstance(option, Tensor) for option in options(ctx.fact(node))):
                    found[flat(code.text(node))] = None
                    continue
        stack += list(ast.iter_child_nodes(node))
    return list(found)


def _real(fact: Fact) -> bool:
    real = isinstance(fact, Tensor) and fact.dtype not in ("int", "bool")
    return real and fact.role not in ("buffer", "constant")  # type: ignore[attr-defined]


def _modules(call: ast.Call, ctx: Context) -> Iterator[ast.expr]:
    """Yield expressions for the modules whose parameters a call may read."""
    for option in options(ctx.fact(call.func)):
        if isinstance(option, Instance) and option.module:
            yield call.func
        elif isinstance(option, (Function, BoundMethod)) and isinstance(call.func, ast.Attribute):
            holder = call.func.value
            if module_of(ctx.fact(holder)) is not None:
                yield holder


def read_again(loop: Loop, carried: Sequence[Carry]) -> list[Carry]:
    """Return the real carries whose old value a round computes with, tests left out."""
    body = {n.id for stmt in loop.stmt.body for n in ast.walk(stmt) if _loaded(n)}  # type: ignore[attr-defined]
    return [carry for carry in carried if carry.real and carry.name in body]


def _loaded(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return isinstance(node.ctx, ast.Load)
    return False


def seed(
    loop: Loop, carried: Sequence[Carry], indent: str, ctx: Context, code: Code
) -> tuple[str, list[str]]:
    """Return the name of the zero to add to what starts the loop and its lines, ("", []) for none.

    A loop that differentiates through one value only has nothing to mix.
    """
    again = read_again(loop, carried)
    mixed = [*(carry.name for carry in carried if carry.real and not carry.mixed)]
    mixed += sources(loop, carried, ctx, code)
    if not again or not mixed or (len(mixed) == 1 and [c.name for c in again] == mixed):
        return "", []
    name = code.fresh("seed")
    held = ", ".join(mixed) + ("," if len(mixed) == 1 else "")
    total = f"sum(t.flatten()[:0].sum() for t in ({held}))"
    lines = statement(f"{name} = ", total, indent, code.width, code.step)
    return name, [indent + _NOTE, *lines]
