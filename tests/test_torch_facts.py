"""The tables of torch facts, spot-checked against expectations written by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from compile_lint.rules.torch_facts import TorchFacts, installed_torch, known_versions, load


@pytest.fixture(scope="module")
def facts() -> TorchFacts:
    return load("2.13")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("torch.relu", "tensor"),
        ("torch.nn.functional.relu", "tensor"),
        ("torch.functional.einsum", "tensor"),
        ("torch.nn.functional.scaled_dot_product_attention", "tensor"),
        ("torch.nn.functional.cross_entropy", "tensor"),
        ("torch.linalg.svd", "tensors:3"),
        ("torch.linalg.norm", "tensor"),
        ("torch.linalg.eigh", "tensors:2"),
        ("torch.fft.fft", "tensor"),
        ("torch.special.erf", "tensor"),
        ("torch.topk", "tensors:2"),
        ("torch.sort", "tensors:2"),
        ("torch.max", "tensor|tensors:2"),
        ("torch.where", "tensor|tensors"),
        ("torch.unique", "tensor|tensors:2|tensors:3"),
        ("torch.split", "tensors"),
        ("torch.chunk", "tensors"),
        ("torch.unbind", "tensors"),
        ("torch.std_mean", "tensors:2"),
        ("torch.tensor", "tensor"),
        ("torch.zeros", "tensor"),
        ("torch.from_numpy", "tensor"),
        ("torch.equal", "bool"),
        ("torch.allclose", "bool"),
        ("torch.is_tensor", "bool"),
        ("torch.numel", "int"),
        ("torch.get_default_dtype", "dtype"),
        ("torch.device", "device"),
        ("torch.Size", "size"),
        ("torch.Generator", "generator"),
        ("torch.manual_seed", "generator"),
        ("torch.save", "none"),
        ("torch.nn.Parameter", "tensor"),
        ("torch.FloatTensor", "tensor"),
        ("torch.cuda.is_available", "bool"),
        ("torch.distributed.get_rank", "int"),
        ("torch.Tensor.add", "tensor"),
        ("torch.ops.aten.add.Tensor", "tensor"),
        ("torch.nothing_of_the_kind", None),
    ],
)
def test_function_kinds(facts: TorchFacts, name: str, kind: str | None) -> None:
    assert facts.function(name) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("item", "number"),
        ("tolist", "list"),
        ("numpy", "array"),
        ("size", "int|size"),
        ("stride", "int|size"),
        ("dim", "int"),
        ("numel", "int"),
        ("view", "tensor"),
        ("sum", "tensor"),
        ("max", "tensor|tensors:2"),
        ("topk", "tensors:2"),
        ("split", "tensors"),
        ("is_floating_point", "bool"),
        ("data_ptr", "int"),
        ("get_device", "int"),
        ("backward", "none"),
        ("type", "str|tensor"),
        ("__getitem__", "tensor"),
        ("__eq__", "tensor"),
        ("__len__", "int"),
        ("__bool__", "bool"),
        ("shape", None),
    ],
)
def test_method_kinds(facts: TorchFacts, name: str, kind: str | None) -> None:
    assert facts.method(name) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("shape", "size"),
        ("dtype", "dtype"),
        ("device", "device"),
        ("layout", "layout"),
        ("ndim", "int"),
        ("is_cuda", "bool"),
        ("requires_grad", "bool"),
        ("grad", "none|tensor"),
        ("T", "tensor"),
        ("data", "tensor"),
        ("item", None),
    ],
)
def test_attribute_kinds(facts: TorchFacts, name: str, kind: str | None) -> None:
    assert facts.attribute(name) == kind


@pytest.mark.parametrize(
    ("name", "positional", "keywords", "kind"),
    [
        ("torch.Tensor.max", [], {}, "tensor"),
        ("torch.Tensor.max", ["int"], {}, "tensors:2"),
        ("torch.Tensor.max", ["tensor"], {}, "tensor"),
        ("torch.Tensor.max", [], {"axis": "int"}, "tensors:2"),
        ("torch.Tensor.max", ["any"], {}, "tensor|tensors:2"),
        ("torch.max", ["tensor"], {}, "tensor"),
        ("torch.max", ["tensor"], {"dim": "int", "keepdim": "true"}, "tensors:2"),
        ("torch.where", ["tensor"], {}, "tensors"),
        ("torch.where", ["tensor", "tensor", "number"], {}, "tensor"),
        ("torch.nonzero", ["tensor"], {"as_tuple": "true"}, "tensors"),
        ("torch.Tensor.nonzero", [], {}, "tensor"),
        ("torch.Tensor.size", [], {}, "size"),
        ("torch.Tensor.size", ["int"], {}, "int"),
        ("torch.unique", ["tensor"], {"return_inverse": "true"}, "tensors:2"),
        ("torch.unique", ["tensor"], {"dim": "int"}, "tensor"),
        ("torch.nn.functional.max_pool2d", ["tensor", "int"], {}, "tensor"),
        ("torch.nn.functional.max_pool2d", ["tensor", "int"], {"return_indices": "true"},
         "tensors:2"),
        ("torch.relu", ["tensor"], {}, "tensor"),
    ],
)  # fmt: skip
def test_calls_pick_the_overload(
    facts: TorchFacts, name: str, positional: list[str], keywords: dict[str, str], kind: str
) -> None:
    assert facts.call(name, positional, keywords) == kind


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("torch.nonzero", "dynamic_output_shape"),
        ("torch.Tensor.nonzero", "dynamic_output_shape"),
        ("torch.masked_select", "dynamic_output_shape"),
        ("torch.unique", "dynamic_output_shape"),
        ("torch.argwhere", "dynamic_output_shape"),
        ("torch.bincount", "dynamic_output_shape"),
        ("torch.repeat_interleave", "maybe_dynamic_output_shape"),
        ("torch.where", "maybe_dynamic_output_shape"),
        ("torch.nn.functional.one_hot", "maybe_dynamic_output_shape"),
        ("torch.Tensor.item", "data_dependent_output"),
        ("torch.Tensor.tolist", "data_dependent_output"),
        ("torch.Tensor.__bool__", "data_dependent_output"),
        ("torch.equal", "data_dependent_output"),
        ("torch.allclose", "data_dependent_output"),
        ("torch.relu", "pointwise"),
        ("torch.add", "pointwise"),
        ("torch.Tensor.__add__", "pointwise"),
        ("torch.Tensor.add_", "inplace"),
        ("torch.Tensor.unsqueeze_", "inplace_view"),
        ("torch.Tensor.view", "view"),
        ("torch.transpose", "view"),
        ("torch.nn.functional.dropout", "nondeterministic_seeded"),
        ("torch.randn", "nondeterministic_seeded"),
        ("torch.zeros", "constructor"),
        ("torch.tensor", "constructor"),
    ],
)
def test_tags(facts: TorchFacts, name: str, tag: str) -> None:
    assert tag in facts.tags(name)


def test_what_has_no_tag(facts: TorchFacts) -> None:
    assert not facts.tags("torch.matmul") & {"dynamic_output_shape", "data_dependent_output"}
    assert "constructor" not in facts.tags("torch.zeros_like")
    assert "pointwise" not in facts.tags("torch.sum") | facts.tags("torch.max")
    assert facts.tags("torch.nothing_of_the_kind") == frozenset()


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("torch.relu", "graph"),
        ("torch.nn.functional.relu", "graph"),
        ("torch.no_grad", "graph"),
        ("torch.utils.checkpoint.checkpoint", "graph"),
        ("torch.cond", "inline"),
        ("torch.nn.init.normal_", "inline"),
        ("torch.manual_seed", "skip"),
        ("torch.random.manual_seed", "skip"),
        ("torch.save", "skip"),
        ("torch.jit.script", "skip"),
        ("torch.compiler.disable", "skip"),
        ("torch._dynamo.graph_break", "skip"),
        ("torch.nn.utils.rnn.pack_padded_sequence", "skip"),
        ("torch.get_default_dtype", "constant"),
        ("torch.cuda.is_available", "constant"),
        ("torch.equal", "break"),
        ("torch.Tensor.add", "graph"),
        ("torch.Tensor.requires_grad_", "break"),
        ("torch.nn.Linear", None),
    ],
)
def test_dynamo_verdicts(facts: TorchFacts, name: str, verdict: str | None) -> None:
    assert facts.dynamo(name) == verdict


def test_breaks_have_ids_of_the_registry(facts: TorchFacts) -> None:
    skipped = facts.graph_break(facts.break_id("torch.save") or "")
    assert skipped is not None
    assert skipped.type == "Attempted to call function marked as skipped"
    assert facts.break_id("torch.relu") is None
    assert facts.graph_break(facts.break_id("torch.equal") or "") is not None
    assert facts.graph_break("GB9999") is None
    assert len(facts.graph_break_ids()) == 517
    for version in map(load, known_versions()):
        assert version.graph_break("GB0007") == skipped
        breaks = [version.graph_break(id) for id in version.graph_break_ids()]
        assert all(found is not None and found.meaning for found in breaks)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("torch.nn.Linear", "tensor"),
        ("torch.nn.modules.conv.Conv2d", "tensor"),
        ("torch.nn.LSTM", "tensor,tensors:2"),
        ("torch.nn.GRU", "tensors:2"),
        ("torch.nn.MultiheadAttention", "tensors:2"),
        ("torch.nn.MaxPool2d", "tensor|tensors:2"),
        ("torch.nn.CrossEntropyLoss", "tensor"),
        ("torch.nn.Sequential", "any"),
        ("torch.relu", None),
    ],
)
def test_modules(facts: TorchFacts, name: str, kind: str | None) -> None:
    assert facts.module(name) == kind
    assert facts.is_rnn(name) == (name in ("torch.nn.LSTM", "torch.nn.GRU"))


@pytest.mark.parametrize(
    ("name", "covered"),
    [
        ("numpy.linalg.norm", True),
        ("numpy.sum", True),
        ("numpy.pi", True),
        ("numpy.random.rand", True),
        ("numpy.random.default_rng", False),
        ("numpy.interp", False),
        ("numpy.nanmean", False),
        ("numpy.nothing_of_the_kind", None),
    ],
)
def test_numpy(facts: TorchFacts, name: str, covered: bool | None) -> None:
    assert facts.numpy_covered(name) is covered


def test_python_and_skipped_modules(facts: TorchFacts) -> None:
    assert facts.python("builtins.len") == facts.python("os.path.join") == "ok"
    assert facts.python("time.time") == "GB0007"
    assert facts.python("builtins.print") == "GB0059"
    assert facts.python("nothing.of_the_kind") is None
    assert facts.ndarray("sum") == "ok"
    assert facts.ndarray("tobytes") == "GB0158"
    assert facts.skipped_module("sklearn.metrics")
    assert facts.skipped_module("numpy")
    assert not facts.skipped_module("einops")
    assert not facts.skipped_module("numpyro")


def test_aliases(facts: TorchFacts) -> None:
    assert facts.canonical("torch.arccos") == "torch.acos"
    assert facts.canonical("torch.nn.functional.conv2d") == "torch.conv2d"
    assert facts.canonical("torch.nn.modules.rnn.LSTM") == "torch.nn.LSTM"
    assert facts.canonical("mine.function") == "mine.function"


def test_choice_of_version() -> None:
    assert {"2.11", "2.13", "2.14"} <= set(known_versions())
    assert load(None).version == known_versions()[-1]
    assert load("2.13.0+cpu").version == "2.13"
    assert load("2.12").version == "2.11"
    assert load("1.0").version == known_versions()[0]
    assert load("99.0").version == known_versions()[-1]
    with pytest.raises(ValueError, match="not a torch version"):
        load("new")


@pytest.mark.parametrize(
    ("folder", "version"),
    [
        ("torch-2.13.0+cpu.dist-info", "2.13.0+cpu"),
        ("torch-2.11.0.dist-info", "2.11.0"),
        ("torch-2.14.0a0+git1-py3.12.egg-info", "2.14.0a0+git1"),
        ("torch-geometric-2.5.dist-info", None),
        ("torchvision-0.20.dist-info", None),
    ],
)
def test_installed_torch_reads_folder_names(
    folder: str, version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / folder).mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "gone"), str(tmp_path)])
    assert installed_torch() == version


def test_versions_differ_where_torch_did() -> None:
    # Named tensors were removed; quantile stopped reading values.
    assert load("2.11").method("align_to") == "tensor"
    assert load("2.13").method("align_to") is None
    assert load("2.11").dynamo("torch.quantile") == "break"
    assert load("2.13").dynamo("torch.quantile") == "graph"


def test_loading_imports_no_torch() -> None:
    code = (
        "import sys; from compile_lint.rules.torch_facts import load; load(None).tags('torch.relu')"
        "; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
