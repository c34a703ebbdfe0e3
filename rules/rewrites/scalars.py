"""Numbers read out of tensors → the tensors themselves.

`.item()`, `float(t)`, `int(t)`, `bool(t)`, `math.f(t)`, `torch.equal` and `tolist()` are dropped
where their value ends in tensor code or in a test (see `uses`). What the number was is kept: one
element of no dimensions, cut off gradients where it takes part in arithmetic, of the same kind
(`int()` truncates, `float()` of ints makes floats).

Declined: uses that need a Python number; NumPy arrays; values that may be no tensor; lists of
numbers that make sizes; `torch.tensor` of tensors and other things together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base.context import Context
from ..base.facts import Array, Const, FromTensor, Sequence, Tensor, options
from ..base.finding import Fix
from ..base.reading import shown, tensor_of
from ..base.rewriting import Code, Declined
from ..base.scopes import dotted, own
from .arrays import number_by_torch
from .editing import Changes
from .gathering import gather, read_from
from .hoisting import hoisted
from .iteration import range_fixes
from .layout import parsed, receiver
from .selected import tested
from .uses import MATH, Uses

_CASTS = {"builtins.float": "float", "builtins.int": "int", "builtins.bool": "bool"}
_NO_GRADIENT = frozenset(
    "detach argmax argmin any all count_nonzero nonzero long int bool numel size eq ne".split()
)
_OUTSIDE_AUTOGRAD = ("torch.no_grad", "torch.inference_mode")


def number_kept(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Drop `.item()`, `float()`, `int()`, `bool()`; `math.sqrt(t)` becomes `torch.sqrt(t)`.

    What can't be dropped but is read again at every turn of a loop is read once, before it. What
    says how often a loop turns makes it a `while_loop`.
    """
    try:
        yield from _dropped(call, ctx, code)
    except Declined:
        turns = ctx.parent(call)
        if isinstance(turns, ast.Call) and isinstance(ctx.parent(turns), ast.For):
            if ctx.callee(turns).name == "builtins.range":
                yield from range_fixes(turns, ctx, code.anew())
                return
        once = hoisted(call, ctx, code)
        if once is None:
            raise
        yield once


