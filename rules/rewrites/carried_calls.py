"""`torch.while_loop` calls whose carries don't fit, mended.

What is handed on as it came, or carried beside a captured alias, is cloned; numbers are carried as
tensors; a condition that gives a number is compared with zero.

Such code raises as it stands (or fails in training), so what is proved is that it runs.

Declined: carries that grow, change their number, dtype or rank; conditions that are always true or
have several elements; counters that Python needs to know (slices, `range`).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..base.context import Context
from ..base.facts import Const, Fact
from ..base.finding import Fix
from ..base.reading import tensor_of
from ..base.rewriting import Code, Declined
from ..base.scopes import own
from .layout import flat, operand, receiver


def copies_fix(parts: Sequence[ast.expr], code: Code) -> Fix:
    """Return the fix that clones values which share memory with something else."""
    edits = [code.replace(part, receiver(flat(code.text(part))) + ".clone()") for part in parts]
    return code.fix("carry a clone", edits)


def numbers_fix(given: Sequence[ast.expr], functions: Sequence[ast.AST], code: Code) -> Fix:
    """Return the fix that carries Python numbers as tensors.

    given      the expressions of the numbers among the carried values
    functions  the condition and the body
    """
    for function in functions:
        for node in own(function):
            if isinstance(node, ast.Slice) and any(isinstance(n, ast.Name) for n in ast.walk(node)):
                raise Declined("a slice inside may need the number in Python")
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("range", "int", "str"):
                raise Declined(f"`{ast.unparse(node)}` may need the number in Python")
    made = code.spell("torch.tensor")
    edits = [code.replace(part, f"{made}({flat(code.text(part))})") for part in given]
    return code.fix("carry a tensor instead of a number", edits)


def predicate_fix(values: Sequence[ast.expr], fact: Fact, ctx: Context, code: Code) -> Fix:
    """Return the fix that makes what a condition returns one bool."""
    tensor = tensor_of(fact)
    if tensor is None or isinstance(fact, Const):
        raise Declined("a condition that is always true has no end")
    if tensor.rank:
        raise Declined("which of several elements decides isn't known")
    edits = []
    for value in values:
        text = operand(flat(code.text(value)))
        edits.append(code.replace(value, f"{text} != 0"))
    if not edits:
        raise Declined("where the condition is computed isn't known")
    return code.fix("compare with zero, as `while` would", edits)
