"""What the tests of branch rewrites share: the rewrites of a source, applied round by round."""

from __future__ import annotations

from compile_lint.linter.engine import Linter
from compile_lint.linter.fix.edits import apply_fixes, overlap
from compile_lint.linter.model import AnalysisOptions, SourceFile
from compile_lint.rules.base.finding import Finding, Fix

from .rule_fixes import of_rules


def findings(text: str) -> tuple[Finding, ...]:
    """Return the findings of a source, with their fixes."""
    source = SourceFile("module.py", text, "utf-8", False, "\n", "digest")
    return of_rules(Linter(AnalysisOptions(entry="all", fixes=True)).lint(source).findings)


def rewritten(text: str, alternative: int = 0) -> str:
    """Return a source after all rewrites, inner ones first; of each the given alternative."""
    for _ in range(10):
        chosen: list[Fix] = []
        fixes = [f.fixes[min(alternative, len(f.fixes) - 1)] for f in findings(text) if f.fixes]
        for fix in sorted(fixes, key=_height):
            if not any(overlap(fix.edits, other.edits) for other in chosen):
                chosen.append(fix)
        if not chosen:
            return text
        text = apply_fixes(text, chosen)
    raise AssertionError("the rewrites never end")


def declined(text: str) -> list[str]:
    """Return why findings without a rewrite have none."""
    return [f.declined for f in findings(text) if f.declined]


def _height(fix: Fix) -> int:
    return max(edit.span.end_line for edit in fix.edits) - min(e.span.line for e in fix.edits)
