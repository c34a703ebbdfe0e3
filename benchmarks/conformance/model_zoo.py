"""Small models with random weights: one per family of timm and transformers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import torch
from torch import nn

from ..truth_harness.vision_ops import define_missing

LENGTH = 12
VOCABULARY = 99


@dataclass(frozen=True, slots=True)
class Model:
    """A family's model: `package`, what is built from it, and how it is called.

    `note` says which setting was chosen so that it can be captured; `mode` is what it is put in for
    the gradients.
    """

    family: str
    package: str
    what: str
    build: Callable[[], tuple[nn.Module, dict[str, Any]]]
    note: str = ""
    mode: str = "train"


def zoo() -> dict[str, Model]:
    """Every family, by name."""
    models = [*_vision(), *_language()]
    return {model.family: model for model in models}


# --- timm ----------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _stand_ins() -> None:
    define_missing()


def _with_vision(package: str) -> Any:
    """A package that imports torchvision, whose extension may not fit this torch."""
    _stand_ins()
    return import_module(package)


def _image(family: str, name: str, size: int = 64, **options: Any) -> Model:
    def build() -> tuple[nn.Module, dict[str, Any]]:
        timm = _with_vision("timm")
        if "." in name:  # a class whose named models are all large
            module, cls = name.split(".")
            model = getattr(getattr(timm.models, module), cls)(num_classes=10, **options)
        else:
            model = timm.create_model(name, pretrained=False, num_classes=10, **options)
        return model, {"": torch.randn(2, 3, size, size)}

    return Model(family, "timm", name, build)


def _vision() -> list[Model]:
    narrow = {"depths": (1, 1, 1, 1), "dims": (16, 24, 32, 48)}
    plain = {"img_size": 32, "patch_size": 8, "embed_dim": 48, "depth": 2, "num_heads": 3}
    return [
        _image("ResNet", "resnet18", block_args={}, layers=(1, 1, 1, 1), channels=(16, 24, 32, 48)),
        _image("ResNeXt", "resnext50_32x4d", layers=(1, 1, 1, 1), channels=(32, 32, 64, 64)),
        _image("DenseNet", "densenet121", growth_rate=8, block_config=(2, 2, 2, 2)),
        _image("ConvNeXt", "convnext_atto", **narrow),
        _image("ConvNeXt V2", "convnextv2_atto", **narrow),
        _image("EfficientNet", "efficientnet_b0", 48),
        _image("MobileNetV2", "mobilenetv2_035", depth_multiplier=0.5),
        _image("MobileNetV3", "mobilenetv3_small_050", 48),
        _image("RegNet", "regnetx_002", 48),
        _image("RepVGG", "repvgg_a0", 96),
        _image("GhostNet", "ghostnet_050", 48),
        _image("VGG", "vgg.VGG", cfg=[8, "M", 16, "M", 16, 24, "M", 24, "M"], mlp_ratio=0.05),
        _image("Vision Transformer", "vit_tiny_patch16_224", 32, **plain),
        _image("DeiT", "deit_tiny_distilled_patch16_224", 32, **plain),
        _image("BEiT", "beit_base_patch16_224", 32, **plain),
        _image(
            "Swin",
            "swin_tiny_patch4_window7_224",
            56,
            img_size=56,
            embed_dim=24,
            depths=(2, 2),
            num_heads=(2, 4),
        ),
        _image(
            "MLP-Mixer",
            "mlp_mixer.MlpMixer",
            img_size=64,
            patch_size=16,
            num_blocks=2,
            embed_dim=48,
        ),
        _image("PoolFormer", "metaformer.MetaFormer", depths=(1, 1, 1, 1), dims=(16, 24, 32, 48)),
        _image("MobileViT", "mobilevit_xxs"),
        _image("EdgeNeXt", "edgenext_xx_small"),
    ]


# --- transformers --------------------------------------------------------------------------------

SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {**SMALL, "num_key_value_heads": 2, "use_cache": False}


def tokens(length: int = LENGTH) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (2, length))


def _text() -> dict[str, Any]:
    ids = tokens()
    mask = torch.ones_like(ids)
    mask[1, LENGTH - 3 :] = 0
    return {"input_ids": ids, "attention_mask": mask}


def _causal() -> dict[str, Any]:
    return {**_text(), "use_cache": False}


def _pair() -> dict[str, Any]:
    return {**_text(), "decoder_input_ids": tokens(6), "use_cache": False}


def _from(
    family: str,
    prefix: str,
    suffix: str,
    inputs: Callable[[], dict[str, Any]],
    config: Any = None,
    prepare: str | None = None,
    note: str = "",
    mode: str = "train",
    **options: Any,
) -> Model:
    """`<prefix><suffix>` of transformers with `<prefix>Config(**options)` or `config(package)`.

    `prepare` names a method that is called on the model.
    """

    def build() -> tuple[nn.Module, dict[str, Any]]:
        package = _with_vision("transformers")
        made = getattr(package, f"{prefix}Config")(**options) if config is None else config(package)
        model = getattr(package, prefix + suffix)(made)
        if prepare is not None:
            getattr(model, prepare)()
        return model, inputs()

    return Model(family, "transformers", prefix + suffix, build, note, mode)


def _detr(package: Any) -> Any:
    backbone = package.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 24, 32],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage4"],
    )
    return package.DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=backbone,
        num_queries=5,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
    )


def _clip(package: Any) -> Any:
    text = {k: v for k, v in SMALL.items() if k != "max_position_embeddings"}
    vision = {k: SMALL[k] for k in list(SMALL)[1:5]}
    return package.CLIPConfig(
        text_config={**text, "max_position_embeddings": 32},
        vision_config={**vision, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )


def _language() -> list[Model]:
    seq = {
        "vocab_size": VOCABULARY,
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "max_position_embeddings": 64,
    }
    gpt = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
    # Without positions in the attention a dropout of theirs is dead code: eager draws for it,
    # AOTAutograd leaves it out, and every later dropout differs.
    relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
    experts = {"num_local_experts": 4, "experts_implementation": "batched_mm"}
    note = "experts_implementation='batched_mm': the loop over experts depends on data"
    pixels = {"image_size": 32, "patch_size": 8, **{k: SMALL[k] for k in list(SMALL)[1:5]}}
    speech = {**SMALL, "conv_dim": (16, 16), "conv_stride": (4, 2), "conv_kernel": (8, 4)}
    speech |= {"num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "layerdrop": 0.0}
    speech |= {"num_feat_extract_layers": 2, "mask_time_prob": 0.0, "apply_spec_augment": False}
    return [
        _from("BERT", "Bert", "ForMaskedLM", _text, **SMALL),
        _from("RoBERTa", "Roberta", "ForMaskedLM", _text, **SMALL),
        _from("ALBERT", "Albert", "ForMaskedLM", _text, **SMALL, embedding_size=16),
        _from("ELECTRA", "Electra", "ForMaskedLM", _text, **SMALL, embedding_size=16),
        _from(
            "DistilBERT",
            "DistilBert",
            "ForMaskedLM",
            _text,
            vocab_size=VOCABULARY,
            dim=32,
            n_layers=2,
            n_heads=4,
            hidden_dim=64,
        ),
        _from("DeBERTa V2", "DebertaV2", "ForMaskedLM", _text, **SMALL, **relative),
        _from("GPT-2", "GPT2", "LMHeadModel", _causal, **gpt),
        _from("GPT-NeoX", "GPTNeoX", "ForCausalLM", _causal, **SMALL),
        _from("BLOOM", "Bloom", "ForCausalLM", _causal, vocab_size=99, hidden_size=32, n_layer=2),
        _from("OPT", "OPT", "ForCausalLM", _causal, **SMALL, ffn_dim=64, word_embed_proj_dim=32),
        _from("Falcon", "Falcon", "ForCausalLM", _causal, **SMALL),
        _from("Llama", "Llama", "ForCausalLM", _causal, **GROUPED),
        _from("Mistral", "Mistral", "ForCausalLM", _causal, **GROUPED, sliding_window=8),
        _from("Mixtral", "Mixtral", "ForCausalLM", _causal, note=note, **GROUPED, **experts),
        _from("Qwen2", "Qwen2", "ForCausalLM", _causal, **GROUPED),
        _from("Gemma", "Gemma", "ForCausalLM", _causal, **GROUPED, head_dim=8),
        _from("Phi", "Phi", "ForCausalLM", _causal, **GROUPED),
        _from(
            "Mamba",
            "Mamba",
            "ForCausalLM",
            lambda: {"input_ids": tokens(), "use_cache": False},
            vocab_size=VOCABULARY,
            hidden_size=32,
            num_hidden_layers=2,
            state_size=8,
        ),
        _from(
            "T5",
            "T5",
            "ForConditionalGeneration",
            _pair,
            vocab_size=VOCABULARY,
            d_model=32,
            d_kv=8,
            d_ff=64,
            num_layers=2,
            num_heads=4,
        ),
        _from("BART", "Bart", "ForConditionalGeneration", _pair, **seq),
        _from(
            "Whisper",
            "Whisper",
            "ForConditionalGeneration",
            lambda: {
                "input_features": torch.randn(2, 8, 40),
                "decoder_input_ids": tokens(6),
                "use_cache": False,
            },
            **{k: v for k, v in seq.items() if k != "max_position_embeddings"},
            num_mel_bins=8,
            max_source_positions=20,
            max_target_positions=16,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
            begin_suppress_tokens=None,
        ),
        _from(
            "wav2vec 2.0",
            "Wav2Vec2",
            "ForCTC",
            lambda: {"input_values": torch.randn(2, 400)},
            prepare="freeze_feature_encoder",
            note="feature encoder frozen: its forward sets requires_grad otherwise (GB0206)",
            **speech,
        ),
        _from(
            "ViT",
            "ViT",
            "ForImageClassification",
            lambda: {"pixel_values": torch.randn(2, 3, 32, 32)},
            **pixels,
        ),
        _from(
            "CLIP",
            "CLIP",
            "Model",
            lambda: {**_text(), "pixel_values": torch.randn(2, 3, 32, 32)},
            config=_clip,
        ),
        _from(
            "DETR",
            "Detr",
            "ForObjectDetection",
            lambda: {
                "pixel_values": torch.randn(2, 3, 64, 64),
                "pixel_mask": torch.ones(2, 64, 64, dtype=torch.int64),
            },
            config=_detr,
            mode="eval",
            note="gradients in eval mode: in training mode it branches on isfinite (GB0170)",
        ),
    ]
