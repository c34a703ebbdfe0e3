"""One worker for all proofs of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from compile_lint.linter.prove.prover import Prover


@pytest.fixture(scope="session")
def prover() -> Iterator[Prover]:
    with Prover(limit=100) as made:
        yield made
