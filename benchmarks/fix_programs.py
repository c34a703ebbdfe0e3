"""Random programs that branch and loop on tensors, repaired: what is applied must equal eager.

    python -m benchmarks.fix_programs --count 2000
    python -m benchmarks.fix_programs --count 50 --full

Programs come in runs of 50, each with a seed of its own. They are proved by running both texts on a
few inputs and having Dynamo capture the second; what then differs on other inputs is given to the
prover, and counts as wrong if that proves it, too. With `--full` the prover, which takes seconds,
is asked from the start.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from compile_lint.linter.prove.prover import Prover

from tests.fix.program_trial import Quick, Tried, check_programs, quiet

EACH = 50


def main() -> int:
    """Run, print shares, and every wrong program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full", action="store_true", help="the whole proof for each")
    parser.add_argument("--reasons", action="store_true", help="count why programs weren't fixed")
    asked = parser.parse_args()
    total: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    wrong: list[Tried] = []
    began = time.perf_counter()

    def tell(tried: Tried) -> None:
        reasons.update(part[:90] for part in tried.reason.split("; ") if part)

    with Prover() as prover, quiet():
        for start in range(0, asked.count, EACH):
            count = min(EACH, asked.count - start)
            quick = prover if asked.full else Quick()
            outcomes, found = check_programs(count, asked.seed + start, quick, prover, tell)
            total.update(outcomes)
            if found is not None:
                wrong.append(found)
                print(
                    f"--- seed {asked.seed + start}: {found.reason}\n{found.before}\n{found.after}"
                )
            shares = ", ".join(f"{n} {outcome}" for outcome, n in total.most_common())
            print(f"{total.total()} programs, {time.perf_counter() - began:.0f} s: {shares}")
            sys.stdout.flush()
    if asked.reasons:
        for reason, number in reasons.most_common(40):
            print(f"{number:6d} {reason}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
