"""Turn the results of measure.py into the truth files that accuracy.py reads.

    python collect.py --results FILE --out DIR

Facts only: `breaks.jsonl` (one row for each line that broke), `traced.jsonl` (lines Dynamo traced,
by file), `packages.tsv` (import name, distribution, version). README.md says what a row means.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import json
import sysconfig
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from registry import PACKAGES

SITE = Path(sysconfig.get_path("purelib"))
# What Dynamo reports of frames that it only compiles on their own because an outer one broke.
WAKE = {
    "Generator reconstruction with mutations",
    "Missing tp_iternext",
    "Reconstruction failure",
    "Uninitialized nn.Module",
    "missing tp_iter",
}


def package_of(file: str) -> str | None:
    """The measured package that a file below site-packages belongs to."""
    top = file.split("/")[0].removesuffix(".py")
    return top if top in PACKAGES else None


def owner(item: dict) -> list | None:
    """The innermost frame outside torch and this harness; None where that isn't measured."""
    for frame in reversed(item["stack"]):
        file = frame[0]
        if file.startswith(("<", "/", "torch/")):
            continue
        return frame if package_of(file) else None
    return None


def places(items: Iterable[dict]) -> set[tuple[str, int]]:
    return {(frame[0], frame[1]) for frame in map(owner, items) if frame}


def collect_breaks(rows: list[dict]) -> list[dict]:
    """One row for each line that broke in the default mode, over all targets."""
    found: dict[tuple[str, int], dict] = {}
    for row in rows:
        target = f"{row['package']}::{row['target']}:{row['mode']}"
        captured = row.get("breaks_with_capture")
        left = None if captured is None else places(captured)
        first = places(row.get("fullgraph_breaks", [])[:1])
        for item in row["breaks"]:
            frame = owner(item)
            if frame is None or item["disposition"] == "error":
                continue
            file, line, function = frame
            entry = found.setdefault(
                (file, line),
                {
                    "func": function,
                    "types": Counter(),
                    "left": set(),
                    "first": False,
                    "ids": set(),
                    "disposition": item["disposition"],
                    "stack": item["stack"],
                    "targets": [],
                },
            )
            entry["types"][item["type"]] += 1
            if left is not None:
                entry["left"].add((file, line) in left)
            entry["first"] |= (file, line) in first
            entry["ids"] |= {item["id"]} - {None}
            # The fullest stack tells most of the way to the break.
            if len(item["stack"]) > len(entry["stack"]):
                entry["stack"] = item["stack"]
            if target not in entry["targets"]:
                entry["targets"].append(target)
    return [_finish(file, line, found[file, line]) for file, line in sorted(found)]


def _finish(file: str, line: int, entry: dict) -> dict:
    alone = len(entry["stack"]) == 1 and not entry["first"]
    package = package_of(file)
    return {
        "package": package,
        "version": importlib.metadata.version(PACKAGES[package]) if package else "",
        "file": file,
        "line": line,
        "func": entry["func"],
        "kind": "secondary" if alone and set(entry["types"]) <= WAKE else "primary",
        "gb_types": dict(entry["types"].most_common()),
        "still_breaks_with_capture": any(entry["left"]) if entry["left"] else None,
        "first_under_fullgraph": entry["first"],
        "gb_ids": sorted(entry["ids"]),
        "disposition": entry["disposition"],
        "stack": [
            f"{name}:{number} in {function}"
            for name, number, function in entry["stack"]
            if not name.startswith("<harness>")
        ],
        "targets": entry["targets"],
    }


def led_astray(rows: list[dict]) -> set[tuple[str, int]]:
    """The lines that called what broke in a package that isn't measured: neither right nor wrong.

    The break is real, but the line that owns it is left out. Of a call over several lines all are:
    what is judged is the statement.
    """
    breaks = [item for row in rows for item in row["breaks"] if owner(item) is None]
    called: dict[str, set[int]] = {}
    for item in breaks:
        for frame in item["stack"]:
            if package_of(frame[0]):
                called.setdefault(frame[0], set()).add(frame[1])
    return {(file, line) for file in called for line in _statements(file, called[file])}


def _statements(file: str, lines: set[int]) -> set[int]:
    """The lines of the simple statements that the given lines are part of, and those themselves."""
    tree = ast.parse((SITE / file).read_text(encoding="utf-8"))
    spans = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and not hasattr(node, "body")
    ]
    return lines.union(*(span for span in spans if not lines.isdisjoint(span)))


def collect_traced(rows: list[dict]) -> list[dict]:
    """The lines traced in the default mode, as ranges of each file."""
    lines: dict[str, set[int]] = {}
    unknown = led_astray(rows)
    for row in rows:
        for file, spans in row["traced"].items():
            if package_of(file):
                numbers = lines.setdefault(file, set())
                numbers.update(
                    n
                    for first, last in spans
                    for n in range(first, last + 1)
                    if (file, n) not in unknown
                )
    return [
        {"package": package_of(file), "file": file, "traced": _ranges(lines[file])}
        for file in sorted(lines)
        if lines[file]
    ]


def _ranges(numbers: set[int]) -> list[list[int]]:
    out: list[list[int]] = []
    for number in sorted(numbers):
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return out


def main() -> None:
    cli = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    cli.add_argument("--results", type=Path, required=True)
    cli.add_argument("--out", type=Path, required=True)
    args = cli.parse_args()

    with args.results.open(encoding="utf-8") as lines:
        everything = [json.loads(line) for line in lines]
    rows = [row for row in everything if "breaks" in row]
    breaks, traced = collect_breaks(rows), collect_traced(rows)
    names = sorted({row["package"] for row in traced})
    table = ["import_name\tpypi_name\tversion"]
    for name in names:
        table.append(f"{name}\t{PACKAGES[name]}\t{importlib.metadata.version(PACKAGES[name])}")

    args.out.mkdir(parents=True, exist_ok=True)
    for name, facts in {"breaks": breaks, "traced": traced}.items():
        text = "".join(json.dumps(fact) + "\n" for fact in facts)
        (args.out / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (args.out / "packages.tsv").write_text("\n".join(table) + "\n", encoding="utf-8")
    kinds = Counter(item["kind"] for item in breaks)
    status = Counter(row["status"] for row in everything)
    count = sum(last - first + 1 for row in traced for first, last in row["traced"])
    print(f"{len(names)} packages, breaks {dict(kinds)}, {count} traced lines, runs {dict(status)}")


if __name__ == "__main__":
    main()
