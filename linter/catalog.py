"""All rules by code, with the two that speak of suppression comments; choosing among them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache

from ..rules.base.finding import Severity
from ..rules.base.rule import Example, all_rules, severity_of
from ..rules.base.valueclass import valueclass


@valueclass
class RuleInfo:
    """What reports and `compile-lint rule` say of a rule. `docs` is Markdown."""

    code: str
    name: str
    summary: str
    severity: Severity
    breaks: tuple[str, ...]
    graph_breaks: tuple[str, ...]
    docs: str
    examples: tuple[Example, ...] = ()


UNUSED = RuleInfo(
    "CL001",
    "unused-ignore",
    "A suppression comment that hides nothing",
    Severity.WARNING,
    (),
    (),
    """A `# compile-lint: ignore` comment that no finding needs.

## What it does
Reports suppression comments, or single codes of them, that hide no finding.

## Why it matters
A comment that hides nothing says something untrue about the code, and would hide the next
finding that appears there.

## Example
```python
y = x + 1  # compile-lint: ignore[CL101]
```

## Fix
Remove the comment, or the codes that the message names.

## When it is safe
Always: removing the comment changes no behaviour.
""",
)
INVALID = RuleInfo(
    "CL002",
    "invalid-ignore",
    "A suppression comment that can't be understood",
    Severity.WARNING,
    (),
    (),
    """A `# compile-lint:` comment that can't be understood, or names a rule that doesn't exist.

## What it does
Reports comments that start with `compile-lint:` and aren't of the form
`# compile-lint: ignore[CODE, …] reason` or `# compile-lint: ignore-file[CODE, …] reason`.

## Why it matters
Such a comment hides nothing, though whoever wrote it believes that it does.

## Example
```python
if x.sum() > 0:  # compile-lint: ignore(CL101)
    ...
```

## Fix
Correct the comment: `# compile-lint: ignore[CL101] reason`.

## When it is safe
Always: comments change no behaviour.
""",
)
META = (UNUSED, INVALID)


class UnknownRule(Exception):
    """No rule, prefix or name matches; the message suggests a near one."""


@cache
def catalog() -> dict[str, RuleInfo]:
    """Return every rule by code, sorted."""
    found = {info.code: info for info in META}
    for rule in all_rules():
        found[rule.code] = RuleInfo(
            rule.code,
            rule.name,
            rule.summary,
            rule.severity or severity_of(rule.breaks),
            tuple(mode.value for mode in rule.breaks),
            rule.graph_breaks,
            inspect.cleandoc(type(rule).__doc__ or ""),
            rule.examples,
        )
    return dict(sorted(found.items()))


@cache
def codes_of(selector: str) -> frozenset[str]:
    """Return the codes that a code, prefix, rule name or "ALL" stands for.

    Raises UnknownRule when there are none.
    """
    rules = catalog()
    if selector == "ALL":
        return frozenset(rules)
    found = frozenset(
        code
        for code, info in rules.items()
        if selector and (code.startswith(selector) or info.name == selector)
    )
    if not found:
        known = [*rules, *(info.name for info in rules.values())]
        near = get_close_matches(selector, known, 1) or get_close_matches(
            selector.upper(), known, 1
        )
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UnknownRule(f"unknown rule {selector!r}{hint}")
    return found


@valueclass
class Selection:
    """Which codes are reported: the most specific of `select` and `ignore` decides; ties ignore."""

    select: tuple[str, ...]
    ignore: tuple[str, ...]

    @property
    def everything(self) -> bool:
        """Whether no rule is left out, without looking at the rules."""
        return "ALL" in self.select and not self.ignore

    def codes(self) -> frozenset[str]:
        """Return the selected codes. Raises UnknownRule."""
        chosen, dropped = _specificity(self.select), _specificity(self.ignore)
        return frozenset(code for code, rank in chosen.items() if rank > dropped.get(code, -1))


def _specificity(selectors: Iterable[str]) -> dict[str, int]:
    ranks: dict[str, int] = {}
    for selector in selectors:
        codes = codes_of(selector)
        for code in codes:
            by_name = selector != "ALL" and not code.startswith(selector)
            rank = 0 if selector == "ALL" else len(code) if by_name else len(selector)
            ranks[code] = max(rank, ranks.get(code, -1))
    return ranks
