"""Facts of the accuracy benchmark: statements, breaks, findings, and what matches what."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from compile_lint.linter.reconcile.statements import statement_lines

MODE = "default"
FRAME = re.compile(r"(?P<file>.+?):(?P<line>\d+) in ")


@dataclass(frozen=True, slots=True)
class Place:
    """A statement: file relative to the packages folder, first and last line (1-based)."""

    file: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Break:
    """One line where Dynamo broke; `chain` holds the outer frames' places."""

    package: str
    kind: str
    primary: bool
    line: int
    place: Place
    chain: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Hit:
    """One finding, reduced to what the score needs."""

    code: str
    certainty: str
    message: str
    line: int
    place: Place


# --- statements ---------------------------------------------------------------------------------


class Statements:
    """Maps a line of a file to the statement it belongs to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lines = cache(self._read)
        self._spans = cache(self._parse)

    def place(self, file: str, line: int) -> Place:
        """The innermost statement over `line`; the bare line where no statement covers it."""
        start, end = self._spans(file).get(line, (line, line))
        return Place(file, start, end)

    def exists(self, file: str) -> bool:
        return bool(self._lines(file))

    def text(self, file: str, line: int) -> str:
        lines = self._lines(file)
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def lines(self, file: str) -> tuple[str, ...]:
        return self._lines(file)

    def _read(self, file: str) -> tuple[str, ...]:
        path = self.root / file
        if not path.is_file():
            return ()
        # Not splitlines(): that also splits at form feeds, which Python's line count does not.
        return tuple(re.split(r"\r\n|\r|\n", path.read_text(encoding="utf-8", errors="replace")))

    def _parse(self, file: str) -> dict[int, tuple[int, int]]:
        try:
            tree = ast.parse("\n".join(self._lines(file)))
        except SyntaxError:
            return {}  # every line is then a statement of its own
        return statement_lines(tree)


# --- reading ------------------------------------------------------------------------------------


def read_packages(truth: Path) -> list[tuple[str, str, str]]:
    """Rows of packages.tsv: import name, distribution name, version."""
    rows = (truth / "packages.tsv").read_text(encoding="utf-8").splitlines()[1:]
    cells = [row.split("\t") for row in rows if row.strip()]
    return [(name, dist, version) for name, dist, version in cells]


def read_breaks(truth: Path, code: Statements) -> list[Break]:
    found = []
    for row in _jsonl(truth / "breaks.jsonl"):
        place = code.place(row["file"], row["line"])
        frames = [m for s in row["stack"] if (m := FRAME.match(s)) and code.exists(m["file"])]
        chain = frozenset(code.place(m["file"], int(m["line"])) for m in frames) - {place}
        kind = max(row["gb_types"], key=row["gb_types"].get)
        primary = row["kind"] == "primary"
        found.append(Break(row["package"], kind, primary, row["line"], place, chain))
    return found


def read_traced(truth: Path, code: Statements) -> frozenset[Place]:
    """Statements with at least one line that Dynamo traced."""
    return frozenset(
        code.place(row["file"], line)
        for row in _jsonl(truth / "traced.jsonl")
        for first, last in row["traced"]
        for line in range(first, last + 1)
    )


def read_hits(findings: Iterable[dict], root: Path, code: Statements) -> list[Hit]:
    """Findings of the JSON report that speak of the default mode, as hits under `root`."""
    hits = []
    for item in findings:
        if MODE not in item["breaks"]:
            continue
        file = Path(os.path.relpath(root / item["path"], root)).as_posix()
        place = code.place(file, item["line"])
        hits.append(Hit(item["code"], item["certainty"], item["message"], item["line"], place))
    return hits


def _jsonl(path: Path) -> Iterator[dict]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


# --- scoring ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Score:
    """Everything the tables read; `judged`, `right` and `chained` only hold traced statements."""

    breaks: list[Break]
    hits: list[Hit]
    places: frozenset[Place]
    judged: frozenset[Place]
    right: frozenset[Place]
    chained: frozenset[Place]

    def found(self, item: Break) -> bool:
        return item.place in self.places

    def reached(self, item: Break) -> bool:
        return item.place in self.places or not self.places.isdisjoint(item.chain)


def score(breaks: list[Break], traced: frozenset[Place], hits: list[Hit]) -> Score:
    places = frozenset(hit.place for hit in hits)
    judged = places & traced
    right = judged & {b.place for b in breaks}
    chained = right | (judged & {place for b in breaks for place in b.chain})
    return Score(breaks, hits, places, judged, right, chained)
