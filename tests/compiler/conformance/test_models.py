"""Three whole models through the backend; `python -m benchmarks.models` does every family."""

from __future__ import annotations

import importlib.util
import warnings

import pytest

pytest.importorskip("torch")

from compile_lint.compiler.settings import Settings

from benchmarks.conformance.model_trial import judge
from benchmarks.conformance.model_zoo import zoo
from benchmarks.conformance.trial import configured


@pytest.mark.parametrize("family", ["ConvNeXt", "BERT", "Llama"])
def test_inference_and_training_are_equal_to_eager(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = zoo()[family]
    if importlib.util.find_spec(model.package) is None:
        warnings.warn(f"{model.package} isn't installed: {family} is not checked", stacklevel=1)
        pytest.skip(f"{model.package} isn't installed")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with configured():
        judged = judge(model, Settings())
    assert judged.outcome == "equal", judged.reason
