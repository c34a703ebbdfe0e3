"""vit_pytorch."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

R = torch.randn


_VIT = {
    "image_size": 32,
    "patch_size": 8,
    "num_classes": 5,
    "dim": 32,
    "depth": 2,
    "heads": 2,
    "mlp_dim": 32,
}


def _vit(module: str, name: str, size: int = 32, **kwargs: object) -> Callable[[], tuple]:
    return lambda: (
        getattr(import_module(f"vit_pytorch.{module}"), name)(**kwargs),
        (R(2, 3, size, size),),
    )


for _module, _name, _extra in [
    ("vit", "ViT", {"dropout": 0.1}),
    ("simple_vit", "SimpleViT", {}),
    ("deepvit", "DeepViT", {}),
    ("cait", "CaiT", {"cls_depth": 1, "layer_dropout": 0.3}),
    ("vit_for_small_dataset", "ViT", {}),
    ("parallel_vit", "ViT", {"num_parallel_branches": 2}),
    ("rvt", "RvT", {}),
    ("ats_vit", "ViT", {"max_tokens_per_depth": (8, 4)}),
    ("vit_with_patch_dropout", "ViT", {"patch_dropout": 0.25}),
    ("vit_with_patch_merger", "ViT", {"patch_merge_layer": 1, "patch_merge_num_tokens": 4}),
    ("simple_vit_with_register_tokens", "SimpleViT", {"num_register_tokens": 2}),
    ("simple_vit_with_qk_norm", "SimpleViT", {}),
    ("simple_vit_with_patch_dropout", "SimpleViT", {"patch_dropout": 0.5}),
    ("xcit", "XCiT", {"cls_depth": 1, "layer_dropout": 0.3}),
    ("normalized_vit", "nViT", {}),
    ("simple_flash_attn_vit", "SimpleViT", {}),
    ("simple_vit_with_value_residual", "SimpleViT", {}),
    ("simple_vit_with_hyper_connections", "SimpleViT", {"num_residual_streams": 2}),
    ("vit_5", "ViT", {}),
    ("vit_with_decorr", "ViT", {}),
    ("vit_with_keel_post_ln", "ViT", {}),
    ("learnable_memory_vit", "ViT", {}),
    ("look_vit", "LookViT", {}),
    ("simple_vit_with_sparse_gating", "SimpleViTWithSparseGating", {}),
    ("looped_vit", "LoopedViT", {}),
]:
    add(
        "vit_pytorch",
        f"{_module}.{_name}",
        _vit(_module, _name, **_VIT, **_extra),
        modes=("eval", "train") if "drop" in str(_extra) or "ats" in _module else ("eval",),
    )
add(
    "vit_pytorch",
    "levit",
    _vit(
        "levit",
        "LeViT",
        64,
        image_size=64,
        num_classes=5,
        stages=2,
        dim=(16, 32),
        depth=1,
        heads=(2, 2),
        mlp_mult=2,
    ),
    modes=("eval",),
)
add(
    "vit_pytorch",
    "cct",
    _vit(
        "cct",
        "CCT",
        img_size=32,
        embedding_dim=32,
        n_conv_layers=1,
        kernel_size=3,
        num_layers=2,
        num_heads=2,
        num_classes=5,
    ),
)
add(
    "vit_pytorch",
    "mobile_vit",
    _vit(
        "mobile_vit",
        "MobileViT",
        64,
        image_size=(64, 64),
        dims=[16, 24, 32],
        channels=[8, 8, 16, 16, 16, 16, 16, 16, 16, 16, 32],
        num_classes=5,
    ),
    modes=("eval",),
)
add(
    "vit_pytorch",
    "crossformer",
    _vit(
        "crossformer",
        "CrossFormer",
        224,
        num_classes=5,
        dim=(16, 32, 32, 32),
        depth=(1, 1, 1, 1),
        global_window_size=(8, 4, 2, 1),
        local_window_size=7,
    ),
    modes=("eval",),
)
add(
    "vit_pytorch",
    "cvt",
    _vit("cvt", "CvT", 32, num_classes=5, s1_emb_dim=8, s2_emb_dim=16, s3_emb_dim=16, s3_depth=1),
    modes=("eval",),
)
add(
    "vit_pytorch",
    "twins",
    _vit(
        "twins_svt",
        "TwinsSVT",
        224,
        num_classes=5,
        s1_emb_dim=8,
        s2_emb_dim=8,
        s3_emb_dim=8,
        s4_emb_dim=8,
        s3_depth=1,
    ),
    modes=("eval",),
)
add(
    "vit_pytorch",
    "max_vit",
    _vit(
        "max_vit",
        "MaxViT",
        64,
        num_classes=5,
        dim_conv_stem=8,
        dim=8,
        dim_head=4,
        depth=(1, 1),
        window_size=4,
    ),
    modes=("eval",),
)
add(
    "vit_pytorch",
    "na_vit",
    lambda: (
        import_module("vit_pytorch.na_vit").NaViT(**{**_VIT, "token_dropout_prob": 0.1}),
        ([[R(3, 16, 32), R(3, 32, 32)], [R(3, 32, 16)]],),
    ),
)
add(
    "vit_pytorch",
    "mae",
    lambda: (
        import_module("vit_pytorch.mae").MAE(
            encoder=import_module("vit_pytorch").ViT(**_VIT),
            masking_ratio=0.75,
            decoder_dim=32,
            decoder_depth=1,
        ),
        (R(2, 3, 32, 32),),
    ),
)
add(
    "vit_pytorch",
    "simmim",
    lambda: (
        import_module("vit_pytorch.simmim").SimMIM(
            encoder=import_module("vit_pytorch").ViT(**_VIT), masking_ratio=0.5
        ),
        (R(2, 3, 32, 32),),
    ),
)
add(
    "vit_pytorch",
    "mpp",
    lambda: (
        import_module("vit_pytorch.mpp").MPP(
            transformer=import_module("vit_pytorch").ViT(**_VIT), patch_size=8, dim=32
        ),
        (torch.rand(2, 3, 32, 32),),
    ),
)
add(
    "vit_pytorch",
    "dino",
    lambda: (
        import_module("vit_pytorch.dino").Dino(
            import_module("vit_pytorch").ViT(**_VIT),
            image_size=32,
            hidden_layer="to_latent",
            projection_hidden_size=16,
            projection_layers=2,
            num_classes_K=32,
        ),
        (torch.rand(2, 3, 32, 32),),
    ),
)
add(
    "vit_pytorch",
    "distill",
    lambda: (
        import_module("vit_pytorch.distill").DistillWrapper(
            student=import_module("vit_pytorch.distill").DistillableViT(**_VIT),
            teacher=torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 5)),
        ),
        (torch.rand(2, 3, 32, 32), torch.tensor([1, 2])),
    ),
)
add(
    "vit_pytorch",
    "recorder",
    lambda: (
        import_module("vit_pytorch.recorder").Recorder(import_module("vit_pytorch").ViT(**_VIT)),
        (torch.rand(2, 3, 32, 32),),
    ),
    modes=("eval",),
)
add(
    "vit_pytorch",
    "extractor",
    lambda: (
        import_module("vit_pytorch.extractor").Extractor(import_module("vit_pytorch").ViT(**_VIT)),
        (torch.rand(2, 3, 32, 32),),
    ),
    modes=("eval",),
)