def _dropped(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    name = ctx.callee(call).name
    changes = Changes(ctx, code)
    uses = Uses(ctx, changes)
    source = _source(call, name)
    if any(isinstance(option, Array) for option in options(ctx.fact(source))):
        yield from number_by_torch(source, ctx, code)
        return
    fact = one_tensor(source, ctx)
    if name.startswith("math."):
        called = code.spell(MATH[name[len("math.") :]])
        uses.follow(call, compared=called.rpartition(".")[2].startswith("is"))
        detached = _detached(source, fact, uses, ctx)
        changes.made[call] = lambda: f"{called}({changes.text(source)}{detached})"
        yield code.fix(f"`{called}` of the tensor itself", changes.edits())
        return
    title = f"keep `{shown(source, 40)}` a tensor"
    if _indexes(call, ctx):
        gather(call, changes, lambda: f"{receiver(changes.text(source))}.reshape(1)")
        yield code.fix(f"gather what `{shown(source, 40)}` points at", changes.edits())
        return
    uses.follow(call)
    for suffix in _suffixes(_CASTS.get(name, ""), source, fact, uses, ctx):
        changes.made[call] = lambda suffix=suffix: _with(changes.text(source), suffix)
        yield code.fix(title, changes.edits())


def _indexes(call: ast.Call, ctx: Context) -> bool:
    parent = ctx.parent(call)
    item = ctx.parent(parent) if isinstance(parent, ast.Tuple) else parent
    return isinstance(item, ast.Subscript) and item.value is not call


def one_tensor(source: ast.expr, ctx: Context) -> Tensor:
    """Return the fact of a value that is a tensor and nothing else."""
    fact = ctx.fact(source)
    tensor = tensor_of(fact)
    if any(isinstance(option, Array) for option in options(fact)):
        raise Declined(f"`{shown(source)}` is a NumPy array: write it with torch")
    if tensor is None or len(options(fact)) > 1:
        raise Declined(f"`{shown(source)}` may also be no tensor")
    return tensor


def _source(call: ast.Call, name: str) -> ast.expr:
    if name == "torch.Tensor.item" and isinstance(call.func, ast.Attribute):
        return call.args[0] if call.args else call.func.value
    plain = len(call.args) == 1 and not call.keywords
    if plain and (name in _CASTS or (name.startswith("math.") and name[5:] in MATH)):
        return call.args[0]
    raise Declined(f"`{shown(call)}` has no form for tensors")


def _suffixes(cast: str, source: ast.expr, fact: Tensor, uses: Uses, ctx: Context) -> Iterator[str]:
    """Yield what makes the tensor what the number was, likeliest first."""
    flat = "" if fact.rank == 0 else ".reshape(())"
    detached = _detached(source, fact, uses, ctx)
    if cast == "int":
        yield flat + ("" if fact.dtype == "int" else ".long()")
    elif cast == "bool":
        yield flat + ("" if fact.dtype == "bool" else ".bool()")
    elif cast == "float" and uses.promotes and fact.dtype != "float":
        if not fact.dtype:
            yield flat + detached
        yield flat + ".float()" + ("" if fact.dtype else detached)
    elif fact.dtype == "bool" and uses.arithmetic:
        yield flat + ".long()"
    else:
        yield flat + detached


def _with(text: str, suffix: str) -> str:
    return receiver(text) + suffix if suffix else text


def _detached(source: ast.expr, fact: Tensor, uses: Uses, ctx: Context) -> str:
    """A number has no gradient: ".detach()" where one could flow through the tensor."""
    return cut_off(source, fact, ctx) if uses.arithmetic else ""


def cut_off(source: ast.expr, fact: Tensor, ctx: Context) -> str:
    """Return ".detach()" unless the value surely has no gradient."""
    if fact.dtype in ("int", "bool") or _without_gradient(source, ctx):
        return ""
    for parent in ctx.ancestors(source):
        if isinstance(parent, ast.With):
            for item in parent.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and ctx.callee(call).name in _OUTSIDE_AUTOGRAD:
                    return ""
    decorators = getattr(ctx.function, "decorator_list", [])
    if any(word in ast.unparse(d) for d in decorators for word in ("no_grad", "inference_mode")):
        return ""
    return ".detach()"


def _without_gradient(node: ast.expr, ctx: Context) -> bool:
    """Say whether a chain of calls holds one whose value has no gradient, such as `argmax`.

    A mask has none, unless it is multiplied with: then it may be one of weights.
    """
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _NO_GRADIENT:
            return True
        node = node.func.value
    name = dotted(node)
    if "mask" not in name.rpartition(".")[2].lower():
        return isinstance(node, ast.Attribute) and node.attr == "data"
    products = [n for n in own(ctx.function) if isinstance(n, ast.BinOp)]
    return not any(
        isinstance(n.op, ast.Mult) and name in (dotted(n.left), dotted(n.right)) for n in products
    )


def test_of_equality(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """`torch.equal(a, b)` → `(a == b).all()`, `allclose` → `isclose(…).all()`."""
    callee = ctx.callee(call)
    last = callee.name.rpartition(".")[2]
    changes = Changes(ctx, code)
    uses = Uses(ctx, changes)
    uses.follow(call, compared=True)
    method = callee.receiver is not None and isinstance(call.func, ast.Attribute)
    given = [call.func.value, *call.args] if method else call.args  # type: ignore[attr-defined]
    if any(isinstance(arg, ast.Starred) for arg in given) or any(
        keyword.arg in ("input", "other", "self", None) for keyword in call.keywords
    ):
        raise Declined("its arguments aren't in sight")
    ranks = [fact.rank for arg in given[:2] if (fact := tensor_of(ctx.fact(arg))) is not None]
    if len(ranks) == 2 and None not in ranks and ranks[0] != ranks[1]:
        raise Declined("the tensors have different shapes: it is always False")

    def written() -> str:
        texts = [changes.text(arg) for arg in given]
        if last == "is_nonzero":
            fact = tensor_of(ctx.fact(given[0]))
            return _with(texts[0], ("" if fact and fact.rank == 0 else ".reshape(())") + ".bool()")
        if last == "equal":
            left, right = (_operand(text) for text in texts[:2])
            return f"({left} == {right}).all()"
        rest = [*texts, *(f"{k.arg}={changes.text(k.value)}" for k in call.keywords)]
        return f"{code.spell('torch.isclose')}({', '.join(rest)}).all()"

    changes.made[call] = written
    yield code.fix(f"`{last}` as a tensor", changes.edits())


def _operand(text: str) -> str:
    loose = isinstance(parsed(text), (ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda))
    return f"({text})" if loose else text


def stacked(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """`torch.tensor([a, b])` of tensors → `torch.stack([a, b])`."""
    (given,) = call.args
    elements = [o.element() for o in options(ctx.fact(given)) if isinstance(o, Sequence)]
    items = [item for element in elements for item in options(element)]
    if any(isinstance(item, FromTensor) for item in items):
        raise Declined("the list holds numbers read from tensors: their reading comes first")
    if not items or not all(isinstance(item, Tensor) for item in items):
        raise Declined("the list holds tensors and other things")
    if ctx.callee(call).name.rpartition(".")[2] not in ("tensor", "as_tensor"):
        raise Declined(f"`{shown(call)}` has no form for tensors")
    if any(k.arg not in ("dtype", "device") for k in call.keywords):
        raise Declined(f"`{shown(call)}` makes a tensor of its own")
    changes = Changes(ctx, code)
    stack = code.spell("torch.stack")
    kept = ", ".join(f"{k.arg}={code.text(k.value)}" for k in call.keywords)
    suffix = cut_off(call, tensor_of(items[0]) or Tensor(), ctx) + (f".to({kept})" if kept else "")
    changes.made[call] = lambda: f"{stack}({changes.text(given)}){suffix}"
    yield code.fix("`torch.stack` the tensors", changes.edits())


def list_kept(call: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Drop `.tolist()` where the list is iterated, indexed by constants, or made a tensor again."""
    if not isinstance(call.func, ast.Attribute):
        raise Declined(f"`{shown(call)}` has no form for tensors")
    source = call.func.value
    fact = one_tensor(source, ctx)
    loop = ctx.parent(call)
    if fact.ragged and isinstance(loop, ast.For) and isinstance(loop.target, ast.Name):
        yield tested(loop, loop.target.id, ctx, code)
        return
    changes = Changes(ctx, code)
    uses = Uses(ctx, changes)
    if fact.rank == 0:
        uses.follow(call)
    else:
        _follow_list(call, fact, ctx, uses)
    suffix = _detached(source, fact, uses, ctx)
    changes.made[call] = lambda: _with(changes.text(source), suffix)
    yield code.fix(f"keep `{shown(source, 40)}` a tensor", changes.edits())


def _follow_list(node: ast.expr, fact: Tensor, ctx: Context, uses: Uses) -> None:
    """Follow a list of a tensor's numbers to where its elements end. Raises Declined."""
    parent = ctx.parent(node)
    text = uses.changes.text
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                uses.bound(element)
            return
        if not isinstance(target, ast.Name) or _stores(target.id, ctx) != 1:
            raise Declined(f"the list is stored in `{shown(target)}`")
        inside = set(ctx.inside(ctx.function))
        for use in uses.changes.code.uses(target.id):
            if use not in inside:
                raise Declined(f"`{target.id}` is used by a function inside")
            _follow_list(use, fact, ctx, uses)
    elif isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node:
        uses.bound(parent.target)
    elif (side := _turned(parent, node, ctx)) is not None:
        uses.bound(side)
    elif isinstance(parent, ast.Subscript) and parent.value is node:
        if not isinstance(ctx.fact(parent.slice), Const):
            index = read_from(parent.slice, ctx)
            if index is None or not isinstance(parent.ctx, ast.Load):
                raise Declined(f"`{shown(parent)}` picks from the list in Python")
            uses.changes.made[parent] = lambda: (
                f"{receiver(text(node))}[{receiver(text(index))}.reshape(1)].squeeze(0)"
            )
        uses.follow(parent)
    elif isinstance(parent, ast.Call) and parent.args == [node]:
        name = ctx.callee(parent).name
        if name in ("builtins.sum", "builtins.max", "builtins.min"):
            method = name.rpartition(".")[2]
            uses.changes.made[parent] = lambda: f"{receiver(text(node))}.{method}()"
            uses.follow(parent)
        elif name == "builtins.len":
            uses.changes.made[parent] = lambda: f"{receiver(text(node))}.shape[0]"
        elif name in ("torch.tensor", "torch.as_tensor"):
            uses.copied(parent, node)
        else:
            raise Declined(f"the list goes to `{shown(parent)}`")
    else:
        raise Declined(f"the list makes `{shown(parent)}`" if parent else "the list is kept")


def _turned(call: ast.AST | None, node: ast.expr, ctx: Context) -> ast.expr | None:
    """Return the loop's target for the values of a list that `zip` or `enumerate` is given."""
    loop = ctx.parent(call) if isinstance(call, ast.Call) and not call.keywords else None
    if not isinstance(loop, (ast.For, ast.comprehension)) or not isinstance(call, ast.Call):
        return None
    target = loop.target
    if loop.iter is not call or not isinstance(target, ast.Tuple) or node not in call.args:
        return None
    place = {"builtins.zip": call.args.index(node), "builtins.enumerate": 1}
    side = place.get(ctx.callee(call).name, len(target.elts))
    return target.elts[side] if side < len(target.elts) else None


def _stores(name: str, ctx: Context) -> int:
    return sum(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        for node in own(ctx.function)
    )
