"""Training and reading of language models: trl, gliner."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import torch
from registry import add, of

R = torch.randn
IDS = torch.randint


# --- trl -------------------------------------------------------------------------------------


def _trl(name: str, module: str = "trainer.utils") -> object:
    return getattr(import_module(f"trl.{module}"), name)


def _method(module: str, owner: str, name: str) -> object:
    return getattr(getattr(import_module(f"trl.{module}"), owner), name)


def _labels() -> torch.Tensor:
    labels = IDS(0, 9, (2, 6))
    labels[:, :2] = -100
    return labels


def _odds_ratio() -> tuple:
    method = _method("experimental.orpo.orpo_trainer", "ORPOTrainer", "odds_ratio_loss")
    gather = SimpleNamespace(gather_for_metrics=lambda x: x, device=torch.device("cpu"))
    trainer = SimpleNamespace(beta=0.1, accelerator=gather)
    return lambda x, y: method(trainer, x, y), (-torch.rand(4), -torch.rand(4))


def _cpo(loss: str) -> tuple:
    method = _method("experimental.cpo.cpo_trainer", "CPOTrainer", "cpo_loss")
    trainer = SimpleNamespace(
        beta=0.1, loss_type=loss, label_smoothing=0.0, simpo_gamma=0.5, alpha=0.0,
        accelerator=SimpleNamespace(device=torch.device("cpu")),
    )  # fmt: skip
    return lambda x, y: method(trainer, x, y), (-torch.rand(4), -torch.rand(4))


def _batch(encoder_decoder: bool) -> tuple:
    method = _method("experimental.cpo.cpo_trainer", "CPOTrainer", "concatenated_inputs")
    batch = {
        "chosen_input_ids": IDS(0, 9, (2, 6)), "chosen_attention_mask": torch.ones(2, 6),
        "chosen_labels": _labels(), "rejected_input_ids": IDS(0, 9, (2, 5)),
        "rejected_attention_mask": torch.ones(2, 5), "rejected_labels": _labels()[:, :5],
        "prompt_input_ids": IDS(0, 9, (2, 3)), "prompt_attention_mask": torch.ones(2, 3),
    }  # fmt: skip
    return method, (batch, encoder_decoder)


_GRPO = "trainer.grpo_trainer"
_GKD = "experimental.gkd.gkd_trainer"
for _name, _build in {
    "pad": lambda: (_trl("pad"), ([R(3), R(5)], 0, "left")),
    "pad.multiple": lambda: (_trl("pad"), ([R(3, 2), R(5, 2)], 0, "right", 4)),
    "flush_left": lambda: (
        _trl("flush_left"),
        (torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]]), IDS(0, 9, (2, 5)))),
    "selective_log_softmax": lambda: (
        _trl("selective_log_softmax"), (R(2, 5, 9), IDS(0, 9, (2, 5)))),
    "selective_log_softmax.half": lambda: (
        _trl("selective_log_softmax"), (R(2, 5, 9).bfloat16(), IDS(0, 9, (2, 5)), 0.7)),
    "entropy_from_logits": lambda: (_trl("entropy_from_logits"), (R(2, 5, 9), 3)),
    "selective_log_softmax_and_entropy": lambda: (
        _trl("selective_log_softmax_and_entropy"), (R(2, 5, 9), IDS(0, 9, (2, 5)))),
    "nanstd": lambda: (_trl("nanstd"), (R(3, 4), 1)),
    "nanmin": lambda: (_trl("nanmin"), (torch.tensor([1.0, float("nan"), 2.0]),)),
    "nanmax": lambda: (_trl("nanmax"), (torch.tensor([float("nan"), float("nan")]),)),
    "split_tensor_dict": lambda: (
        _trl("split_tensor_dict"), ({"x": R(4, 2), "y": R(4), "z": None}, 2)),
    "shuffle_sequence_dict": lambda: (
        _trl("shuffle_sequence_dict"), ({"x": R(4, 2), "y": [1, 2, 3, 4]},)),
    "split_pixel_values_by_grid": lambda: (
        _trl("split_pixel_values_by_grid"),
        ({"image_grid_thw": torch.tensor([[1, 2, 2], [1, 2, 4]]), "pixel_values": R(12, 3),
          "num_images": [1, 1]},)),
    "first_true_indices": lambda: (
        _trl("first_true_indices", "experimental.utils"), (R(3, 5) > 0,)),
    "truncate_right": lambda: (
        _trl("truncate_right", "experimental.utils"), (IDS(0, 5, (2, 6)), 3, 0)),
    "pad_to_length": lambda: (
        _trl("pad_to_length", "experimental.utils"), (R(2, 3), 5, 0)),
    "generalized_jsd_loss": lambda: (
        _method(_GKD, "GKDTrainer", "generalized_jsd_loss"),
        (R(2, 6, 9), R(2, 6, 9), _labels())),
    "generalized_jsd_loss.edge": lambda: (
        _method(_GKD, "GKDTrainer", "generalized_jsd_loss"),
        (R(2, 6, 9), R(2, 6, 9), None, 0)),
    "get_off_policy_mask": lambda: (
        _method(_GRPO, "GRPOTrainer", "get_off_policy_mask"),
        (R(2, 1), R(2, 5), R(2, 5), torch.ones(2, 5), 0.1)),
    "get_gamma_weights": lambda: (
        _method(_GRPO, "GRPOTrainer", "get_gamma_weights"),
        (R(2, 1), R(2, 5), torch.ones(2, 5), torch.rand(2, 5))),
    "get_batch_logps": lambda: (
        _method("experimental.cpo.cpo_trainer", "CPOTrainer", "get_batch_logps"),
        (R(2, 6, 9), _labels(), True)),
    "odds_ratio_loss": _odds_ratio,
    "cpo_loss.sigmoid": lambda: _cpo("sigmoid"),
    "cpo_loss.simpo": lambda: _cpo("simpo"),
    "concatenated_inputs": lambda: _batch(False),
}.items():  # fmt: skip
    add("trl", _name, _build, grad="loss" in _name)

# --- gliner ----------------------------------------------------------------------------------


def _words() -> torch.Tensor:
    return torch.tensor([[0, 0, 0, 1, 2, 3], [0, 0, 0, 1, 2, 0]])


def _prompt() -> torch.Tensor:
    return torch.tensor([[7, 1, 7, 3, 4, 5], [7, 2, 6, 3, 4, 0]])


def _spans() -> torch.Tensor:
    start = torch.arange(5)[:, None].expand(5, 2)
    return torch.stack([start, (start + torch.arange(2)).clamp(max=4)], -1).reshape(1, 10, 2)


_UTILS = "gliner.modeling.utils"
for _pooling in ("first", "mean", "max"):
    add(
        "gliner",
        f"extract_word_embeddings.{_pooling}",
        lambda p=_pooling: (
            import_module(_UTILS).extract_word_embeddings,
            (R(2, 6, 8), _words(), torch.ones(2, 6), 2, 3, 8, torch.tensor([[3], [2]]), p),
        ),
        grad=True,
    )
for _mode in ("markerV0", "marker", "query", "mlp", "conv_max", "conv_share", "markerV1"):
    add(
        "gliner",
        f"SpanRepLayer.{_mode}",
        lambda m=_mode: (
            of("gliner.modeling.span_rep", "SpanRepLayer", 8, 2, m, dropout=0.1),
            (R(1, 5, 8), _spans()),
        ),
        modes=("train",),
    )
_LAYERS = "gliner.modeling.layers"
for _name, _build in {
    "extract_prompt_features": lambda: (
        import_module(_UTILS).extract_prompt_features,
        (7, R(2, 6, 8), _prompt(), torch.ones(2, 6), 2, 8)),
    "extract_prompt_features_and_words": lambda: (
        import_module(_UTILS).extract_prompt_features_and_word_embeddings,
        (7, R(2, 6, 8), _prompt(), torch.ones(2, 6), torch.tensor([[3], [2]]), _words())),
    "build_entity_pairs": lambda: (
        import_module(_UTILS).build_entity_pairs, (torch.rand(2, 4, 4), R(2, 4, 8), 0.3)),
    "build_all_entity_pairs": lambda: (
        import_module(_UTILS).build_all_entity_pairs,
        (R(2, 4, 8), torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0]]))),
    "extract_spans_from_tokens": lambda: (
        import_module(_UTILS).extract_spans_from_tokens, (R(2, 5, 3, 3), None, 0.4)),
    "span_dice_loss": lambda: (
        import_module("gliner.modeling.loss_functions").span_dice_loss,
        (R(2, 6, 3), IDS(0, 2, (2, 6, 3)).float()), {"reduction": "mean"}),
    "focal_loss": lambda: (
        import_module("gliner.modeling.loss_functions").focal_loss_with_logits,
        (R(2, 6, 3), IDS(0, 2, (2, 6, 3)).float()),
        {"reduction": "mean", "prob_margin": 0.1, "label_smoothing": 0.1}),
    "cross_entropy_loss": lambda: (
        import_module("gliner.modeling.loss_functions").cross_entropy_loss,
        (R(2, 6, 3), IDS(0, 3, (2, 6)))),
    "LstmSeq2SeqEncoder": lambda: (
        of(_LAYERS, "LstmSeq2SeqEncoder", SimpleNamespace(hidden_size=8)),
        (R(2, 5, 8), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]))),
    "CrossFuser": lambda: (
        of(_LAYERS, "CrossFuser", 8, 8, num_heads=2),
        (R(2, 5, 8), R(2, 3, 8), torch.ones(2, 5, dtype=torch.long),
         torch.ones(2, 3, dtype=torch.long))),
    "Scorer": lambda: (
        of("gliner.modeling.scorers", "Scorer", 8), (R(2, 5, 8), R(2, 3, 8))),
    "TokenDecoder.indices": lambda: (
        of("gliner.decoding.decoder", "TokenDecoder",
            SimpleNamespace(max_width=3))._get_indices_above_threshold,
        (torch.rand(5, 3), 0.5)),
}.items():  # fmt: skip
    add("gliner", _name, _build, grad=True)
