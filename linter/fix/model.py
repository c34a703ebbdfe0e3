"""The values between choosing, proving, writing and telling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...rules.base.finding import Finding, Fix, Safety
from ..discover import Target
from ..model import SourceFile
from ..prove.model import Verdict

Key = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rewrite of every finding is taken.

    A finding is known by its code, its function, its text and how many like it came before: that
    stays the same while other places are rewritten.

    level  the alternative taken, 0 for the first; the last one where there are fewer
    levels those of single findings, -1 for none
    worst  the least safe kind of fix that is taken
    settings  whether settings of the whole process may be turned on
    only   the findings that are rewritten at all, None for every one
    """

    level: int = 0
    levels: Mapping[Key, int] = field(default_factory=dict)
    worst: Safety = Safety.NEEDS_PROOF
    settings: bool = True
    only: frozenset[Key] | None = None

    def of(self, key: Key, fixes: tuple[Fix, ...]) -> Fix | None:
        """Return the fix taken for a finding, None to leave it."""
        if self.only is not None and key not in self.only:
            return None
        allowed = [
            fix
            for fix in fixes
            if _RANK[fix.safety] <= _RANK[self.worst] and (self.settings or not fix.setting)
        ]
        level = self.levels.get(key, self.level)
        if not allowed or level < 0:
            return None
        return allowed[min(level, len(allowed) - 1)]


_RANK = {Safety.SAFE: 0, Safety.NEEDS_PROOF: 1, Safety.UNSAFE: 2}


@dataclass(frozen=True, slots=True)
class Change:
    """A rewrite that was made.

    round  when its finding showed up, which its lines are of
    ways   how many alternatives there were when it was made
    """

    key: Key
    finding: Finding
    fix: Fix
    round: int
    ways: int = 1


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text in which fixes were applied until nothing more was found to do.

    withdrawn  fixes that broke the text or made new findings, with what went wrong: our bugs
    left       findings that remain in the text
    """

    text: str
    changes: tuple[Change, ...] = ()
    withdrawn: tuple[tuple[Change, str], ...] = ()
    left: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A change and what became of it. `verdict` is None where nothing was compiled."""

    change: Change
    applied: bool
    verdict: Verdict | None = None
    reason: str = ""

    @property
    def proved(self) -> bool:
        """Whether the change was compiled and compared, and everything held."""
        return self.verdict is not None and self.verdict.held


@dataclass(frozen=True, slots=True)
class Repair:
    """What became of one file.

    text      the new text, the old one where nothing is applied
    judged    every rewrite that was tried
    declined  findings without a rewrite
    left      findings that remain in the new text
    problems  rewrites that had to be withdrawn: bugs of compile-lint
    """

    target: Target
    source: SourceFile
    text: str
    judged: tuple[Judged, ...] = ()
    declined: tuple[Finding, ...] = ()
    left: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.text != self.source.text
