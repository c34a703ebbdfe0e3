"""Baselines: findings that are known already, told by the text of their statement, not its line."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from .config import ConfigError
from .digest import blake2b

DEFAULT_FILE = "compile-lint-baseline.json"
_VERSION = 1
_LONGEST = 200

T = TypeVar("T")
Fingerprint = tuple[str, str, str]  # (path from the baseline's folder, code, statement)


def statement_text(lines: Sequence[str], first: int, last: int) -> str:
    """Return the text of lines `first` to `last` (1-based) in one line, long ones abridged."""
    text = " ".join(" ".join(lines[first - 1 : last]).split())
    if len(text) <= _LONGEST:
        return text
    mark = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{text[:_LONGEST]}… {mark}"


def read_baseline(path: str) -> Counter[Fingerprint]:
    """Return how often each finding is known. Raises ConfigError."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        if document["version"] != _VERSION:
            raise ConfigError(f"baseline version {document['version']!r} isn't supported", path)
        known: Counter[Fingerprint] = Counter()
        for row in document["findings"]:
            known[str(row["path"]), str(row["code"]), str(row["statement"])] += int(row["count"])
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"can't read the baseline: {reason.lower()}", path) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError("not a baseline of compile-lint", path) from error
    return known


def write_baseline(path: str, findings: Iterable[Fingerprint]) -> int:
    """Write the findings as the new baseline and return how many. Raises OSError."""
    counts = Counter(findings)
    rows = [
        {"path": place, "code": code, "statement": statement, "count": count}
        for (place, code, statement), count in sorted(counts.items())
    ]
    text = json.dumps({"version": _VERSION, "findings": rows}, indent=2) + "\n"
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    os.replace(temporary, path)
    return sum(counts.values())


def new_findings(
    findings: Sequence[tuple[Fingerprint, T]], known: Counter[Fingerprint]
) -> tuple[list[T], int]:
    """Return the findings that the baseline doesn't hold, and how many it does."""
    left = Counter(known)
    kept = []
    for fingerprint, finding in findings:
        if left[fingerprint] > 0:
            left[fingerprint] -= 1
        else:
            kept.append(finding)
    return kept, len(findings) - len(kept)
