"""Glob patterns of the configuration: exclusions and per-file ignores."""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=1024)
def glob_regex(pattern: str) -> re.Pattern[str]:
    """Return a regex for a whole posix path. `*` stays within a folder, `**` crosses folders."""
    result, i = "", 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            result += "(?:.*/)?"
            i += 3
        elif pattern.startswith("**", i):
            result += ".*"
            i += 2
        elif pattern[i] == "*":
            result += "[^/]*"
            i += 1
        elif pattern[i] == "?":
            result += "[^/]"
            i += 1
        elif pattern[i] == "[" and (end := pattern.find("]", i + 2)) > 0:
            body = pattern[i + 1 : end].replace("\\", "\\\\")
            result += "[" + ("^" + body[1:] if body[0] == "!" else body) + "]"
            i = end + 1
        else:
            result += re.escape(pattern[i])
            i += 1
    try:
        return re.compile(result, re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern))


class Patterns:
    """A set of patterns, made quick for the many paths that a walk asks about.

    As in ruff: a pattern without a slash is for names at any depth, one with a slash for the path
    from the root of the configuration.
    """

    def __init__(self, patterns: tuple[str, ...]) -> None:
        plain = [pattern.removeprefix("./").rstrip("/") for pattern in patterns]
        names = [pattern for pattern in plain if "/" not in pattern]
        self._literal = frozenset(name for name in names if not set(name) & set("*?["))
        self._names = [glob_regex(name) for name in names if name not in self._literal]
        self._paths = [glob_regex(item.lstrip("/")) for item in plain if "/" in item]

    def cover(self, relative: str, name: str) -> bool:
        """Say whether one of the patterns covers a file or folder itself.

        relative  posix path from the root (an absolute one for places outside)
        name      last part of the path
        """
        if name in self._literal or any(regex.fullmatch(name) for regex in self._names):
            return True
        return any(regex.fullmatch(relative.lstrip("/")) for regex in self._paths)

    def cover_below(self, relative: str) -> bool:
        """Say whether one of the patterns covers a file or a folder that it lies in."""
        while relative:
            parent, _, name = relative.rpartition("/")
            if self.cover(relative, name):
                return True
            relative = parent
        return False


@lru_cache(maxsize=1024)
def compile_patterns(patterns: tuple[str, ...]) -> Patterns:
    """Return the compiled form of patterns, one object for equal ones."""
    return Patterns(patterns)
