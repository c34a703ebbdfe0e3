"""`match` on tensor data → `if`/`elif` with the same comparisons, which other rewrites take on.

Declined: patterns that bind names or take things apart.
"""

from __future__ import annotations

import ast

from ..base.context import Context
from ..base.finding import Fix, Safety
from ..base.rewriting import Code, Declined
from .layout import flat


def match_fix(stmt: ast.Match, ctx: Context, code: Code) -> Fix:
    """Return the fix that writes a `match` as a chain of `if`. Raises Declined."""
    indent = code.indent(stmt)
    subject = flat(code.text(stmt.subject))
    lines: list[str] = []
    if not isinstance(stmt.subject, (ast.Name, ast.Attribute)):
        name = code.fresh("subject")
        lines.append(f"{indent}{name} = {subject}")
        subject = name
    word = "if"
    for case in stmt.cases:
        test = _test(case.pattern, subject, code)
        if case.guard is not None:
            guard = flat(code.text(case.guard))
            loose = isinstance(case.guard, ast.BoolOp) and isinstance(case.guard.op, ast.Or)
            guard = f"({guard})" if loose and test else guard
            joined = f"({test})" if " or " in test else test
            test = f"{joined} and {guard}" if test else guard
        last = case is stmt.cases[-1]
        if not test and not last:
            raise Declined("a case behind one that takes everything")
        if test:
            lines.append(f"{indent}{word} {test}:")
        elif word == "if":
            raise Declined("there is nothing to compare")
        else:
            lines.append(f"{indent}else:")
        lines += code.block(case.body, indent + code.step)
        word = "elif"
    title = "compare in an `if` chain, as `match` does"
    return code.fix(title, [code.lines(stmt, lines)], Safety.NEEDS_PROOF)


def _test(pattern: ast.pattern, subject: str, code: Code) -> str:
    """Return what a pattern asks of the subject, "" when it takes everything."""
    if isinstance(pattern, ast.MatchValue):
        return f"{subject} == {flat(code.text(pattern.value))}"
    if isinstance(pattern, ast.MatchSingleton):
        return f"{subject} is {pattern.value}"
    if isinstance(pattern, ast.MatchOr):
        return " or ".join(_test(inner, subject, code) for inner in pattern.patterns)
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is None:
        return ""
    raise Declined("a pattern binds names or takes the value apart")
