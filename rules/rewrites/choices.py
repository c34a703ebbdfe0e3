"""Conditional expressions, `and`/`or`/`not` and comparison chains on tensors, outside of tests.

Declined: values that are no tensors or numbers; operands with side effects behind the first;
`x or default` where `x` may be more than one element of a dtype that isn't known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..base.context import Context
from ..base.facts import Sequence, Tensor, options
from ..base.finding import Fix
from ..base.reading import tensor_of
from ..base.rewriting import Code, Declined
from .arms import Unalike, alike, heavy, pairs
from .branches import alternatives
from .cond import cond_call
from .guarded import Guard
from .layout import flat, operand, parsed, receiver, statement, tidy
from .predicates import Test, tensor_test
from .shortcuts import one_value
from .where import pick


def ternary_fixes(node: ast.IfExp, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield the rewrites of `a if t else b` on a tensor. Raises Declined."""
    for part in ast.walk(node):
        if isinstance(part, ast.IfExp) and part is not node and ctx.truth(part.test) is not None:
            raise Declined("the conditional expression inside comes first")

    def where(fresh: Code, guarded: bool = False) -> Fix:
        test = tensor_test(node.test, ctx, fresh)
        text = _around(test, _where(node, test, ctx, fresh, guarded), node, fresh)
        title = "compute both values and pick with `torch.where`"
        if guarded:
            title += ", with operands of the value not taken made safe"
        return _expression(title, node, text, test, ctx, fresh)

    def cond(fresh: Code) -> Fix:
        test = tensor_test(node.test, ctx, fresh)
        text = _around(test, cond_call(node, test.text, ctx, fresh), node, fresh)
        title = "compute the value that is taken with `torch.cond`"
        return _expression(title, node, text, test, ctx, fresh)

    def guarded(fresh: Code) -> Fix:
        return where(fresh, guarded=True)

    costly = heavy([node.body, node.orelse], ctx)
    try:
        yield from alternatives([cond, where, guarded] if costly else [where, guarded, cond], code)
    except Unalike as why:
        yield from one_value(node, why, code)


def _where(node: ast.IfExp, test: Test, ctx: Context, code: Code, guarded: bool) -> str:
    found = code.effects([node.body, node.orelse])
    if not found.pure:
        what = next(iter((*found.unknown, *sorted(found.mutates))), "a random draw")
        raise Declined(f"`{what}` must not run in vain")
    spelled = code.spell("torch.where")
    parts = pairs(node.body, node.orelse)
    if parts is not None:
        raise Declined("the two values are containers")
    alike(ctx.fact(node.body), ctx.fact(node.orelse))
    texts = []
    used = False
    for value, taken in ((node.body, True), (node.orelse, False)):
        changes: dict[ast.AST, str] = {}
        if guarded:
            guard = Guard(test.text, taken, ctx, code, spelled)
            guard.operands(value, {}, changes)
            used = used or guard.used
        texts.append(changes.get(value) or tidy(flat(code.text(value, changes))))
    if guarded and not used:
        raise Declined("no operand has to be made safe")
    return pick(test.text, texts[0], texts[1], spelled)


def _around(test: Test, text: str, node: ast.IfExp, code: Code) -> str:
    """Return the expression with the part of the test that stays Python."""
    if not test.guard:
        return text
    if test.plain:
        return f"{text} if {test.guard} else {flat(code.text(node))}"
    untaken = flat(code.text(node.body if test.otherwise else node.orelse))
    return f"{text} if {test.guard} else {untaken}"


