"""`if t: raise` and assert → checks that stay in the graph.

`torch._assert_async(ok, "…")` checks a tensor on the device; what it raises is a RuntimeError, and
on a GPU it comes late, which the title says. A size or number that depends on data is checked with
`torch._check`. `assert` with a constant message is captured as it is: there only the test and the
message are put right, and it goes on raising AssertionError in eager code.

Declined: checks whose exception the function itself catches; messages with no constant part are
replaced by the test's source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..base.context import Context
from ..base.facts import Const, FromTensor, options
from ..base.finding import Edit, Fix
from ..base.reading import shown
from ..base.rewriting import Code, Declined
from .layout import flat, statement
from .predicates import Test, tensor_test
from .truths import negated

_TAIL = re.compile(
    r"(?:[\s,;:(\[=\"'`]|\b(?:got|but|was|is|found|received|given|at|of|are|by|in|value|values)\b)+$",
    re.I,
)


def raise_fixes(stmt: ast.If, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield an `if` that only raises as a check. Raises Declined."""
    _uncaught(stmt, ctx)
    failing, kept = (stmt.body, stmt.orelse) if _raises(stmt.body) else (stmt.orelse, stmt.body)
    bad = failing is stmt.body
    if len(failing) > 1 and not code.effects(failing[:-1]).pure:
        raise Declined("something happens before the raise")
    end = failing[-1]
    assert isinstance(end, ast.Raise)
    name, message = _raised(end, failing, stmt.test, ctx)
    indent = code.indent(stmt)
    elif_ = code.text(stmt).startswith("elif")
    inner = indent + code.step if elif_ else indent
    size = _of_size(stmt.test, ctx)
    if size:
        lines, function = _checked(stmt.test, bad, message, inner, code), "torch._check"
        edits: Sequence[Edit] = ()
    else:
        test = tensor_test(stmt.test, ctx, code)
        number = test.plain if bad else ""  # for a Python number the test stays as it is
        lines = _asserted(replace(test, plain="") if number else test, bad, message, inner, code)
        if number:
            lines += [f"{inner}elif {number}:", *code.block(stmt.body, inner + code.step)]
        function, edits = "torch._assert_async", test.edits
    lines += code.block(kept, inner) if kept else []
    if elif_:
        lines.insert(0, indent + "else:")
    was = f"RuntimeError, not {name}" if name != "RuntimeError" else "RuntimeError"
    title = f"check in the graph with `{function}` (raises {was})"
    yield code.fix(title, [code.lines(stmt, lines), *edits])


def _asserted(test: Test, bad: bool, message: str, indent: str, code: Code) -> list[str]:
    """Return the check of a tensor; where the guard doesn't hold, the outcome is known."""
    lines = [indent + line for line in test.before]
    fails_unguarded = test.otherwise == bad
    if test.guard and (fails_unguarded or test.plain):
        test = test.whole()
    inner = indent + code.step if test.guard else indent
    holds = negated_test(test.text) if bad else test.text
    call = f"{code.spell('torch._assert_async')}({holds}, {_quoted(message)})"
    if test.guard:
        lines.append(f"{indent}if {test.guard}:")
    return [*lines, *statement("", call, inner, code.width, code.step)]


def negated_test(text: str) -> str:
    """Return a boolean tensor expression negated, `a != b` for `a == b`."""
    node = ast.parse(text, mode="eval").body
    return negated(text, node)


def _checked(test: ast.expr, bad: bool, message: str, indent: str, code: Code) -> list[str]:
    text = flat(code.text(test))
    flipped = {
        ast.Eq: "!=",
        ast.NotEq: "==",
        ast.Lt: ">=",
        ast.LtE: ">",
        ast.Gt: "<=",
        ast.GtE: "<",
    }
    if bad:
        ops = test.ops if isinstance(test, ast.Compare) else []
        if isinstance(test, ast.Compare) and len(ops) == 1 and type(ops[0]) in flipped:
            sides = (test.left, test.comparators[0])
            left, right = (flat(code.text(side)) for side in sides)
            text = f"{left} {flipped[type(ops[0])]} {right}"
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            text = flat(code.text(test.operand))
        else:
            text = f"not {text}" if isinstance(test, (ast.Call, ast.Name)) else f"not ({text})"
    call = f"{code.spell('torch._check')}({text}, lambda: {_quoted(message)})"
    return statement("", call, indent, code.width, code.step)


