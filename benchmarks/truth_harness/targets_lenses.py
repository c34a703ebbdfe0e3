"""transformer_lens: a bridge around a small native model, its cache, its pattern detectors."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add

R = torch.randn
IDS = torch.randint
_LENS = "transformer_lens"


def _bridge(**kwargs: object) -> torch.nn.Module:
    settings = {"d_model": 16, "d_head": 8, "n_layers": 2, "n_ctx": 12, "n_heads": 2, "d_mlp": 16,
                "d_vocab": 30, "act_fn": "gelu", "seed": 0}  # fmt: skip
    return import_module(f"{_LENS}.model_bridge.sources").boot_native(settings | kwargs)


def _cache() -> object:
    _, cache = _bridge().run_with_cache(IDS(0, 30, (2, 5)))
    return cache


def _util(module: str, name: str) -> object:
    return getattr(import_module(f"{_LENS}.utilities.{module}"), name)


def _factored() -> object:
    return import_module(f"{_LENS}.FactoredMatrix").FactoredMatrix(R(2, 6, 3), R(2, 3, 5))


def _pattern(name: str) -> object:
    return getattr(import_module(f"{_LENS}.head_detector"), name)


def _doubled(value: torch.Tensor, hook: object) -> torch.Tensor:
    return value * 2


for _name, _build in {
    "bridge": lambda: (_bridge(), (IDS(0, 30, (2, 5)),)),
    "bridge.loss": lambda: (_bridge(), (IDS(0, 30, (2, 5)),), {"return_type": "loss"}),
    "bridge.hooks": lambda: (
        _bridge().run_with_hooks, (IDS(0, 30, (2, 5)),),
        {"fwd_hooks": [("blocks.0.hook_in", _doubled)]}),
    "bridge.cache": lambda: (_bridge().run_with_cache, (IDS(0, 30, (2, 5)),)),
    "bridge.generate": lambda: (
        _bridge().generate, (IDS(0, 30, (2, 3)),),
        {"max_new_tokens": 3, "verbose": False, "do_sample": False, "stop_at_eos": False}),
    "cache.accumulated_resid": lambda: (_cache().accumulated_resid, (1,), {"incl_mid": True}),
    "cache.decompose_resid": lambda: (_cache().decompose_resid, (1,)),
    "cache.stack_head_results": lambda: (_cache().stack_head_results, (1,)),
    "cache.stack_activation": lambda: (_cache().stack_activation, ("pattern",)),
    "cache.stack_neuron_results": lambda: (_cache().stack_neuron_results, (1,)),
    "lm_cross_entropy_loss": lambda: (
        _util("lm_utils", "lm_cross_entropy_loss"), (R(2, 5, 30), IDS(0, 30, (2, 5)))),
    "lm_accuracy": lambda: (
        _util("lm_utils", "lm_accuracy"), (R(2, 5, 30), IDS(0, 30, (2, 5)))),
    "sample_logits.top_k": lambda: (
        _util("logits_utils", "sample_logits"), (R(2, 30),), {"top_k": 4}),
    "sample_logits.top_p": lambda: (
        _util("logits_utils", "sample_logits"), (R(2, 30),), {"top_p": 0.8}),
    "sample_logits.repetition": lambda: (
        _util("logits_utils", "sample_logits"), (R(2, 30),),
        {"repetition_penalty": 1.2, "freq_penalty": 0.1, "tokens": IDS(0, 30, (2, 6))}),
    "logits_to_df": lambda: (_util("logits_utils", "logits_to_df"), (R(30),)),
    "FactoredMatrix.svd": lambda: (lambda m: _factored().svd(), (R(2),)),
    "FactoredMatrix.matmul": lambda: (
        lambda m: ((_factored() @ m).norm(), (_factored() @ m).eigenvalues), (R(2, 5, 6),)),
    "composition_scores": lambda: (
        lambda m: _util("matrix", "composition_scores")(_factored() @ m, _factored()),
        (R(2, 5, 6),)),
    "previous_token_head": lambda: (
        _pattern("get_previous_token_head_detection_pattern"), (IDS(0, 9, (1, 6)),)),
    "duplicate_token_head": lambda: (
        _pattern("get_duplicate_token_head_detection_pattern"), (IDS(0, 9, (1, 6)),)),
    "induction_head": lambda: (
        _pattern("get_induction_head_detection_pattern"), (IDS(0, 9, (1, 6)),)),
    "head_similarity": lambda: (
        _pattern("compute_head_attention_similarity_score"),
        (torch.tril(R(5, 5).abs()), torch.tril(R(5, 5).abs())),
        {"exclude_bos": True, "exclude_current_token": False, "error_measure": "abs"}),
    "solu": lambda: (_util("activation_functions", "solu"), (R(2, 3, 8),)),
}.items():  # fmt: skip
    add(_LENS, _name, _build, modes=("eval",) if _name != "bridge" else ("eval", "train"))
