"""Functions given to `torch.cond`, `scan` or `map`, mended so that the operator takes them.

What is handed on as it came is cloned; the arm that casts, or gives a number, gives the dtype of
its operand as the other one does; a tensor operand that is written in place is copied first; a
counter that an arm of `cond` steps is stepped beside the operator, by `torch.where`.

Such code raises as it stands, in eager mode too: what is proved is that it runs, and does what the
arms say.

Declined: functions of another file, writes to lists, dicts and globals, writes whose value the arm
computes, and results that differ in layout or number of dimensions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ..base.context import Context
from ..base.facts import Const
from ..base.finding import Edit, Fix
from ..base.rewriting import Code, Declined
from ..base.scopes import dotted, own
from .layout import SIGNS, flat, receiver, statement


def clone_fix(values: Sequence[ast.expr], modules: Sequence[ast.expr], code: Code) -> Fix:
    """Return the fix that clones what functions hand on.

    values   expressions that functions return and that share storage
    modules  arguments that are nn.Identity, which hands its operand on by itself
    """
    if not values and not modules:
        raise Declined("where the shared tensor is returned isn't known")
    edits = [code.replace(value, receiver(flat(code.text(value))) + ".clone()") for value in values]
    edits += [code.replace(module, "lambda x: x.clone()") for module in modules]
    return code.fix("return a clone instead of the operand itself", edits)


def cast_fix(value: ast.expr, operand: str, ctx: Context, code: Code) -> Fix:
    """Return the fix that gives one arm's result the dtype of an operand."""
    text = flat(code.text(value))
    fact = ctx.fact(value)
    number = isinstance(value, ast.Constant) or (isinstance(fact, Const) and fact.value is not None)
    if number:
        edit = code.replace(value, f"{operand}.new_tensor({text})")
        return code.fix(f"return a tensor like `{operand}` instead of a number", [edit])
    edit = code.replace(value, f"{receiver(text)}.to({operand}.dtype)")
    return code.fix(f"cast the result to the dtype of `{operand}`, as the other arm's", [edit])


def copy_fix(function: ast.AST, operand: str, code: Code) -> Fix:
    """Return the fix that copies an operand before a function writes to it."""
    if not isinstance(function, ast.FunctionDef):
        raise Declined("a lambda can't copy its operand first")
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        if len(function.body) == 1:
            raise Declined("the function has no statements")
        first = function.body[1]
    line = f"{code.indent(first)}{operand} = {operand}.clone()"
    return code.fix("write to a copy of the operand", [code.insert(first, [line])])


def step_fix(
    call: ast.Call,
    function: ast.AST,
    writes: Sequence[ast.stmt],
    taken: bool,
    ctx: Context,
    code: Code,
) -> Fix:
    """Return the fix that writes attributes beside a `cond` instead of inside one of its arms.

    `taken` says whether the arm runs where the predicate holds.
    """
    predicate = ctx.argument(call, 0, "pred")
    if predicate is None or not isinstance(function, ast.FunctionDef):
        raise Declined("the arm can't be split")
    if len(function.body) <= len(writes) or any(s not in function.body for s in writes):
        raise Declined("the write stands in a branch or loop of the arm")
    local = {node.id for node in own(function) if isinstance(node, ast.Name) and _stores(node)} | {
        a.arg for a in function.args.args
    }
    stmt = ctx.statement(call)
    indent, where = code.indent(stmt), code.spell("torch.where")
    text = flat(code.text(predicate))
    edits: list[Edit] = []
    lines: list[str] = []
    if not isinstance(predicate, ast.Name):
        name = code.fresh("pred")
        lines += statement(f"{name} = ", text, indent, code.width, code.step)
        edits.append(code.replace(predicate, name))
        text = name
    for write in writes:
        target, value = _stepped(write, code)
        if _names(write) & local:
            raise Declined(f"what is written to `{target}` is computed in the arm")
        if any(dotted(n) == target for s in function.body if s not in writes for n in ast.walk(s)):
            raise Declined(f"the arm reads `{target}`, too")
        pair = f"{value}, {target}" if taken else f"{target}, {value}"
        picked = f"{where}({text}, {pair})"
        lines += statement(f"{target} = ", picked, indent, code.width, code.step)
        edits.append(code.lines(write, []))
    edits.append(code.insert(stmt, lines))
    return code.fix("write the attribute beside `torch.cond`, by `torch.where`", edits)


def _stepped(write: ast.stmt, code: Code) -> tuple[str, str]:
    """Return the target of a write, and the text of its new value."""
    if isinstance(write, ast.AugAssign):
        target, value = dotted(write.target), flat(code.text(write.value))
        loose = not isinstance(write.value, (ast.Constant, ast.Name, ast.Attribute, ast.Call))
        sign = SIGNS[type(write.op)]
        new = f"{target} {sign} {f'({value})' if loose else value}"
    elif isinstance(write, ast.Assign) and len(write.targets) == 1:
        target, new = dotted(write.targets[0]), flat(code.text(write.value))
    else:
        raise Declined("only plain assignments can be moved out of the arm")
    if "." not in target:
        raise Declined("only attributes can be written beside the operator")
    return target, new


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _stores(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def same_file(paths: Iterable[str], ctx: Context) -> None:
    """Decline functions that another file defines."""
    if any(path != ctx.path for path in paths):
        raise Declined("the function stands in another file")
