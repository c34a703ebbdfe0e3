"""Whole models of timm and transformers, small and with random weights, through our backend.

    python -m benchmarks.models --results build/models.jsonl
    python -m benchmarks.models --results build/90.jsonl --target cuda:90 --docs docs/models.md

Inference and a training step are captured with fullgraph=True and compared with eager on the CPU:
outputs, the gradients of all parameters, and the buffers afterwards. With `--target` every kernel
is built for that GPU as well. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from compile_lint.compiler.settings import Settings

from .conformance.children import run_jobs, serve
from .conformance.model_report import page
from .conformance.model_trial import as_json, judge
from .conformance.model_zoo import zoo
from .conformance.operator_report import read
from .conformance.trial import configured


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--results", type=Path, required=True, help="JSON lines, read and appended")
    parser.add_argument("--docs", type=Path, help="write this page at the end")
    parser.add_argument("--families", help="names, split by commas")
    parser.add_argument("--again", action="store_true", help="forget stored rows of the families")
    parser.add_argument("--interpret", action="store_true", help="kernels under the interpreter")
    parser.add_argument("--target", help="build kernels for this device")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for one model")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    known = zoo()
    if asked.worker:
        settings = Settings(interpret=asked.interpret, target=asked.target)
        with configured():
            serve(lambda name: as_json(judge(known[name], settings)))
        return 0
    names = asked.families.split(",") if asked.families else list(known)
    rows = read(asked.results)
    if asked.again:
        rows = {name: row for name, row in rows.items() if name not in names}
    asked.results.parent.mkdir(parents=True, exist_ok=True)
    asked.results.write_text("".join(json.dumps(row) + "\n" for row in rows.values()))
    command = [sys.executable, "-m", "benchmarks.models", "--worker", "--results", "-"]
    command += ["--interpret"] if asked.interpret else []
    command += ["--target", asked.target] if asked.target else []
    todo = [name for name in names if name not in rows]
    with asked.results.open("a", encoding="utf-8") as out:
        for name, answer in run_jobs(command, todo, asked.limit, asked.jobs, each=10):
            row = {"name": name, **answer}
            if why := row.pop("failed", None):
                model = known[name]
                row |= {"package": model.package, "what": model.what}
                row |= {"outcome": "error", "reason": why}
            rows[name] = row
            print(json.dumps(row), file=out, flush=True)
            print(_line(row), flush=True)
    shown = [rows[name] for name in known if name in rows]
    equal = sum(row["outcome"] == "equal" for row in shown)
    print(f"\n{equal} of {len(shown)} families captured as one graph and equal to eager")
    if asked.docs:
        asked.docs.write_text(page(shown, asked.target), encoding="utf-8")
    return 0 if equal == len(shown) else 1


def _line(row: dict[str, Any]) -> str:
    if row["outcome"] != "equal":
        return f"{row['name']:<20} {row['outcome']} {row.get('break_id', '')} {row['reason']}"
    share = row["fallbacks"] / max(row["calls"], 1)
    return (
        f"{row['name']:<20} equal, largest error {row['error']:.1e}, {row['kernels']} kernels, "
        f"{share:.0%} of {row['calls']} calls by ATen, {row['seconds']} s"
    )


if __name__ == "__main__":
    sys.exit(main())
