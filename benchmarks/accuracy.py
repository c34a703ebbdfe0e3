"""How often compile-lint is right on real packages, against breaks that Dynamo reported.

    python benchmarks/accuracy.py --packages DIR --install   # once: pinned sources
    python benchmarks/accuracy.py --packages DIR --write docs/accuracy.md

`--truth DIR --packages DIR` may be given several times: each truth is a section of the page, with
its packages in a folder of their own. `--quick` lints only the files that the truth speaks of.

The truth (`benchmarks/truth`) holds facts only: `breaks.jsonl` (lines where the graph broke, with
the user stack), `traced.jsonl` (lines Dynamo traced), `packages.tsv` (pinned versions). It was
taken in Dynamo's default mode, so only findings whose `breaks` holds "default" count.

What counts, always on the *statement* that holds a line (a compound statement is its header):

recall     primary breaks with a finding on their statement. "Chain" also accepts a finding on the
           statement of an outer frame of the break's stack: the call that leads to the break.
precision  of the statements with a finding, among those Dynamo traced: how many hold a break,
           primary or secondary. "Chain" also accepts statements that are an outer frame of one.

Lines nobody traced say nothing, so findings there are neither right nor wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from matching import (
    MODE,
    Break,
    Hit,
    Place,
    Score,
    Statements,
    read_breaks,
    read_hits,
    read_packages,
    read_traced,
    score,
)

HERE = Path(__file__).resolve().parent


# --- where findings come from -------------------------------------------------------------------


def install(packages: Iterable[tuple[str, str, str]], root: Path) -> None:
    """Unpack the pinned packages under `root` with pip; nothing of them is imported or built."""
    pins = [f"{dist}=={version}" for _, dist, version in packages]
    options = ["--no-deps", "--no-compile", "--only-binary", ":all:", "--target", str(root)]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *options, *pins], check=True)


def lint(
    names: list[str], files: set[str] | None, root: Path, python: str, jobs: int, extra: list[str]
) -> list[dict]:
    """Run the linter on each package, a process per package, as a user would on a checkout.

    With `files` only those of them are linted; what they import is read as ever.
    """

    def one(name: str) -> list[dict]:
        command = [python, "-m", "compile_lint.linter", "--output-format", "json"]
        command += ["--entry", "all", "--exit-zero", *extra]
        mine = [name] if files is None else sorted(f for f in files if f.split("/")[0] == name)
        if not mine:
            return []
        command += mine
        done = subprocess.run(command, cwd=root, capture_output=True, text=True)
        if not done.stdout.startswith("["):
            raise SystemExit(f"{name}: compile-lint exited {done.returncode}\n{done.stderr}")
        # A file that can't be read makes the exit status 2; the others are still reported.
        sys.stderr.write(done.stderr)
        return json.loads(done.stdout)

    with ThreadPoolExecutor(jobs) as pool:
        return [item for items in pool.map(one, names) for item in items]


BASELINE = [
    re.compile(pattern)
    for pattern in (
        r"\.item\(\)|\.tolist\(\)",
        r"\bnonzero\(|\bargwhere\(|\bmasked_select\(",
        r"\btorch\.where\([^,()]*(\([^()]*\)[^,()]*)*\)",
        r"\bunique(_consecutive)?\(",
        r"\brepeat_interleave\(",
        r"^\s*(if|elif|while|assert)\b.*\.(any|all|isnan|isfinite)\(",
        r"^\s*(if|elif|while|assert)\b.*\btorch\.(any|all|equal|allclose|isnan|isfinite|sum|max)\(",
        r"\btorch\.(equal|allclose)\(",
        r"^\s*print\(",
        r"\bwarnings\.warn\(|\blogger\.\w+\(",
        r"\bnp\.random\.|\brandom\.(random|randint|choice)\(|\btime\.(time|perf_counter)\(",
        r"\[[^\]]*\bmask\w*\]",
        r"\btorch\.manual_seed\(|\.backward\(|\bautograd\.grad\(",
    )
]


def regex_findings(files: Iterable[str], code: Statements) -> Iterator[dict]:
    """What a dozen regular expressions find: the figure that an analysis has to beat."""
    for file in sorted(files):
        for number, text in enumerate(code.lines(file), 1):
            bare = text.split("  #")[0]
            if not bare.lstrip().startswith("#") and any(p.search(bare) for p in BASELINE):
                yield {
                    "path": file, "line": number, "code": "regex", "certainty": "likely",
                    "message": "matches a pattern", "breaks": [MODE],
                }  # fmt: skip


# --- tables -------------------------------------------------------------------------------------


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _table(head: list[str], rows: Iterable[list[object]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def _recall_cells(result: Score, breaks: list[Break]) -> list[object]:
    found = sum(map(result.found, breaks))
    reached = sum(map(result.reached, breaks))
    return [len(breaks), found, _percent(found, len(breaks)), _percent(reached, len(breaks))]


def _precision_cells(result: Score, places: frozenset[Place]) -> list[object]:
    judged = places & result.judged
    right, chained = len(judged & result.right), len(judged & result.chained)
    cells: list[object] = [len(judged), right, len(judged) - right]
    return [*cells, _percent(right, len(judged)), _percent(chained, len(judged))]


RECALL = ["breaks", "found", "recall", "with chain"]
PRECISION = ["judged", "right", "false alarms", "precision", "with chain"]


def report(result: Score, packages: list[str]) -> list[str]:
    """The tables as Markdown lines, each under a heading of the third level."""
    primary = [b for b in result.breaks if b.primary]
    lines = ["### All packages", ""]
    total = [*_recall_cells(result, primary), *_precision_cells(result, result.places)]
    lines += _table([*RECALL, *PRECISION], [total])

    rows = []
    for name in packages:
        mine = [b for b in primary if b.package == name]
        places = frozenset(p for p in result.places if p.file.split("/")[0] == name)
        if mine or places & result.judged:
            rows.append([name, *_recall_cells(result, mine), *_precision_cells(result, places)])
    lines += ["", "### By package", "", *_table(["package", *RECALL, *PRECISION], rows)]

    kinds = Counter(b.kind for b in primary).most_common()
    rows = [[k, *_recall_cells(result, [b for b in primary if b.kind == k])] for k, _ in kinds]
    lines += ["", "### By graph-break kind", "", *_table(["kind", *RECALL], rows)]

    lines += ["", "### By rule", "", *_grouped(result, primary, "rule", lambda hit: hit.code)]
    by_certainty = _grouped(result, primary, "certainty", lambda hit: hit.certainty)
    return [*lines, "", "### By certainty", "", *by_certainty]


def _grouped(
    result: Score, primary: list[Break], title: str, key: Callable[[Hit], str]
) -> list[str]:
    groups: dict[str, set[Place]] = defaultdict(set)
    for hit in result.hits:
        groups[key(hit)].add(hit.place)
    rows: list[list[object]] = []
    for name, places in sorted(groups.items()):
        found = sum(b.place in places for b in primary)
        rows.append([name, len(places), found, *_precision_cells(result, frozenset(places))])
    return _table([title, "statements", "breaks found", *PRECISION], rows)


def listing(result: Score, code: Statements) -> Iterator[str]:
    """Misses and false alarms with their source line: for the eye, never stored."""
    for item in sorted(result.breaks, key=lambda b: (b.place.file, b.line)):
        if item.primary and not result.found(item):
            via = " (reached by chain)" if result.reached(item) else ""
            yield f"MISS  {item.place.file}:{item.line}: [{item.kind}]{via}"
            yield f"      {code.text(item.place.file, item.line)}"
    for hit in sorted(result.hits, key=lambda h: (h.place.file, h.line, h.code)):
        if hit.place in result.judged and hit.place not in result.right:
            via = " (on a break's call chain)" if hit.place in result.chained else ""
            what = f"{hit.code} {hit.certainty}{via} {hit.message}"
            yield f"FALSE {hit.place.file}:{hit.line}: {what}"
            yield f"      {code.text(hit.place.file, hit.line)}"


INTRO = """\
# Accuracy on real packages

