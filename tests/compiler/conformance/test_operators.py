"""A part of torch's operator database through the backend; `benchmarks/operators.py` does all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch.testing's operator database needs it")

from compile_lint.compiler.settings import Settings

from benchmarks.conformance.operator_report import counts
from benchmarks.conformance.operator_trial import Choice, Row, as_json, entries, try_operator
from benchmarks.conformance.trial import EAGER, EQUAL, configured, lowers

BY_ATEN = """
sin exp log1p sigmoid nn.functional.gelu nn.functional.relu isnan round
add sub mul div.floor_rounding maximum pow atan2 eq logical_and bitwise_xor where clamp lerp
addcmul sum mean amax argmax var std_mean prod any all norm logsumexp softmax log_softmax.with_dtype
cumsum sort gather scatter_add index_select index_put index_add masked_fill take_along_dim
cat stack chunk nn.functional.pad.constant roll flip diagonal expand_as repeat as_strided permute
matmul nn.functional.linear nn.functional.conv2d nn.functional.layer_norm nn.functional.batch_norm
nn.functional.max_pool2d nn.functional.interpolate.bilinear nn.functional.embedding
nn.functional.dropout nn.functional.scaled_dot_product_attention bernoulli nonzero
linalg.solve fft.rfft
""".split()
HIGHER_ORDER = [f"hop: {name}.simple" for name in ("cond", "while_loop", "scan", "map")]
LOWERED = """
sin exp sigmoid nn.functional.relu isnan add sub mul div.no_rounding_mode maximum eq logical_and
where clamp sum mean amax any var softmax cumsum cat expand_as permute masked_fill
""".split()


@lru_cache(maxsize=1)
def known() -> dict[str, Any]:
    return entries()


@pytest.fixture(autouse=True)
def _settings_of_dynamo() -> Iterator[None]:
    with configured():
        yield


def outcomes(row: Row) -> Counter[str]:
    """Samples by outcome, without those that eager refuses."""
    total = counts(as_json(row))
    total.pop(EAGER, None)
    return total


@pytest.mark.parametrize("name", [*BY_ATEN, *HIGHER_ORDER])
def test_equal_to_eager_by_aten(name: str) -> None:
    row = try_operator(name, known()[name], Settings(), Choice(samples=2))
    assert set(outcomes(row)) == {EQUAL}, row.reasons


@pytest.mark.parametrize("name", LOWERED)
def test_generated_kernels_are_equal_to_eager(name: str) -> None:
    settings = Settings(interpret=True)
    if not lowers(settings):
        pytest.skip("no kernels are generated here")
    row = try_operator(name, known()[name], settings, Choice(samples=1, numel=500))
    assert set(outcomes(row)) == {EQUAL}, row.reasons
    assert row.lowered_forward == row.equal, row.forward


def test_every_entry_has_a_name_of_its_own() -> None:
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.hop_db import hop_db

    assert len(known()) == len(op_db) + len(hop_db)
