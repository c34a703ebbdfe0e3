"""A helper that answers in Python, asked in a test of captured code → one that gives the tensor.

`if crowded(x):` with `def crowded(x): … return bool(t)` reads a tensor inside the helper. The
answer is computed by a twin that returns `t`, which the helper calls, and the test asks the twin:
everybody else gets the Python value as before, and the test is one that branches are rewritten by.
A private helper that only tests ask is changed itself.

Declined (the test is left as it is): helpers with decorators or several returns, methods, answers
that are compared with more than numbers or used for more than a test.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..base import Code, Context, Declined, Edit, Fix, FromTensor
from .hoist import CLAIM
from .layout import receiver

_READS = frozenset({"builtins.bool", "builtins.float", "builtins.int"})


def twin_asked(test: ast.expr, ctx: Context, code: Code) -> Fix | None:
    """Return the fix that lets a test ask for a tensor; None where it asks no such helper."""
    for call in ast.walk(test):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            fact = ctx.fact(call)
            if isinstance(fact, FromTensor) and fact.how == "item":
                helper = _helper(call, ctx, code)
                if helper is not None and _tested(call, test, helper, ctx):
                    try:
                        return _fix(call, helper, ctx, code)
                    except Declined:
                        return None
    return None


def _helper(call: ast.Call, ctx: Context, code: Code) -> ast.FunctionDef | None:
    """Return the function of this module that a call runs, if it ends by reading a tensor."""
    project = ctx.callee(call).project
    node = getattr(project, "node", None)
    if not isinstance(node, ast.FunctionDef) or node not in code.module.body:
        return None
    returns = [part for part in ast.walk(node) if isinstance(part, (ast.Return, ast.Yield))]
    plain = not node.decorator_list and not node.args.vararg and not node.args.kwarg
    if not plain or returns != [node.body[-1]] or _read(node) is None:
        return None
    return node


def _read(helper: ast.FunctionDef) -> tuple[ast.Call, ast.expr, str] | None:
    """Return the last statement's `bool(t)` or `t.item()`, the tensor, and which of them it is.

    Also `t.item() > 0.5`, which is of the kind "test".
    """
    last = helper.body[-1]
    value = last.value if isinstance(last, ast.Return) else None
    if isinstance(value, ast.Compare) and len(value.ops) == 1:
        sides = value.left, value.comparators[0]
        read = [found for side in sides if (found := _reading(side)) is not None]
        number = any(isinstance(side, ast.Constant) for side in sides)
        if len(read) == 1 and number and read[0][2] != "int":
            return read[0][0], read[0][1], "test"
    return _reading(value)


def _reading(call: ast.expr | None) -> tuple[ast.Call, ast.expr, str] | None:
    if not isinstance(call, ast.Call) or call.keywords:
        return None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "item" and not call.args:
        return call, call.func.value, "item"
    if isinstance(call.func, ast.Name) and f"builtins.{call.func.id}" in _READS:
        return (call, call.args[0], call.func.id) if len(call.args) == 1 else None
    return None


def _tested(call: ast.Call, test: ast.expr, helper: ast.FunctionDef, ctx: Context) -> bool:
    """Say whether a test, and nothing else, has the answer: by itself or beside a number."""
    read = _read(helper)
    node: ast.AST = call
    parent = ctx.parent(node)
    if isinstance(parent, ast.Compare) and node is not test:
        others = [part for part in (parent.left, *parent.comparators) if part is not node]
        if not all(isinstance(part, ast.Constant) for part in others) or len(parent.ops) > 1:
            return False
        if read is None or read[2] in ("int", "test"):
            return False  # it cuts off what a comparison would see, or is one
        node, parent = parent, ctx.parent(parent)
    while node is not test and isinstance(parent, (ast.BoolOp, ast.UnaryOp)):
        if isinstance(parent, ast.UnaryOp) and not isinstance(parent.op, ast.Not):
            return False
        node, parent = parent, ctx.parent(parent)
    return node is test


def _fix(call: ast.Call, helper: ast.FunctionDef, ctx: Context, code: Code) -> Fix:
    read = _read(helper)
    assert read is not None
    reading, tensor, kind = read
    private = helper.name.startswith("_") and _only_tests(helper.name, code)
    changes: dict[ast.AST, str] = {reading: code.text(tensor)}
    title = f"let the test have the tensor that `{helper.name}` reads"
    if private:
        return code.fix(title, [code.replace(reading, changes[reading])])
    twin = code.fresh(f"{helper.name}_tensor")
    lines = code.block([helper], "", changes)
    head = re.compile(rf"^def {re.escape(helper.name)}\b")
    place = next((i for i, line in enumerate(lines) if head.match(line)), None)
    if place is None:
        raise Declined("the helper's name isn't in sight")
    lines = [head.sub(f"def {twin}", lines[place]), *lines[place + 1 :]]
    asked = f"{twin}({', '.join(_passed(helper.args))})"
    answer = code.text(reading, {tensor: receiver(asked) if kind == "item" else asked})
    answer = f"bool({asked})" if kind == "test" else answer
    first, *_ = body = _without_doc(helper.body)
    indent = code.indent(first)
    edits: list[Edit] = [
        CLAIM,
        code.insert(helper, [*lines, "", ""], above=True),
        code.lines(first, [f"{indent}return {answer}"], body[-1]),
        code.replace(call.func, twin),
    ]
    return code.fix(title, edits)


def _only_tests(name: str, code: Code) -> bool:
    """Say whether a name of the module is only called, in tests."""
    tests = [part.test for part in ast.walk(code.module) if isinstance(part, (ast.If, ast.While))]
    called = [
        part.func
        for test in tests
        for part in ast.walk(test)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == name
    ]
    mentions = [p for p in ast.walk(code.module) if isinstance(p, ast.Name) and p.id == name]
    return len(called) == len(mentions)


def _without_doc(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if doc and len(body) > 1 else body


def _passed(arguments: ast.arguments) -> Iterator[str]:
    yield from (arg.arg for arg in (*arguments.posonlyargs, *arguments.args))
    yield from (f"{arg.arg}={arg.arg}" for arg in arguments.kwonlyargs)


__all__ = ["twin_asked"]