def assert_fixes(stmt: ast.Assert, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield an assert that Dynamo can't capture as one that it can. Raises Declined."""
    _uncaught(stmt, ctx)
    test = tensor_test(stmt.test, ctx, code)
    indent = code.indent(stmt)
    lines = [indent + line for line in test.before]
    message = ""
    if stmt.msg is not None:
        constant = isinstance(stmt.msg, ast.Constant) and isinstance(stmt.msg.value, str)
        message = (
            flat(code.text(stmt.msg)) if constant else _quoted(_message(stmt.msg, stmt.test, ctx))
        )
    if test.guard and (test.plain or not test.otherwise):
        test = test.whole()
    inner = indent
    if test.guard:
        lines.append(f"{indent}if {test.guard}:")
        inner = indent + code.step
    tail = f", {message}" if message else ""
    line = f"{inner}assert {test.text}{tail}"
    if len(line) > code.width:
        text = test.text
        line = (
            f"{inner}assert {text}, (\n{inner}{code.step}{message}\n{inner})" if message else line
        )
    lines += line.split("\n")
    title = "assert one plain tensor test with a constant message"
    yield code.fix(title, [code.lines(stmt, lines), *test.edits])


def assert_call_fixes(node: ast.Call, ctx: Context, code: Code) -> Iterator[Fix]:
    """Yield `torch._assert(t, message)` as `torch._assert_async`. Raises Declined."""
    _uncaught(ctx.statement(node), ctx)
    condition, message = ctx.argument(node, 0, "condition"), ctx.argument(node, 1, "message")
    if condition is None:
        raise Declined("what is asserted isn't known")
    test = tensor_test(condition, ctx, code).whole()
    text = _quoted(_message(message, condition, ctx))
    call = f"{code.spell('torch._assert_async')}({test.text}, {text})"
    title = (
        "check in the graph with `torch._assert_async` (raises RuntimeError, not AssertionError)"
    )
    stmt = ctx.statement(node)
    if isinstance(stmt, ast.Expr) and stmt.value is node:
        lines = statement("", call, code.indent(stmt), code.width, code.step)
        yield code.fix(title, [code.lines(stmt, lines), *test.edits])
    else:
        yield code.fix(title, [code.replace(node, call), *test.edits])


def _raises(block: list[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Raise)


def _uncaught(stmt: ast.stmt, ctx: Context) -> None:
    child: ast.AST = stmt
    for parent in ctx.ancestors(stmt):
        if isinstance(parent, ast.Try) and parent.handlers and child in parent.body:
            raise Declined("the function catches what is raised")
        if isinstance(parent, ast.With):
            names = [getattr(i.context_expr, "func", None) for i in parent.items]
            if any(shown(n).endswith(("raises", "suppress")) for n in names if n is not None):
                raise Declined("the function catches what is raised")
        child = parent


def _of_size(test: ast.expr, ctx: Context) -> bool:
    """Say whether a test asks sizes that depend on data, and no tensor."""
    facts = [o for n in ast.walk(test) if isinstance(n, ast.expr) for o in options(ctx.fact(n))]
    return any(isinstance(f, FromTensor) and f.how == "size" for f in facts) and not any(
        isinstance(f, FromTensor) and f.how == "item" for f in facts
    )


def _raised(
    stmt: ast.Raise, block: Sequence[ast.stmt], test: ast.expr, ctx: Context
) -> tuple[str, str]:
    """Return the name of what is raised, and a constant message."""
    error = stmt.exc
    if error is None:
        raise Declined("the exception is one that was caught before")
    if isinstance(error, ast.Call):
        given = error.args[0] if error.args else None
        for earlier in block if isinstance(given, ast.Name) else ():
            plain = isinstance(earlier, ast.Assign) and len(earlier.targets) == 1
            if plain and shown(earlier.targets[0]) == given.id:  # type: ignore[attr-defined]
                given = earlier.value  # type: ignore[attr-defined]
                break
        return shown(error.func), _message(given, test, ctx)
    return shown(error), _message(None, test, ctx)


def _message(node: ast.expr | None, test: ast.expr, ctx: Context) -> str:
    """Return the constant part of a message, up to the first value that isn't known."""
    text, _ = _constant(node, ctx) if node is not None else ("", True)
    return text or f"check failed: {shown(test)}"


def _constant(node: ast.expr, ctx: Context) -> tuple[str, bool]:
    """Return the constant head of a string expression, and whether it is all of it."""
    if isinstance(node, ast.JoinedStr):
        return _formatted(node, ctx)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        left, whole = _constant(node.left, ctx)
        if isinstance(node.op, ast.Mod):
            return _TAIL.sub("", left.partition("%")[0]), False
        right, all_ = _constant(node.right, ctx) if whole else ("", False)
        return (left + right, True) if all_ else (_TAIL.sub("", left + right), False)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "format":
            return _TAIL.sub("", _constant(node.func.value, ctx)[0].partition("{")[0]), False
    fact = ctx.fact(node)
    if isinstance(node, ast.Constant):
        return str(node.value), True
    if isinstance(fact, Const) and isinstance(fact.value, (str, int, float)):
        return str(fact.value), True
    return "", False


def _formatted(node: ast.JoinedStr, ctx: Context) -> tuple[str, bool]:
    """Return an f-string as a constant: names stand for values, those at its end are cut off."""
    text, certain = "", ""
    whole = True
    for part in node.values:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        piece, known = _constant(inner, ctx)
        if not known:
            whole = False
            text += shown(inner, 40)
            continue
        text += piece
        if re.search(r"\w{2}", _TAIL.sub("", piece)):
            certain = text
    return (text, True) if whole else (_TAIL.sub("", certain), False)


def _quoted(text: str) -> str:
    body = text.replace("\\", "\\\\").replace("\n", "\\n")
    if '"' in body and "'" not in body:
        return f"'{body}'"
    return '"' + body.replace('"', '\\"') + '"'
