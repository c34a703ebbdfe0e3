"""Random programs through our backend: values and gradients must equal eager's.

    python -m benchmarks.programs --count 2000
    python -m benchmarks.programs --count 200 --interpret

Programs come in runs of 50, each with a seed of its own; a run ends at its first failing program,
which hypothesis has shrunk. One that Dynamo or AOTAutograd can't do with torch's own backends is
counted and no failure.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

os.environ.setdefault("OMP_NUM_THREADS", "1")

from compile_lint.compiler.settings import Settings

from .conformance.program_trial import Failure, check_programs
from .conformance.trial import configured

EACH = 50


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--interpret", action="store_true", help="kernels under the interpreter")
    parser.add_argument("--halves", action="store_true", help="float16 and bfloat16 too")
    parser.add_argument("--dynamic", action="store_true", help="compile with dynamic=True")
    asked = parser.parse_args()
    settings = Settings(interpret=asked.interpret)
    halves = asked.halves or not asked.interpret
    total: Counter[str] = Counter()
    failures: list[Failure] = []
    began = time.perf_counter()
    for start in range(0, asked.count, EACH):
        count = min(EACH, asked.count - start)
        seed = asked.seed + start
        with configured():
            outcomes, failure = check_programs(count, seed, settings, halves, asked.dynamic)
        total.update(outcomes)
        if failure is not None:
            failures.append(failure)
            print(f"--- seed {seed}: {failure.outcome}: {failure.reason}\n{failure.program}\n")
        print(f"{start + count} programs, {time.perf_counter() - began:.0f} s", flush=True)
    for outcome, number in total.most_common():
        print(f"{number:6d} {outcome}")
    print(f"{len(failures)} failing programs")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
