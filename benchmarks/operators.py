"""Torch's own operator database through our backend: every operator, forward and gradient.

    python -m benchmarks.operators --results build/cpu.jsonl                # all samples, by ATen
    python -m benchmarks.operators --results build/interpret.jsonl --interpret --samples 4
    python -m benchmarks.operators --results build/cuda.jsonl --device cuda # on a GPU
    python -m benchmarks.operators --docs docs/operators.md --results build/cpu.jsonl \\
        --lowered build/interpret.jsonl                                     # write the table

Results are JSON lines, one an operator; a run goes on where an earlier one stopped. Needs
`expecttest`, which torch.testing wants.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from compile_lint.compiler.settings import Settings

from .conformance.children import run_jobs, serve
from .conformance.operator_report import page, read
from .conformance.operator_trial import Choice, as_json, entries, try_operator
from .conformance.trial import EAGER, ERROR, MISMATCH, configured


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--results", type=Path, required=True, help="JSON lines, read and appended")
    parser.add_argument("--docs", type=Path, help="write this page from the results, run nothing")
    parser.add_argument("--lowered", type=Path, help="with --docs: results with kernels")
    parser.add_argument("--cuda", type=Path, help="with --docs: results of a GPU")
    parser.add_argument("--ops", help="names, split by commas")
    parser.add_argument("--again", action="store_true", help="forget stored rows of the chosen ops")
    parser.add_argument("--shard", default="0/1", help="i/n: every n-th operator from the i-th")
    parser.add_argument("--samples", type=int, help="of each dtype, spread evenly")
    parser.add_argument("--numel", type=int, help="only samples with at most so many items")
    parser.add_argument("--interpret", action="store_true", help="kernels under the interpreter")
    parser.add_argument("--target", help="build kernels for this device, run by ATen")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one operator")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        return work(asked)
    if asked.docs:
        text = page(asked.results, asked.lowered, asked.cuda)
        asked.docs.write_text(text, encoding="utf-8")
        return 0
    return measure(asked)


def work(asked: argparse.Namespace) -> int:
    known = entries()
    settings = Settings(interpret=asked.interpret, target=asked.target)
    choice = Choice(asked.device, asked.samples, asked.numel)
    with configured():
        serve(lambda name: as_json(try_operator(name, known[name], settings, choice)))
    return 0


def measure(asked: argparse.Namespace) -> int:
    names = list(entries())
    if asked.ops:
        wanted = asked.ops.split(",")
        names = [name for name in names if name in wanted or name.split(".")[0] in wanted]
    shard, shards = (int(part) for part in asked.shard.split("/"))
    names = names[shard::shards]
    rows = read(asked.results)
    if asked.again:
        rows = {name: row for name, row in rows.items() if name not in names}
    asked.results.parent.mkdir(parents=True, exist_ok=True)
    asked.results.write_text("".join(json.dumps(row) + "\n" for row in rows.values()))
    began = time.perf_counter()
    todo = [name for name in names if name not in rows]
    command = [sys.executable, "-m", "benchmarks.operators", "--worker", *_passed_on(asked)]
    with asked.results.open("a", encoding="utf-8") as out:
        for name, answer in run_jobs(command, todo, asked.limit, asked.jobs):
            row = {"name": name, **answer}
            rows[name] = row
            print(json.dumps(row), file=out, flush=True)
            print(_line(row), flush=True)
    print(f"{time.perf_counter() - began:.0f} s")
    return summary([rows[name] for name in names])


def _passed_on(asked: argparse.Namespace) -> list[str]:
    given = ["--results", str(asked.results), "--device", asked.device]
    for name in ("samples", "numel", "target"):
        if (value := getattr(asked, name)) is not None:
            given += [f"--{name}", str(value)]
    return [*given, "--interpret"] if asked.interpret else given


def _line(row: dict[str, Any]) -> str:
    if why := row.get("failed"):
        return f"{row['name']:<44} FAILED {why}"
    counts = _counts(row)
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    return f"{row['name']:<44} {told or 'no samples'} ({row['seconds']} s)"


def _counts(row: dict[str, Any]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counts in row.get("outcomes", {}).values():
        total.update(counts)
    return total


def summary(rows: list[dict[str, Any]]) -> int:
    """Print totals and everything that is ours; the number of such operators, at most 1."""
    total: Counter[str] = Counter()
    ours = []
    for row in rows:
        counts = _counts(row)
        total.update(counts)
        if row.get("failed"):
            ours.append(f"{row['name']}: {row['failed']}")
        for reason in row.get("reasons", ()):
            if reason["outcome"] in (MISMATCH, ERROR):
                shown = f"{reason['outcome']} ({reason['samples']}): {reason['reason']}"
                ours.append(f"{row['name']}: {shown}")
    print(f"\n{len(rows)} operators, {sum(total.values())} samples:")
    for outcome, count in total.most_common():
        print(f"  {count:6d} {outcome}{' (left out)' if outcome == EAGER else ''}")
    print(f"\n{len(ours)} to look into:")
    for line in ours:
        print(f"  {line}")
    return 1 if ours else 0


if __name__ == "__main__":
    sys.exit(main())