def combined_fixes(node: ast.BoolOp, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield `a and b` as `a & b`, and `a or b` of numbers as `torch.where`. Raises Declined."""
    tensors = [tensor_of(ctx.fact(value)) for value in node.values]
    if all(t is not None and t.dtype == "bool" for t in tensors) or _all_tests(node, ctx):
        test = tensor_test(node, ctx, code).whole()
        sign = "&" if isinstance(node.op, ast.And) else "|"
        yield _expression(f"combine with `{sign}`", node, test.text, test, ctx, code)
        return
    first, second = node.values[0], node.values[-1]
    if len(node.values) > 2 or tensor_of(ctx.fact(first)) is None:
        raise Declined("the operands aren't known to be boolean tensors")
    test = tensor_test(first, ctx, code).whole()
    found = code.effects([first, second])
    if not found.pure:
        raise Declined("an operand has effects that would run twice or in vain")
    alike(ctx.fact(first), ctx.fact(second))
    texts = [flat(code.text(value)) for value in (first, second)]
    if isinstance(node.op, ast.And):
        texts.reverse()
    text = pick(test.text, texts[0], texts[1], code.spell("torch.where"))
    yield _expression("pick with `torch.where`", node, text, test, ctx, code)


def _all_tests(node: ast.BoolOp, ctx: Context) -> bool:
    """Say whether every operand is a comparison or `not`: a truth value whatever it is of."""
    for value in node.values:
        negation = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
        fact = tensor_of(ctx.fact(value))
        if not (isinstance(value, ast.Compare) or negation or (fact and fact.dtype == "bool")):
            return False
    return True


def tested_fixes(node: ast.expr, title: str, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield an expression whose value is a truth value as a boolean tensor. Raises Declined."""
    test = tensor_test(node, ctx, code).whole()
    yield _expression(title, node, test.text, test, ctx, code)


def _expression(title: str, node: ast.expr, text: str, test: Test, ctx: Context, code: Code) -> Fix:
    """Return the fix that puts an expression in place of another one.

    Where it is the whole value of a statement, the statement is laid out anew.
    """
    stmt = ctx.statement(node)
    edits = list(test.edits)
    if test.before:
        indent = code.indent(stmt)
        if ctx.loop(node) is not None and isinstance(stmt, (ast.For, ast.While)):
            raise Declined("a name is bound inside the head of a loop")
        edits.append(code.insert(stmt, [indent + line for line in test.before]))
    prefix = _prefix(stmt, node, code)
    if prefix is not None:
        lines = statement(prefix, text, code.indent(stmt), code.width, code.step)
        return code.fix(title, [*edits, code.lines(stmt, lines)])
    new = _inside(text, node, ctx)
    whole = getattr(stmt, "value", None)
    prefix = _prefix(stmt, whole, code) if isinstance(whole, ast.expr) else None
    grown = code.indent(stmt) + flat(code.text(stmt, {node: new})) if prefix is not None else ""
    if isinstance(whole, ast.expr) and prefix is not None and len(grown) > code.width:
        value = code.text(whole, {node: new})
        lines = statement(prefix, value, code.indent(stmt), code.width, code.step)
        return code.fix(title, [*edits, code.lines(stmt, lines)])
    return code.fix(title, [*edits, code.replace(node, new)])


def _prefix(stmt: ast.stmt, node: ast.expr, code: Code) -> str | None:
    """Return what stands before the value of a statement that `node` is the value of."""
    if isinstance(stmt, ast.Return) and stmt.value is node:
        return "return "
    if isinstance(stmt, ast.Assign) and stmt.value is node:
        return "".join(f"{flat(code.text(target))} = " for target in stmt.targets)
    if isinstance(stmt, ast.AugAssign) and stmt.value is node:
        head = flat(code.text(stmt))
        return head[: head.index("=") + 1] + " "
    return None


def _inside(text: str, node: ast.expr, ctx: Context) -> str:
    """Return an expression as it must stand where another one stood."""
    parent = ctx.parent(node)
    if isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp)):
        old_call = isinstance(node, (ast.Call, ast.Name))
        return operand(text) if old_call or isinstance(parent, ast.BoolOp) else text
    if isinstance(parent, (ast.Attribute, ast.Subscript)) and parent.value is node:
        return receiver(text)
    loose = isinstance(parsed(text), (ast.IfExp, ast.Lambda))
    return f"({text})" if loose and isinstance(parent, (ast.IfExp, ast.Starred)) else text


def is_tensor(node: ast.expr, ctx: Context) -> bool:
    """Say whether an expression may be a tensor."""
    return any(isinstance(option, Tensor) for option in options(ctx.fact(node)))


def filter_fixes(node: ast.AST, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield `sum(e for v in xs if t)` as a sum of `torch.where(t, e, 0)`. Raises Declined."""
    parent = ctx.parent(node)
    if not isinstance(node, (ast.GeneratorExp, ast.ListComp)) or len(node.generators) > 1:
        raise Declined("how many elements are kept depends on data")
    if not isinstance(parent, ast.Call) or ctx.callee(parent).name != "builtins.sum":
        raise Declined("how many elements are kept depends on data")
    loop = node.generators[0]
    if len(loop.ifs) != 1 or loop.is_async:
        raise Declined("the elements are filtered twice")
    test = tensor_test(loop.ifs[0], ctx, code).whole()
    found = code.effects([node.elt])
    if not found.pure:
        raise Declined("an element has effects, which must not happen in vain")
    picked = pick(test.text, flat(code.text(node.elt)), "0", code.spell("torch.where"))
    over = f"for {flat(code.text(loop.target))} in {flat(code.text(loop.iter))}"
    text = f"{picked} {over}"
    single = isinstance(node, ast.GeneratorExp) and len(parent.args) == 1
    ends = ("", "") if single and not code.text(node).startswith("(") else ("(", ")")
    ends = ("[", "]") if isinstance(node, ast.ListComp) else ends
    yield code.fix("add zero instead of filtering", [code.replace(node, ends[0] + text + ends[1])])


def sorted_fixes(node: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield `sorted(…)` of tensors as a sort of one tensor. Raises Declined."""
    keywords = {k.arg: k.value for k in node.keywords}
    backwards = keywords.pop("reverse", None)
    if ctx.callee(node).name != "builtins.sorted" or keywords:
        raise Declined("what is ordered by tensors are Python objects")
    if backwards is not None and not isinstance(backwards, ast.Constant):
        raise Declined("the direction isn't written here")
    items = flat(code.text(node.args[0]))
    known = [o for o in options(ctx.fact(node.args[0])) if isinstance(o, Sequence)]
    if not is_tensor(node.args[0], ctx):
        if not known or not known[0].items:
            raise Declined("how many tensors are ordered isn't known")
        items = f"{code.spell('torch.stack')}({items})"
    down = isinstance(backwards, ast.Constant) and bool(backwards.value)
    text = f"list({receiver(items)}.sort({'descending=True' if down else ''}).values)"
    yield code.fix("sort as one tensor", [code.replace(node, text)])
