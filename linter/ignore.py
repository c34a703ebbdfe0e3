"""Which paths `.gitignore` files exclude, with git's own rules for nesting and negation."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable


class GitIgnore:
    """The ignore files that hold in one folder: its own, and those above up to the repository."""

    def __init__(self, base: str, lines: Iterable[str], parent: GitIgnore | None) -> None:
        from pathspec import GitIgnoreSpec

        self._prefix = len(base.rstrip("/\\")) + 1
        self._parent = parent
        self._spec = GitIgnoreSpec.from_lines(lines)
        # Most paths match no pattern at all: one joint regex tells so at a fraction of the time.
        found = [p.regex.pattern for p in self._spec.patterns if p.regex is not None]
        self._any = _joint(found)

    def ignores(self, path: str, folder: bool) -> bool:
        """Say whether an absolute path is ignored; the innermost file that speaks of it decides."""
        relative = path[self._prefix :].replace(os.sep, "/") + ("/" if folder else "")
        if self._any is None or self._any.match(relative):
            verdict = self._spec.check_file(relative).include
            if verdict is not None:
                return verdict
        return self._parent.ignores(path, folder) if self._parent is not None else False


def _joint(patterns: list[str]) -> re.Pattern[str] | None:
    # Named groups can't occur twice in one regex.
    plain = [re.sub(r"\(\?P<\w+>", "(?:", pattern) for pattern in patterns]
    try:
        return re.compile("|".join(f"(?:{pattern})" for pattern in plain))
    except re.error:
        return None


def enter(folder: str, parent: GitIgnore | None) -> GitIgnore | None:
    """Return the ignore rules inside a folder, given those of the folder above."""
    try:
        with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:  # as git does: what can't be read ignores nothing
        return parent
    return GitIgnore(folder, lines, parent) if any(map(str.strip, lines)) else parent


def above(folder: str) -> GitIgnore | None:
    """Return the rules that hold in an absolute folder from the files above it and its own."""
    chain = [folder]
    while not os.path.lexists(os.path.join(chain[-1], ".git")):
        parent = os.path.dirname(chain[-1])
        if parent == chain[-1]:
            return enter(folder, None)  # no repository: only what lies inside the tree counts
        chain.append(parent)
    rules: GitIgnore | None = None
    exclude = os.path.join(chain[-1], ".git", "info", "exclude")
    if os.path.isfile(exclude):
        with open(exclude, encoding="utf-8", errors="replace") as file:
            rules = GitIgnore(chain[-1], file.read().splitlines(), None)
    for place in reversed(chain):
        rules = enter(place, rules)
    return rules