Made by `benchmarks/accuracy.py` (its docstring says what counts) with compile-lint {version}, which
linted the files that the truth speaks of with `--entry all`, against graph breaks that torch 2.13.0
reported in its default mode, mostly of modules in evaluation mode. No rule names a package or path.

Certainty: **{sure}** of the findings marked `certain` are right ({right} of {judged} that could be
judged, all sections together); of the `likely` ones {rest}: treat those as places to look at. What
only training, half precision or a flag off its default runs into is advice and isn't counted.
How the findings relate to transformers' own label: [fullgraph-labels.md](fullgraph-labels.md).
"""
# What each truth is, by its folder: a heading and a paragraph.
SECTIONS = {
    "truth": (
        "24 packages that were worked on",
        "Misses and false alarms of these were looked at while the analysis was written, by kind.",
    ),
    "more": (
        "{packages} packages more",
        "Measured by `benchmarks/truth_harness` after most rules had been written, lot by lot. "
        "Most kinds of breaks that a lot showed have become rules since, and count below; what a "
        "package that nobody here has seen can expect is what its lot gave at first sight, by the "
        "linter as it was that day:",
    ),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One truth, the folder of its packages, and findings of an earlier run, if any."""

    truth: Path
    root: Path
    findings: Path | None


def measure(part: Part, args: argparse.Namespace) -> tuple[Score, list[str], Statements]:
    """Lint the packages of one truth and score the findings."""
    root = part.root.resolve()
    pinned = read_packages(part.truth)
    names = [name for name, _, _ in pinned if not args.only or name in args.only]
    missing = [name for name in names if not (root / name).is_dir()]
    if missing:
        raise SystemExit(f"not under {root}: {', '.join(missing)} (fill it with --install)")
    code = Statements(root)
    breaks = [b for b in read_breaks(part.truth, code) if b.package in names]
    traced = frozenset(p for p in read_traced(part.truth, code) if p.file.split("/")[0] in names)
    files = {p.file for p in traced} | {b.place.file for b in breaks}
    began = time.perf_counter()
    if part.findings:
        findings = json.loads(part.findings.read_text(encoding="utf-8"))
    elif args.regex_baseline:
        findings = list(regex_findings(files, code))
    else:
        chosen = files if args.quick else None
        findings = lint(names, chosen, root, args.python, args.jobs, args.lint_arg)
    print(f"{len(findings)} findings in {time.perf_counter() - began:.1f} s", file=sys.stderr)
    return score(breaks, traced, read_hits(findings, root, code)), names, code


