"""Suppression comments: `# compile-lint: ignore[CL101] reason`, and what is wrong with them."""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..rules.base.finding import Certainty, Finding, Span
from ..rules.base.valueclass import valueclass
from .catalog import INVALID, UNUSED, RuleInfo, UnknownRule, codes_of

MARK = "compile-lint:"
# "ignore(CL101)", "ignore: CL101", "ignore CL101"
_BARE_CODES = re.compile(r"\s*(?:[({=:]|,?\s*[A-Z]{2,3}\d+\b)")
_META_CODES = frozenset((UNUSED.code, INVALID.code))
_DIRECTIVE = re.compile(r"#\s*compile-lint:\s*(?P<body>[^#]*)")
_BODY = re.compile(
    r"(?P<kind>ignore-file|ignore)(?![\w-])\s*(?:\[(?P<codes>[^\]]*)\])?(?P<rest>.*)", re.DOTALL
)


@valueclass
class Suppression:
    """One comment.

    line, column, end_column  the comment itself (1-based)
    covers    lines that it speaks for: its own and, when alone on its line, that of the next code
    whole_file  an `ignore-file`
    selectors   codes, prefixes or names in brackets; empty for all
    problem     why the comment means nothing, "" when it is well-formed
    """

    line: int
    column: int
    end_column: int
    covers: tuple[int, ...]
    whole_file: bool
    selectors: tuple[str, ...]
    problem: str = ""

    def encode(self) -> list[Any]:
        """Return the comment as JSON values."""
        return [
            self.line,
            self.column,
            self.end_column,
            list(self.covers),
            self.whole_file,
            list(self.selectors),
            self.problem,
        ]

    @classmethod
    def decode(cls, row: Sequence[Any]) -> Suppression:
        """Return the comment that `encode` gave."""
        line, column, end_column, covers, whole_file, selectors, problem = row
        return cls(line, column, end_column, tuple(covers), whole_file, tuple(selectors), problem)


def find_suppressions(text: str) -> tuple[Suppression, ...]:
    """Return the suppression comments of Python source, in order; strings hold none."""
    if MARK not in text:
        return ()
    comments: list[tuple[tokenize.TokenInfo, bool]] = []
    code_lines: list[int] = []
    quiet = (tokenize.NL, tokenize.COMMENT, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                if MARK in token.string:
                    alone = not token.line[: token.start[1]].strip()
                    comments.append((token, alone))
            elif token.type not in quiet and token.type != tokenize.ENDMARKER:
                code_lines.append(token.start[0])
    except (tokenize.TokenError, SyntaxError):
        pass  # the file doesn't parse, which is reported elsewhere; comments so far still count
    found = []
    for token, alone in comments:
        line = token.start[0]
        covers = (line,)
        if alone:
            following = code_lines[(at := bisect_right(code_lines, line)) : at + 1]
            covers = (line, *following)
        found += _parse(token, covers)
    return tuple(found)


def _parse(token: tokenize.TokenInfo, covers: tuple[int, ...]) -> Iterable[Suppression]:
    line = token.start[0]
    for match in _DIRECTIVE.finditer(token.string):
        column = token.start[1] + match.start() + 1
        end = token.start[1] + match.start() + len(match.group().rstrip()) + 1
        body = _BODY.match(match["body"])
        if body is None:
            word = match["body"].split()[:1]
            problem = f"{word[0]!r} isn't 'ignore' or 'ignore-file'" if word else "says nothing"
            yield Suppression(line, column, end, covers, False, (), problem)
            continue
        problem = ""
        selectors: tuple[str, ...] = ()
        if body["codes"] is not None:
            parts = (part.strip() for part in body["codes"].split(","))
            selectors = tuple(part for part in parts if part)
            if not selectors:
                problem = "the brackets name no rule"
        elif _BARE_CODES.match(body["rest"]):
            problem = "codes must stand in brackets: ignore[CL101]"
        whole = body["kind"] == "ignore-file"
        yield Suppression(line, column, end, covers, whole, selectors, problem)


def apply_suppressions(
    path: str,
    findings: Sequence[Finding],
    suppressions: Sequence[Suppression],
    selected: Callable[[str], bool],
) -> tuple[list[Finding], int]:
    """Return the findings of one file that no comment hides, and how many were hidden.

    findings  all of the file, also those of rules that aren't selected: a comment for such a rule
              isn't unused
    The result holds CL001 and CL002 findings for comments that hide nothing or mean nothing.
    """
    kept: list[Finding] = []
    used: set[tuple[int, str]] = set()
    rules = [_resolve(comment) for comment in suppressions]
    for finding in findings:
        hidden = False
        for index, (comment, by_selector) in enumerate(zip(suppressions, rules)):
            if comment.problem or not (comment.whole_file or _covers(comment, finding)):
                continue
            for selector, codes in by_selector.items():
                if codes is None or finding.code in codes:
                    used.add((index, selector))
                    hidden = True
        if not hidden:
            kept.append(finding)
    hidden_count = sum(selected(f.code) for f in findings) - sum(selected(f.code) for f in kept)
    for index, (comment, by_selector) in enumerate(zip(suppressions, rules)):
        kept += _complaints(path, index, comment, by_selector, used, selected)
    return kept, hidden_count


def _resolve(comment: Suppression) -> dict[str, frozenset[str] | None]:
    """Return the codes of every selector: None for all of them, empty for unknown ones."""
    if not comment.selectors:
        return {"": None}
    found: dict[str, frozenset[str] | None] = {}
    for selector in comment.selectors:
        try:
            found[selector] = codes_of(selector)
        except UnknownRule:
            found[selector] = frozenset()
    return found


def _covers(comment: Suppression, finding: Finding) -> bool:
    first = min(finding.statement.line, finding.span.line)
    last = max(finding.statement.end_line, finding.span.line)
    return any(first <= line <= last for line in comment.covers)


def _complaints(
    path: str,
    index: int,
    comment: Suppression,
    by_selector: dict[str, frozenset[str] | None],
    used: set[tuple[int, str]],
    selected: Callable[[str], bool],
) -> Iterable[Finding]:
    if comment.problem:
        yield _finding(INVALID, path, comment, f"this comment hides nothing: {comment.problem}")
        return
    unused = []
    for selector, codes in by_selector.items():
        if codes is not None and not codes:
            yield _finding(INVALID, path, comment, _unknown(selector))
        elif codes is not None and codes <= _META_CODES:
            continue  # whether a comment is unused can't depend on itself
        elif (index, selector) not in used and (codes is None or all(map(selected, codes))):
            unused.append(selector)
    if unused == [""]:
        yield _finding(UNUSED, path, comment, "unused ignore: nothing is reported here")
    elif unused:
        names = ", ".join(unused)
        verb = "isn't" if len(unused) == 1 else "aren't"
        yield _finding(UNUSED, path, comment, f"unused ignore: {names} {verb} reported here")


def _unknown(selector: str) -> str:
    try:
        codes_of(selector)
    except UnknownRule as error:
        return f"this comment names no rule: {error}"
    raise AssertionError(f"{selector} is a rule")


def _finding(rule: RuleInfo, path: str, comment: Suppression, message: str) -> Finding:
    span = Span(comment.line, comment.column, comment.line, comment.end_column)
    return Finding(
        rule.code,
        rule.name,
        path,
        span,
        span,
        message,
        rule.severity,
        (),
        (),
        Certainty.CERTAIN,
    )
