"""How often compile-lint is right on real packages, against breaks that Dynamo reported.

    python benchmarks/accuracy.py --packages DIR --install   # once: pinned sources
    python benchmarks/accuracy.py --packages DIR --write docs/accuracy.md

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
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
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


def lint(names: list[str], root: Path, python: str, jobs: int, extra: list[str]) -> list[dict]:
    """Run the linter on each package, a process per package, as a user would on a checkout."""

    def one(name: str) -> list[dict]:
        command = [python, "-m", "compile_lint.linter", "--output-format", "json"]
        command += ["--entry", "all", "--exit-zero", *extra, name]
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
    """The tables as Markdown lines."""
    primary = [b for b in result.breaks if b.primary]
    lines = ["## All packages", ""]
    total = [*_recall_cells(result, primary), *_precision_cells(result, result.places)]
    lines += _table([*RECALL, *PRECISION], [total])

    rows = []
    for name in packages:
        mine = [b for b in primary if b.package == name]
        places = frozenset(p for p in result.places if p.file.split("/")[0] == name)
        if mine or places & result.judged:
            rows.append([name, *_recall_cells(result, mine), *_precision_cells(result, places)])
    lines += ["", "## By package", "", *_table(["package", *RECALL, *PRECISION], rows)]

    kinds = Counter(b.kind for b in primary).most_common()
    rows = [[k, *_recall_cells(result, [b for b in primary if b.kind == k])] for k, _ in kinds]
    lines += ["", "## By graph-break kind", "", *_table(["kind", *RECALL], rows)]

    lines += ["", "## By rule", "", *_grouped(result, primary, "rule", lambda hit: hit.code)]
    by_certainty = _grouped(result, primary, "certainty", lambda hit: hit.certainty)
    return [*lines, "", "## By certainty", "", *by_certainty]


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

Measured by `benchmarks/accuracy.py` (its docstring says what counts) with compile-lint {version}
against graph breaks that torch 2.13.0 reported in its default mode, with `--entry all`.
"""


def main() -> None:
    cli = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    cli.add_argument("--packages", type=Path, required=True, help="folder with the sources")
    cli.add_argument("--truth", type=Path, default=HERE / "truth")
    cli.add_argument("--install", action="store_true", help="fill --packages with pip, then stop")
    cli.add_argument("--only", action="append", metavar="PACKAGE", help="score these packages only")
    cli.add_argument("--python", default=sys.executable, help="interpreter that has compile-lint")
    cli.add_argument("--jobs", type=int, default=1, help="packages linted at a time")
    cli.add_argument("--lint-arg", action="append", default=[], help="passed on to compile-lint")
    source = cli.add_mutually_exclusive_group()
    source.add_argument("--findings", type=Path, help="a JSON report instead of linting")
    source.add_argument("--regex-baseline", action="store_true", help="score regular expressions")
    cli.add_argument("--list", action="store_true", help="print misses and false alarms")
    cli.add_argument("--write", type=Path, help="write the tables to this Markdown file")
    args = cli.parse_args()

    if args.write and args.regex_baseline:
        cli.error("--write is for compile-lint's own figures")

    root = args.packages.resolve()
    pinned = read_packages(args.truth)
    if args.install:
        install(pinned, root)
        return
    names = [name for name, _, _ in pinned if not args.only or name in args.only]
    missing = [name for name in names if not (root / name).is_dir()]
    if missing:
        raise SystemExit(f"not under {root}: {', '.join(missing)} (fill it with --install)")

    code = Statements(root)
    breaks = [b for b in read_breaks(args.truth, code) if b.package in names]
    traced = frozenset(p for p in read_traced(args.truth, code) if p.file.split("/")[0] in names)
    began = time.perf_counter()
    if args.findings:
        findings = json.loads(args.findings.read_text(encoding="utf-8"))
    elif args.regex_baseline:
        files = {p.file for p in traced} | {b.place.file for b in breaks}
        findings = list(regex_findings(files, code))
    else:
        findings = lint(names, root, args.python, args.jobs, args.lint_arg)
    print(f"{len(findings)} findings in {time.perf_counter() - began:.1f} s", file=sys.stderr)

    result = score(breaks, traced, read_hits(findings, root, code))
    tables = report(result, names)
    print("\n".join(tables))
    if args.list:
        print()
        print("\n".join(listing(result, code)))
    if args.write:
        shown = [args.python, "-m", "compile_lint.linter", "--version"]
        version = subprocess.run(shown, check=True, capture_output=True, text=True).stdout.split()
        text = INTRO.format(version=version[-1]) + "\n" + "\n".join(tables)
        args.write.parent.mkdir(parents=True, exist_ok=True)
        args.write.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