def first_sight(truth: Path) -> Iterator[str]:
    """Yield the table of what each lot of a truth gave at first sight, if it keeps one."""
    file = truth / "first_sight.tsv"
    if not file.exists():
        return
    head, *lots = (row.split("\t") for row in file.read_text(encoding="utf-8").splitlines())
    yield from _table([name.replace("_", " ") for name in head], lots)
    yield ""


def introduction(results: list[Score], version: str) -> str:
    """The head of the page, with the figures for certainty."""
    counts = Counter()
    for result in results:
        sure = frozenset(hit.place for hit in result.hits if hit.certainty == "certain")
        for place in result.judged:
            counts[place in sure, place in result.right] += 1
    right, judged = counts[True, True], counts[True, True] + counts[True, False]
    found, rest = counts[False, True], counts[False, True] + counts[False, False]
    return INTRO.format(
        version=version,
        sure=_percent(right, judged),
        right=right,
        judged=judged,
        rest=_percent(found, rest),
    )


def main() -> None:
    cli = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    cli.add_argument("--packages", type=Path, action="append", required=True, help="their sources")
    cli.add_argument("--truth", type=Path, action="append", help="default: benchmarks/truth")
    cli.add_argument("--install", action="store_true", help="fill --packages with pip, then stop")
    cli.add_argument("--only", action="append", metavar="PACKAGE", help="score these packages only")
    cli.add_argument("--quick", action="store_true", help="lint the files with truth only")
    cli.add_argument("--python", default=sys.executable, help="interpreter that has compile-lint")
    cli.add_argument("--jobs", type=int, default=1, help="packages linted at a time")
    cli.add_argument("--lint-arg", action="append", default=[], help="passed on to compile-lint")
    source = cli.add_mutually_exclusive_group()
    source.add_argument(
        "--findings", type=Path, action="append", help="a JSON report instead of linting"
    )
    source.add_argument("--regex-baseline", action="store_true", help="score regular expressions")
    cli.add_argument("--list", action="store_true", help="print misses and false alarms")
    cli.add_argument("--write", type=Path, help="write the tables to this Markdown file")
    args = cli.parse_args()

    if args.write and args.regex_baseline:
        cli.error("--write is for compile-lint's own figures")
    truths = args.truth or [HERE / "truth"]
    given = args.findings or [None] * len(truths)
    if not len(truths) == len(args.packages) == len(given):
        cli.error("give --packages, and --findings if any, once for each --truth")
    parts = [Part(*part) for part in zip(truths, args.packages, given)]
    if args.install:
        for part in parts:
            install(read_packages(part.truth), part.root.resolve())
        return

    results: list[Score] = []
    lines: list[str] = []
    for part in parts:
        result, names, code = measure(part, args)
        results.append(result)
        title, text = SECTIONS.get(part.truth.name, (part.truth.name, ""))
        lines += [
            "",
            f"## {title.format(packages=len(names))}",
            "",
            *([*textwrap.wrap(text, 100), ""] if text else []),
            *first_sight(part.truth),
            *report(result, names),
        ]
        if args.list:
            print("\n".join(listing(result, code)))
    print("\n".join(lines))
    if args.write:
        shown = [args.python, "-m", "compile_lint.linter", "--version"]
        version = subprocess.run(shown, check=True, capture_output=True, text=True).stdout.split()
        text = introduction(results, version[-1]) + "\n".join(lines)
        args.write.parent.mkdir(parents=True, exist_ok=True)
        args.write.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
