"""Random programs, repaired; `python -m benchmarks.fix_programs` runs thousands."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from compile_lint.linter.prove.model import Status, Trial, Verdict
from compile_lint.linter.prove.prover import Prover

from .program_trial import (
    CLEAN,
    FIXED,
    PARTLY,
    WRONG,
    Quick,
    Tried,
    attempt,
    check_programs,
    difference,
    fresh_inputs,
    quiet,
)

COUNT = 50  # of each of four seeds
FULL = 2  # of those that the whole proof sees
HEAD = (
    "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor, s: torch.Tensor, k: torch.Tensor):\n"
)


@pytest.mark.parametrize("seed", [0, 50, 100, 150])
def test_what_is_applied_is_equal_to_eager(seed: int) -> None:
    tried: list[Tried] = []
    with Prover() as prover, quiet():
        outcomes, wrong = check_programs(COUNT, seed, Quick(), prover, tried.append)
    assert wrong is None, f"{wrong.reason}\n{wrong.before}\n{wrong.after}"
    assert outcomes.total() == COUNT
    assert outcomes[FIXED] + outcomes[PARTLY] > 0.1 * (COUNT - outcomes[CLEAN]), outcomes


def test_what_the_prover_proves_is_equal_to_eager() -> None:
    with Prover() as prover, quiet():
        outcomes, wrong = check_programs(FULL, 3, prover, prover)
    assert wrong is None, f"{wrong.reason}\n{wrong.before}\n{wrong.after}"
    assert outcomes.total() == FULL


def test_a_wrong_rewrite_is_seen() -> None:
    """The harness itself: with a prover that believes everything, what is wrong comes out."""

    class Believer:
        def prove(self, trial: Trial) -> Verdict:
            return Verdict(Status.PROVED)

    text = HEAD + "    if x.sum() > 0:\n        x = x.sqrt()\n    return x + 1, s\n"
    with quiet():
        assert attempt(text, Believer(), Believer()).outcome == WRONG


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ("    x = torch.where(s > 0, x - 1, x * 2)\n    return x, s\n", "value 0"),
        ("    x = torch.where(s > 0, x * 2, x - 1).detach()\n    return x, s\n", "gradient 0"),
        ("    x.copy_(torch.where(s > 0, x * 2, x - 1))\n    return x, s\n", "value 2"),
        ("    torch._assert_async(s > 0)\n    return x * 2, s\n", "became RuntimeError"),
    ],
)
def test_what_counts_as_a_difference(after: str, says: str) -> None:
    before = "    if s > 0:\n        x = x * 2\n    else:\n        x = x - 1\n    return x, s\n"
    assert says in difference(HEAD + before, HEAD + after, fresh_inputs())
