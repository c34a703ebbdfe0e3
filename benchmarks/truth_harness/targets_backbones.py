"""Backbones, front ends, losses and attention: birder, TorchSeg, SAM 2, labml, s3prl and others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import torch
from registry import add, each, of

R = torch.randn


def _ids(*shape: int) -> torch.Tensor:
    return torch.randint(0, 16, shape)


# --- birder ---------------------------------------------------------------------------------------


def _birder(name: str, size: int = 64, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        registry = import_module("birder.model_registry").registry
        net = registry.net_factory(name, 10, size=(size, size), **kwargs)
        return net, (R(2, 3, size, size),)

    return build


def _detector(name: str, size: int = 64) -> Callable[[], tuple]:
    def build() -> tuple:
        registry = import_module("birder.model_registry").registry
        backbone = registry.net_factory("resnet_v1_18", 0, size=(size, size))
        net = registry.detection_net_factory(name, 3, backbone, size=(size, size))
        boxes = torch.tensor([[4.0, 4, 40, 40], [10, 12, 50, 60]])
        targets = [{"boxes": boxes, "labels": torch.tensor([1, 2])} for _ in range(2)]
        return net, (R(2, 3, size, size), targets)

    return build


each(
    "birder",
    {name: _birder(name) for name in (
        "biformer_t", "focalnet_t_srf", "levit_128s", "mvit_v2_t", "vit_reg4_b16", "xcit_nano12_p16",
        "efficientvim_m1", "transnext_micro", "rope_vit_reg4_b14", "hieradet_tiny", "swin_transformer_v2_t",
        "volo_d1",
    )} | {name: _detector(name) for name in ("retinanet", "detr", "fcos", "rtmdet_t", "ssd", "yolo_v3")},
)  # fmt: skip

# --- torchseg -------------------------------------------------------------------------------------


def _segments(name: str, encoder: str = "resnet18", **kwargs: object) -> Callable[[], tuple]:
    return lambda: (
        of("torchseg", name, encoder, encoder_weights=None, classes=3, **kwargs).float(),
        (R(2, 3, 64, 64),),
    )


each(
    "torchseg",
    {name: _segments(name) for name in ("Unet", "MAnet", "PSPNet", "DeepLabV3Plus", "FPN")},
)


def _mask_loss(name: str, mode: str, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        classes = 1 if mode == "binary" else 4
        labels = torch.randint(0, 2 if mode == "binary" else 4, (2, 8, 8))
        target = labels[:, None].float() if mode == "binary" else labels
        return of("torchseg.losses", name, mode=mode, **kwargs), (R(2, classes, 8, 8), target)

    return build


each(
    "torchseg",
    {
        "DiceLoss": _mask_loss("DiceLoss", "multiclass"),
        "DiceLoss.ignored": _mask_loss("DiceLoss", "multiclass", ignore_index=0),
        "FocalLoss": _mask_loss("FocalLoss", "multiclass"),
        "FocalLoss.ignored": _mask_loss("FocalLoss", "binary", ignore_index=0),
        "JaccardLoss": _mask_loss("JaccardLoss", "binary"),
        "LovaszLoss": _mask_loss("LovaszLoss", "multiclass"),
        "LovaszLoss.binary": _mask_loss("LovaszLoss", "binary"),
    },
    grad=True,
)

# --- dynamic_network_architectures ----------------------------------------------------------------


def _nnunet(name: str, **kwargs: object) -> Callable[[], tuple]:
    return lambda: (
        of(
            "dynamic_network_architectures.architectures.unet",
            name,
            input_channels=1,
            n_stages=3,
            features_per_stage=(4, 8, 16),
            conv_op=torch.nn.Conv3d,
            kernel_sizes=3,
            strides=(1, 2, 2),
            num_classes=2,
            conv_bias=True,
            norm_op=torch.nn.InstanceNorm3d,
            nonlin=torch.nn.LeakyReLU,
            **kwargs,
        ),
        (R(1, 1, 16, 16, 16),),
    )


_STAGES = {"n_conv_per_stage": (1, 1, 1), "n_conv_per_stage_decoder": (1, 1)}
_BLOCKS = {"n_blocks_per_stage": (1, 1, 1), "n_conv_per_stage_decoder": (1, 1)}
each(
    "dynamic_network_architectures",
    {
        "PlainConvUNet": _nnunet("PlainConvUNet", **_STAGES),
        "PlainConvUNet.deep": _nnunet("PlainConvUNet", deep_supervision=True, **_STAGES),
        "ResidualEncoderUNet": _nnunet("ResidualEncoderUNet", **_BLOCKS),
        "ResNet18": lambda: (
            of("dynamic_network_architectures.architectures.resnet", "ResNet18_CIFAR", 5),
            (R(2, 3, 32, 32),),
        ),
    },
)

# --- sam2 -----------------------------------------------------------------------------------------


def _image_encoder() -> torch.nn.Module:
    trunk = of(
        "sam2.modeling.backbones.hieradet",
        "Hiera",
        embed_dim=16,
        num_heads=1,
        stages=(1, 1, 3, 1),
        global_att_blocks=(3,),
        window_pos_embed_bkg_spatial_size=(7, 7),
    )
    encoding = of("sam2.modeling.position_encoding", "PositionEmbeddingSine", 32)
    neck = of(
        "sam2.modeling.backbones.image_encoder",
        "FpnNeck",
        encoding,
        32,
        trunk.channel_list,
        fpn_top_down_levels=[2, 3],
    )
    return of("sam2.modeling.backbones.image_encoder", "ImageEncoder", trunk, neck, 1)


def _mask_decoder() -> tuple:
    transformer = of("sam2.modeling.sam.transformer", "TwoWayTransformer", 2, 32, 2, 64)
    decoder = of(
        "sam2.modeling.sam.mask_decoder",
        "MaskDecoder",
        transformer_dim=32,
        transformer=transformer,
        iou_prediction_use_sigmoid=True,
        pred_obj_scores=True,
        dynamic_multimask_via_stability=True,
    )
    kwargs = {"multimask_output": False, "repeat_image": False}
    return decoder, (R(2, 32, 8, 8), R(1, 32, 8, 8), R(2, 3, 32), R(2, 32, 8, 8)), kwargs


def _memory_attention() -> tuple:
    module = "sam2.modeling.sam.transformer"
    rope = {"embedding_dim": 32, "num_heads": 1, "downsample_rate": 1, "feat_sizes": (8, 8)}
    layer = of(
        "sam2.modeling.memory_attention",
        "MemoryAttentionLayer",
        activation="relu",
        cross_attention=of(module, "RoPEAttention", rope_k_repeat=True, kv_in_dim=8, **rope),
        d_model=32,
        dim_feedforward=64,
        dropout=0.1,
        pos_enc_at_attn=False,
        pos_enc_at_cross_attn_keys=True,
        pos_enc_at_cross_attn_queries=False,
        self_attention=of(module, "RoPEAttention", **rope),
    )
    attention = of("sam2.modeling.memory_attention", "MemoryAttention", 32, True, layer, 2)
    return attention, (R(64, 1, 32), R(132, 1, 8), R(64, 1, 32), R(132, 1, 8), 4)


def _memory_encoder() -> tuple:
    fuser = of(
        "sam2.modeling.memory_encoder",
        "Fuser",
        of("sam2.modeling.memory_encoder", "CXBlock", 32),
        2,
    )
    encoder = of(
        "sam2.modeling.memory_encoder",
        "MemoryEncoder",
        8,
        of("sam2.modeling.memory_encoder", "MaskDownSampler", 32),
        fuser,
        of("sam2.modeling.position_encoding", "PositionEmbeddingSine", 8),
        in_dim=32,
    )
    return encoder, (R(1, 32, 4, 4), R(1, 1, 64, 64))


def _prompts() -> tuple:
    encoder = of("sam2.modeling.sam.prompt_encoder", "PromptEncoder", 32, (8, 8), (128, 128), 8)
    points = (torch.rand(2, 3, 2) * 128, torch.tensor([[1, 0, -1], [1, 1, 0]]))
    return encoder, (points, torch.rand(2, 4) * 100, R(2, 1, 32, 32))


each(
    "sam2",
    {
        "ImageEncoder": lambda: (_image_encoder(), (R(1, 3, 128, 128),)),
        "MaskDecoder": _mask_decoder,
        "MemoryAttention": _memory_attention,
        "MemoryEncoder": _memory_encoder,
        "PromptEncoder": _prompts,
        "mask_to_box": lambda: (import_module("sam2.utils.misc").mask_to_box, (R(2, 1, 8, 8) > 0,)),
        "batched_mask_to_box": lambda: (
            import_module("sam2.utils.amg").batched_mask_to_box,
            (R(2, 8, 8) > 0,),
        ),
        "mask_to_rle": lambda: (
            import_module("sam2.utils.amg").mask_to_rle_pytorch,
            (R(2, 8, 8) > 0,),
        ),
    },
)

# --- labml_nn -------------------------------------------------------------------------------------


def _feed_forward() -> torch.nn.Module:
    return of("labml_nn.transformers.feed_forward", "FeedForward", 16, 32)


def _switch(drop: bool) -> torch.nn.Module:
    return of(
        "labml_nn.transformers.switch",
        "SwitchFeedForward",
        capacity_factor=1.0,
        drop_tokens=drop,
        is_scale_prob=True,
        n_experts=3,
        expert=_feed_forward(),
        d_model=16,
    )


def _labml_step(module: str, name: str, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        weight = torch.nn.Parameter(R(4, 4))
        optimizer = of(f"labml_nn.optimizers.{module}", name, [weight], **kwargs)

        def step(x: torch.Tensor) -> None:
            (weight @ x).square().sum().backward()
            optimizer.step()

        return step, (R(4, 4),)

    return build


def _mlm() -> tuple:
    mlm = of(
        "labml_nn.transformers.mlm", "MLM", padding_token=0, mask_token=1, no_mask_tokens=[2], n_tokens=16
    )  # fmt: skip
    return mlm, (_ids(6, 2),)


def _feedback() -> tuple:
    module = "labml_nn.transformers.feedback"
    attention = of(module, "FeedbackAttention", 2, 16)
    layer = of(
        module,
        "FeedbackTransformerLayer",
        d_model=16,
        attn=attention,
        feed_forward=_feed_forward(),
        dropout_prob=0.1,
    )
    return of(module, "FeedbackTransformer", layer, 2), (R(4, 2, 16),)


def _evidence(name: str) -> Callable[[], tuple]:
    target = torch.eye(4)[[0, 2, 3]]
    return lambda: (of("labml_nn.uncertainty.evidence", name), (torch.rand(3, 4), target))


each(
    "labml_nn",
    {
        "SwitchFeedForward": lambda: (_switch(False), (R(4, 2, 16),)),
        "SwitchFeedForward.drops": lambda: (_switch(True), (R(4, 2, 16),)),
        "FeedbackTransformer": _feedback,
        "MLM": _mlm,
        "Router": lambda: (
            of("labml_nn.capsule_networks", "Router", 6, 3, 4, 5, 2),
            (R(2, 6, 4),),
        ),
        "MarginLoss": lambda: (
            of("labml_nn.capsule_networks", "MarginLoss", n_labels=3),
            (R(2, 3, 4), torch.tensor([0, 2])),
        ),
        "LSTM": lambda: (of("labml_nn.lstm", "LSTM", 4, 8, 2), (R(3, 2, 4),)),
        "BatchChannelNorm": lambda: (
            of("labml_nn.normalization.batch_channel_norm", "BatchChannelNorm", 4, 2),
            (R(2, 4, 6, 6),),
        ),
        "RotaryPositionalEmbeddings": lambda: (
            of("labml_nn.transformers.rope", "RotaryPositionalEmbeddings", 4),
            (R(5, 2, 2, 8),),
        ),
        "AFTLocal": lambda: (
            of("labml_nn.transformers.aft", "AFTLocal", 16, 8, 3),
            (),
            {
                "query": R(8, 2, 16),
                "key": R(8, 2, 16),
                "value": R(8, 2, 16),
                "mask": torch.ones(8, 8, 1) > 0,
            },
        ),
        "StyleGAN.Discriminator": lambda: (
            of("labml_nn.gan.stylegan", "Discriminator", 4, 8, 16),
            (R(4, 3, 16, 16),),
        ),
        "evidence.KLDivergenceLoss": _evidence("KLDivergenceLoss"),
        "GraphAttentionLayer": lambda: (
            of("labml_nn.graphs.gat", "GraphAttentionLayer", 8, 8, 2),
            (R(5, 8), torch.rand(5, 5, 1) > 0.5),
        ),
    },
)
each(
    "labml_nn",
    {
        "Adam": _labml_step("adam", "Adam"),
        "RAdam": _labml_step("radam", "RAdam"),
        "AdaBelief": _labml_step("ada_belief", "AdaBelief"),
    },
    grad=True,
)

# --- s3prl ----------------------------------------------------------------------------------------


def _s3prl(module: str, name: str, *args: object, **kwargs: object) -> torch.nn.Module:
    """`of`, after standing in for what torchaudio dropped and the package imports, never calls."""
    audio = import_module("torchaudio")
    if not hasattr(audio, "set_audio_backend"):
        setattr(audio, "set_audio_backend", lambda *_: None)  # noqa: B010
        for missing in ("apply_effects_file", "apply_effects_tensor"):
            sys.modules.setdefault("torchaudio.sox_effects", ModuleType("sox_effects"))
            setattr(sys.modules["torchaudio.sox_effects"], missing, None)
    return of(module, name, *args, **kwargs)


def _frames() -> tuple:
    return R(2, 40, 20), torch.tensor([40, 31])


def _pooling(name: str) -> Callable[[], tuple]:
    return lambda: (_s3prl("s3prl.nn.pooling", name, 20), _frames())


each(
    "s3prl",
    {
        name: _pooling(name)
        for name in (
            "TemporalAveragePooling",
            "TemporalStatisticsPooling",
            "SelfAttentivePooling",
            "AttentiveStatisticsPooling",
        )
    },
)
each(
    "s3prl",
    {
        "SpecAug": lambda: (
            _s3prl("s3prl.nn.specaug", "SpecAug", freq_mask_width_range=(0, 4), time_mask_width_range=(0, 5)),
            _frames(),
        ),
        "SuperbXvector": lambda: (
            _s3prl("s3prl.nn.speaker_model", "SuperbXvector", 20, 16, 16, 32),
            _frames(),
        ),
        "ECAPA_TDNN": lambda: (_s3prl("s3prl.nn.speaker_model", "ECAPA_TDNN", 20, 32, 16), (R(2, 40, 20),)),
        "amsoftmax": lambda: (
            _s3prl("s3prl.nn.speaker_loss", "amsoftmax", 8, 4),
            (R(3, 8), torch.tensor([0, 1, 3])),
        ),
        "UtteranceLevel": lambda: (
            _s3prl("s3prl.nn.common", "UtteranceLevel", 20, 4, [16]),
            _frames(),
        ),
    },
)  # fmt: skip


# --- audio: snac, torch_pesq, penn, audiotools ----------------------------------------------------
each(
    "snac",
    {
        "SNAC": lambda: (
            of(
                "snac",
                "SNAC",
                encoder_dim=32,
                encoder_rates=[2, 2],
                decoder_dim=64,
                decoder_rates=[2, 2],
                attn_window_size=4,
                codebook_size=8,
                codebook_dim=2,
                vq_strides=[4, 1],
            ),
            (R(1, 1, 128),),
        ),
        "LocalMHA": lambda: (of("snac.attention", "LocalMHA", 64, 4, 64), (R(2, 64, 8),)),
        "ResidualVectorQuantize": lambda: (
            of("snac.vq", "ResidualVectorQuantize", 8, 16, 4, [2, 1]),
            (R(2, 8, 8),),
        ),
    },
)
each(
    "torch_pesq",
    {
        "Loudness": lambda: (of("torch_pesq.loudness", "Loudness", 49), (torch.rand(2, 10, 49),)),
        "BarkScale": lambda: (
            of("torch_pesq.bark", "BarkScale", 256, 49),
            (torch.rand(2, 10, 257),),
        ),
    },
    grad=True,
)


def _penn(module: str, name: str, *args: object) -> object:
    """`of`, or the function of that name, without the compiled decoder that only Viterbi calls."""
    sys.modules.setdefault("torbi", ModuleType("torbi"))
    found = getattr(import_module(module), name)
    return found(*args) if isinstance(found, type) else found


each(
    "penn",
    {
        "Fcnf0": lambda: (_penn("penn.model.fcnf0", "Fcnf0"), (R(2, 1, 1024),)),
        "Argmax": lambda: (_penn("penn.decode", "Argmax"), (R(2, 1440, 1),)),
        "Argmax.bins": lambda: (_penn("penn.decode", "Argmax", False), (R(2, 1440, 1),)),
        "entropy": lambda: (_penn("penn.periodicity", "entropy"), (R(2, 1440, 1),)),
        "loss": lambda: (_penn("penn", "loss"), (R(2, 1440, 1), torch.randint(0, 1440, (2, 1)))),
    },
)


def _signal(length: int = 16000) -> object:
    return of("audiotools", "AudioSignal", R(2, 1, length) * 0.1, 16000)


def _on_signals(name: str) -> Callable[[], tuple]:
    def build() -> tuple:
        module = of("audiotools.metrics.spectral", name)
        return lambda x, y: module(of("audiotools", "AudioSignal", x, 16000), of("audiotools", "AudioSignal", y, 16000)), (R(2, 1, 8000), R(2, 1, 8000))  # fmt: skip

    return build


def _effect(name: str, *args: object) -> Callable[[], tuple]:
    def build() -> tuple:
        signal = _signal()
        return getattr(signal, name), args

    return build


each(
    "audiotools",
    {
        "MultiScaleSTFTLoss": _on_signals("MultiScaleSTFTLoss"),
        "MelSpectrogramLoss": _on_signals("MelSpectrogramLoss"),
        "SISDRLoss": lambda: (
            of("audiotools.metrics.distance", "SISDRLoss"),
            (R(2, 1, 800), R(2, 1, 800)),
        ),
        "PhaseLoss": _on_signals("PhaseLoss"),
        "Meter": lambda: (of("audiotools.core.loudness", "Meter", 16000), (R(1, 16000, 1),)),
        "normalize": _effect("normalize", -20.0),
        "clip_distortion": _effect("clip_distortion", 0.1),
        "quantization": _effect("quantization", 16),
        "equalizer": _effect("equalizer", torch.tensor([0.0, -1, -2, 1])),
        "mfcc": _effect("mfcc", 20),
        "low_pass": _effect("low_pass", 4000),
        "to_mono": _effect("to_mono"),
    },
)

# --- losses and metrics: coral_pytorch, libauc, pytorch_adapt -------------------------------------
each(
    "coral_pytorch",
    {
        "CoralLayer": lambda: (of("coral_pytorch.layers", "CoralLayer", 8, 5), (R(3, 8),)),
        "coral_loss": lambda: (
            import_module("coral_pytorch.losses").coral_loss,
            (R(3, 4), torch.ones(3, 4)),
        ),
        "CornLoss": lambda: (
            of("coral_pytorch.losses", "CornLoss", 5),
            (R(6, 4), torch.tensor([0, 1, 2, 3, 4, 2])),
        ),
        "levels_from_labelbatch": lambda: (
            import_module("coral_pytorch.dataset").levels_from_labelbatch,
            (torch.tensor([0, 3, 2]), 5),
        ),
        "label_to_levels": lambda: (import_module("coral_pytorch.dataset").label_to_levels, (2, 5)),
        "corn_label_from_logits": lambda: (
            import_module("coral_pytorch.dataset").corn_label_from_logits,
            (R(3, 4),),
        ),
    },
    grad=True,
)


def _auc(name: str, *index: torch.Tensor, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        labels = torch.tensor([1.0, 1, 0, 0, 0, 1, 0, 0])
        args = (torch.sigmoid(R(8, 1)).requires_grad_(), labels[:, None], *index)
        return of("libauc.losses", name, **kwargs), args

    return build


_INDEX = torch.arange(8)
each(
    "libauc",
    {
        "AUCMLoss": _auc("AUCMLoss", device="cpu"),
        "AUCMLoss.v2": _auc("AUCMLoss", version="v2", device="cpu"),
        "CompositionalAUCLoss": _auc("CompositionalAUCLoss", device="cpu"),
        "APLoss": _auc("APLoss", _INDEX, data_len=8, device="cpu"),
        "pAUC_CVaR_Loss": _auc(
            "pAUC_CVaR_Loss", _INDEX, data_len=8, pos_len=3, num_neg=5, device="cpu"
        ),
        "pAUC_DRO_Loss": _auc("pAUC_DRO_Loss", _INDEX, data_len=8, device="cpu"),
        "tpAUC_KL_Loss": _auc("tpAUC_KL_Loss", _INDEX, data_len=8, device="cpu"),
        "PairwiseAUCLoss": _auc("PairwiseAUCLoss"),
        "GCLoss_v1": lambda: (
            of(
                "libauc.losses",
                "GCLoss_v1",
                N=16,
                distributed=False,
                device="cpu",
                enable_isogclr=False,
            ),
            (R(4, 8), R(4, 8), torch.arange(4)),
        ),
    },
    grad=True,
)


def _adapts(name: str, *args: torch.Tensor, **kwargs: object) -> Callable[[], tuple]:
    return lambda: (of("pytorch_adapt.layers", name, **kwargs), args)


each(
    "pytorch_adapt",
    {
        "MMDLoss": _adapts("MMDLoss", R(6, 4), R(6, 4), kernel_scales=torch.tensor([0.5, 1.0])),
        "MMDLoss.quadratic": _adapts("MMDLoss", R(6, 4), R(6, 4), mmd_type="quadratic"),
        "MMDBatchedLoss": _adapts("MMDBatchedLoss", R(6, 4), R(6, 4), batch_size=4, mmd_type="quadratic"),
        "ISTLoss": _adapts("ISTLoss", R(6, 4), torch.tensor([0, 1, 0, 1, 1, 0])),
        "MCCLoss": _adapts("MCCLoss", R(6, 4)),
        "GradientReversal": _adapts("GradientReversal", R(6, 4)),
        "AdaptiveFeatureNorm": _adapts("AdaptiveFeatureNorm", R(6, 4)),
        "L2PreservedDropout": _adapts("L2PreservedDropout", R(6, 4)),
        "SilhouetteScore": _adapts("SilhouetteScore", R(6, 4), torch.tensor([0, 0, 1, 1, 2, 2])),
        "SlicedWasserstein": _adapts("SlicedWasserstein", R(6, 4), R(6, 4)),
        "RandomizedDotProduct": _adapts("RandomizedDotProduct", R(6, 4), R(6, 3), in_dims=[4, 3], out_dim=8),
        "SymNetsCategoryLoss": _adapts("SymNetsCategoryLoss", R(6, 4), R(6, 4), torch.tensor([0, 1, 2, 3, 0, 1])),
        "NeighborhoodAggregation": lambda: (
            of("pytorch_adapt.layers", "NeighborhoodAggregation", 10, 4, 3, k=2),
            (R(6, 4), R(6, 3)),
            {"update": True, "idx": torch.arange(6)},
        ),
        "EntropyWeights": _adapts("EntropyWeights", R(6, 4)),
    },
    grad=True,
)  # fmt: skip

# --- attention: torchscale, linformer, nystrom_attention, g_mlp_pytorch, taming -------------------


def _scaled(
    module: str, name: str, config: str, side: str, length: int = 6, **sizes: object
) -> Callable[[], tuple]:
    def build() -> tuple:
        common = {"embed_dim": 16, "ffn_embed_dim": 32, "layers": 2}
        told = of(
            "torchscale.architecture.config",
            config,
            vocab_size=16,
            **{f"{side}_{size}": n for size, n in common.items()},
            **sizes,
        )
        embed = of("torchscale.component.embedding", "TextEmbedding", 16, 16)
        made = of(f"torchscale.architecture.{module}", name, told, embed)
        masked = {"encoder_padding_mask": torch.zeros(2, length).bool()}
        return made, (_ids(2, length),), masked if side == "encoder" else {}

    return build


def _encoder(**sizes: object) -> Callable[[], tuple]:
    sizes = {"encoder_attention_heads": 2, **sizes}
    return _scaled("encoder", "Encoder", "EncoderConfig", "encoder", **sizes)


def _decoder(**sizes: object) -> Callable[[], tuple]:
    sizes = {"decoder_attention_heads": 2, **sizes}
    return _scaled("decoder", "Decoder", "DecoderConfig", "decoder", **sizes)


def _retnet(**sizes: object) -> Callable[[], tuple]:
    sizes = {"decoder_value_embed_dim": 32, "decoder_retention_heads": 2, **sizes}
    return _scaled("retnet", "RetNetDecoder", "RetNetConfig", "decoder", 8, **sizes)


each(
    "torchscale",
    {
        "Encoder": _encoder(),
        "Encoder.relative": _encoder(rel_pos_buckets=8, max_rel_pos=16, drop_path_rate=0.1),
        "Encoder.xpos": _encoder(xpos_rel_pos=True, deepnorm=True, subln=False),
        "Decoder": _decoder(),
        "Decoder.xpos": _decoder(xpos_rel_pos=True),
        "RetNet": _retnet(),
        "RetNet.chunks": _retnet(chunkwise_recurrent=True, recurrent_chunk_size=4),
    },
)
each(
    "linformer",
    {
        "Linformer": lambda: (of("linformer", "Linformer", 16, 8, 2, k=4, heads=2), (R(2, 8, 16),)),
        "Linformer.reversible": lambda: (
            of("linformer", "Linformer", 16, 8, 2, k=4, heads=2, reversible=True),
            (R(2, 8, 16),),
        ),
        "LinformerLM": lambda: (
            of("linformer", "LinformerLM", 16, 16, 8, 2, k=4, heads=2, one_kv_head=True),
            (_ids(2, 8),),
        ),
        "LinformerSelfAttention": lambda: (
            of("linformer", "LinformerSelfAttention", 16, 8, k=4, heads=2, share_kv=True),
            (R(2, 8, 16), R(2, 6, 16)),
        ),
    },
)
each(
    "nystrom_attention",
    {
        "NystromAttention": lambda: (
            of("nystrom_attention", "NystromAttention", 16, dim_head=8, heads=2, num_landmarks=4),
            (R(2, 10, 16), torch.ones(2, 10).bool()),
        ),
        "Nystromformer": lambda: (
            of(
                "nystrom_attention",
                "Nystromformer",
                dim=16,
                depth=2,
                dim_head=8,
                heads=2,
                num_landmarks=4,
            ),
            (R(2, 10, 16),),
        ),
    },
)
each(
    "g_mlp_pytorch",
    {
        "gMLP": lambda: (
            of("g_mlp_pytorch", "gMLP", num_tokens=16, dim=16, depth=2, seq_len=8, prob_survival=0.5),
            (_ids(2, 8),),
        ),
        "gMLP.causal": lambda: (
            of("g_mlp_pytorch", "gMLP", dim=16, depth=2, seq_len=8, heads=2, causal=True, attn_dim=8),
            (R(2, 8, 16),),
        ),
        "gMLPVision": lambda: (
            of("g_mlp_pytorch", "gMLPVision", image_size=16, patch_size=8, num_classes=4, dim=16, depth=2),
            (R(2, 3, 16, 16),),
        ),
    },
)  # fmt: skip


def _taming(name: str, **kwargs: object) -> torch.nn.Module:
    sizes = {"ch": 32, "out_ch": 3, "ch_mult": (1, 2), "num_res_blocks": 1, "attn_resolutions": [8]}
    sizes |= {"in_channels": 3, "resolution": 16, "z_channels": 8}
    return of("taming.modules.diffusionmodules.model", name, **sizes, **kwargs)


each(
    "taming",
    {
        "Encoder": lambda: (_taming("Encoder", double_z=False), (R(1, 3, 16, 16),)),
        "Decoder": lambda: (_taming("Decoder"), (R(1, 8, 8, 8),)),
        "VectorQuantizer": lambda: (
            of("taming.modules.vqvae.quantize", "VectorQuantizer", 16, 8, 0.25),
            (R(2, 8, 4, 4),),
        ),
        "GPT": lambda: (
            of("taming.modules.transformer.mingpt", "GPT", 16, 8, n_layer=2, n_head=2, n_embd=16),
            (_ids(2, 6),),
        ),
        "NLayerDiscriminator": lambda: (
            of("taming.modules.discriminator.model", "NLayerDiscriminator", 3, 8, 2, use_actnorm=True),
            (R(2, 3, 32, 32),),
        ),
    },
)  # fmt: skip

# --- vision: antialiased_cnns, pretrainedmodels, holocron, doctr ----------------------------------
for _name in ("resnet18", "mobilenet_v2", "densenet121", "vgg11"):
    add(
        "antialiased_cnns",
        _name,
        lambda _name=_name: (of("antialiased_cnns", _name, pretrained=False), (R(2, 3, 64, 64),)),
    )
for _name in ("se_resnet50", "dpn68", "polynet", "nasnetamobile", "bninception", "inceptionv4"):
    add(
        "pretrainedmodels",
        _name,
        lambda _name=_name: (
            of("pretrainedmodels", _name, num_classes=1000, pretrained=None),
            (R(2, 3, 299 if _name in ("polynet", "inceptionv4") else 224, 299 if _name in ("polynet", "inceptionv4") else 224),),
        ),
    )  # fmt: skip


def _holocron(module: str, name: str, *args: object, **kwargs: object) -> object:
    """`of`; the package takes a name of a newer huggingface_hub than transformers 4 allows."""
    hub = import_module("huggingface_hub")
    if not hasattr(hub, "DryRunFileInfo"):
        setattr(hub, "DryRunFileInfo", object)  # noqa: B010
    return of(module, name, *args, **kwargs)


def _boxes() -> list[dict[str, torch.Tensor]]:
    boxes = torch.tensor([[0.1, 0.1, 0.4, 0.5], [0.3, 0.3, 0.9, 0.8]])
    return [{"boxes": boxes, "labels": torch.tensor([1, 2])} for _ in range(2)]


each(
    "holocron",
    {
        "rexnet1_0x": lambda: (_holocron("holocron.models.classification", "rexnet1_0x", None, num_classes=4), (R(2, 3, 64, 64),)),
        "repvgg_a0": lambda: (_holocron("holocron.models.classification", "repvgg_a0", None, num_classes=4), (R(2, 3, 64, 64),)),
        "tridentnet50": lambda: (_holocron("holocron.models.classification", "tridentnet50", None, num_classes=4), (R(2, 3, 64, 64),)),
        "unet3p": lambda: (_holocron("holocron.models.segmentation", "unet3p", None, num_classes=2), (R(1, 3, 64, 64),)),
        "yolov2": lambda: (_holocron("holocron.models.detection", "yolov2", False, num_classes=4, pretrained_backbone=False), (R(2, 3, 64, 64), _boxes())),
        "yolov4": lambda: (_holocron("holocron.models.detection", "yolov4", False, num_classes=4, pretrained_backbone=False), (R(2, 3, 64, 64), _boxes())),
        "FocalLoss": lambda: (_holocron("holocron.nn", "FocalLoss", ignore_index=1), (R(4, 3), torch.tensor([0, 1, 2, 0]))),
        "PolyLoss": lambda: (_holocron("holocron.nn", "PolyLoss"), (R(4, 3), torch.tensor([0, 1, 2, 0]))),
        "MutualChannelLoss": lambda: (_holocron("holocron.nn", "MutualChannelLoss", xi=2), (R(2, 8, 4, 4), torch.zeros(2, 4, 4).long())),
        "ComplementCrossEntropy": lambda: (_holocron("holocron.nn", "ComplementCrossEntropy"), (R(4, 3), torch.tensor([0, 1, 2, 0]))),
        "DropBlock2d": lambda: (_holocron("holocron.nn", "DropBlock2d", 0.2, 3), (R(2, 4, 8, 8),)),
        "LambdaLayer": lambda: (_holocron("holocron.nn", "LambdaLayer", 16, 16, 4, n=64, num_heads=2), (R(2, 16, 8, 8),)),
        "NormConv2d": lambda: (_holocron("holocron.nn", "NormConv2d", 3, 4, 3), (R(2, 3, 8, 8),)),
        "Involution2d": lambda: (_holocron("holocron.nn", "Involution2d", 8, 3, groups=2, padding=1), (R(2, 8, 8, 8),)),
    },
    grad=True,
)  # fmt: skip


def _doctr(
    module: str, name: str, *shape: int, target: Callable | None = None
) -> Callable[[], tuple]:
    def build() -> tuple:
        backbone = (
            {}
            if module == "classification" or name in ("parseq", "vitstr_small")
            else {"pretrained_backbone": False}
        )
        model = of(f"doctr.models.{module}", name, pretrained=False, **backbone)
        kwargs = {"target": target()} if target else {}
        return model, (R(*shape),), kwargs

    return build


def _words() -> list[str]:
    return ["hello", "graph"]


each(
    "doctr",
    {
        "crnn_mobilenet": _doctr(
            "recognition", "crnn_mobilenet_v3_small", 2, 3, 32, 128, target=_words
        ),
        "parseq": _doctr("recognition", "parseq", 2, 3, 32, 128, target=_words),
        "vitstr_small": _doctr("recognition", "vitstr_small", 2, 3, 32, 128, target=_words),
        "sar_resnet31": _doctr("recognition", "sar_resnet31", 2, 3, 32, 128, target=_words),
        "viptr_tiny": _doctr("recognition", "viptr_tiny", 2, 3, 32, 128, target=_words),
        "db_mobilenet": _doctr("detection", "db_mobilenet_v3_large", 1, 3, 64, 64),
        "fast_tiny": _doctr("detection", "fast_tiny", 1, 3, 64, 64),
        "linknet": _doctr("detection", "linknet_resnet18", 1, 3, 64, 64),
        "magc_resnet31": _doctr("classification", "magc_resnet31", 1, 3, 32, 32),
        "vip_tiny": _doctr("classification", "vip_tiny", 1, 3, 32, 32),
    },
)
