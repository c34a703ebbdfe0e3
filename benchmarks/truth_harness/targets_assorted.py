"""Augmentations, test-time augmentation, mixtures of experts, pitch, super-resolution: clip,
h_transformer_1d, soft_moe_pytorch, st_moe_pytorch, super_image, torchaug, torchcrepe, ttach.
"""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add, of

R = torch.randn
IDS = torch.randint


# --- torchaug ----------------------------------------------------------------------------------

for _name, _kwargs in {
    "ColorJitter": {"brightness": 0.4, "contrast": 0.4, "saturation": 0.2, "hue": 0.1},
    "RandomColorJitter": {"brightness": 0.4, "hue": 0.1, "p": 0.8, "batch_transform": True,
                          "num_chunks": 2},
    "RandomGrayscale": {"p": 0.5, "batch_transform": True},
    "RandomHorizontalFlip": {"p": 0.5, "batch_transform": True},
    "RandomSolarize": {"threshold": 0.5, "p": 0.5},
    "RandomResizedCrop": {"size": (16, 16), "num_chunks": 2, "batch_transform": True},
    "RandomGaussianBlur": {"kernel_size": (3, 3), "p": 0.7, "batch_transform": True},
    "RandomErasing": {"p": 1.0},
    "RandomAffine": {"degrees": 30, "translate": (0.1, 0.1)},
    "RandomPerspective": {"p": 1.0},
    "RandomCrop": {"size": 16},
    "RandomPhotometricDistort": {},
    "Normalize": {"mean": [0.5] * 3, "std": [0.5] * 3},
    "RandomEqualize": {"p": 1.0},
}.items():  # fmt: skip
    add(
        "torchaug",
        _name,
        lambda n=_name, k=_kwargs: (
            of("torchaug.transforms", n, **k),
            (torch.rand(4, 3, 32, 32),),
        ),
        modes=("eval",),
    )

# --- ttach -------------------------------------------------------------------------------------


def _tta(wrapper: str, model: torch.nn.Module, **kwargs: object) -> torch.nn.Module:
    ttach = import_module("ttach")
    transforms = ttach.Compose(
        [
            ttach.HorizontalFlip(),
            ttach.Rotate90([0, 90]),
            ttach.Scale([1, 2]),
            ttach.Multiply([1.1]),
        ]
    )
    return getattr(ttach, wrapper)(model, transforms, **kwargs)


for _merge in ("mean", "max", "gmean", "tsharpen"):
    add(
        "ttach",
        f"SegmentationTTAWrapper.{_merge}",
        lambda m=_merge: (
            _tta("SegmentationTTAWrapper", torch.nn.Conv2d(3, 1, 1), merge_mode=m),
            (torch.rand(1, 3, 8, 8),),
        ),
        modes=("eval",),
    )
add(
    "ttach",
    "ClassificationTTAWrapper",
    lambda: (
        _tta(
            "ClassificationTTAWrapper",
            torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()),
        ),
        (torch.rand(1, 3, 8, 8),),
    ),
    modes=("eval",),
)

# --- torchcrepe ----------------------------------------------------------------------------------

for _name, _args in {
    "argmax": lambda: (R(1, 360, 6),),
    "weighted_argmax": lambda: (R(1, 360, 6),),
    "viterbi": lambda: (R(1, 360, 6),),
}.items():
    add(
        "torchcrepe",
        f"decode.{_name}",
        lambda n=_name, a=_args: (getattr(import_module("torchcrepe.decode"), n), a()),
    )
for _name in ("mean", "median"):
    add(
        "torchcrepe",
        f"filter.{_name}",
        lambda n=_name: (getattr(import_module("torchcrepe.filter"), n), (R(1, 20), 3)),
    )
for _name in ("At", "Hysteresis"):
    add(
        "torchcrepe",
        f"threshold.{_name}",
        lambda n=_name: (
            of("torchcrepe.threshold", n, *((0.2,) if n == "At" else ())),
            (R(1, 20).abs() * 100, torch.rand(1, 20)),
        ),
    )
add(
    "torchcrepe",
    "postprocess",
    lambda: (import_module("torchcrepe").postprocess, (torch.rand(1, 360, 6),)),
)
add(
    "torchcrepe",
    "Crepe",
    lambda: (of("torchcrepe", "Crepe", "tiny"), (R(2, 1024),)),
)

# --- models --------------------------------------------------------------------------------------

add(
    "clip",
    "CLIP",
    lambda: (
        of("clip.model", "CLIP", 16, 32, 1, 64, 16, 8, 30, 16, 2, 1),
        (R(2, 3, 32, 32), IDS(0, 30, (2, 8))),
    ),
)
add(
    "clip",
    "CLIP.resnet",
    lambda: (
        of("clip.model", "CLIP", 16, 32, (1, 1, 1, 1), 8, None, 8, 30, 16, 2, 1),
        (R(2, 3, 32, 32), IDS(0, 30, (2, 8))),
    ),
)
for _name, _kwargs in {
    "plain": {},
    "top3": {"gating_top_n": 3},
    "threshold": {"threshold_eval": 0.3, "straight_through_dispatch_tensor": False},
}.items():
    add(
        "st_moe_pytorch",
        f"MoE.{_name}",
        lambda k=_kwargs: (
            of("st_moe_pytorch", "MoE", dim=16, num_experts=4, **k),
            (R(2, 8, 16),),
        ),
    )
add(
    "st_moe_pytorch",
    "SparseMoEBlock",
    lambda: (
        of(
            "st_moe_pytorch",
            "SparseMoEBlock",
            of("st_moe_pytorch", "MoE", dim=16, num_experts=4),
            add_ff_before=True,
        ),
        (R(2, 8, 16),),
    ),
)
for _name, _kwargs in {
    "SoftMoE": {"seq_len": 8, "num_experts": 2},
    "DynamicSlotsSoftMoE": {"num_experts": 2, "geglu": True},
}.items():
    add(
        "soft_moe_pytorch",
        _name,
        lambda n=_name, k=_kwargs: (of("soft_moe_pytorch", n, dim=16, **k), (R(2, 8, 16),)),
    )
add(
    "soft_moe_pytorch",
    "SoftMoE.masked",
    lambda: (
        of("soft_moe_pytorch", "SoftMoE", dim=16, seq_len=8, num_experts=2),
        (R(2, 8, 16), torch.rand(2, 8) > 0.3),
        {"add_noise": True},
    ),
)
for _name, _kwargs in {
    "plain": {},
    "causal": {"causal": True},
    "reversible": {"reversible": True, "shift_tokens": True},
}.items():
    add(
        "h_transformer_1d",
        _name,
        lambda k=_kwargs: (
            of("h_transformer_1d", "HTransformer1D", num_tokens=30, dim=16, depth=1,
                max_seq_len=32, heads=2, dim_head=8, block_size=4, **k),
            (IDS(0, 30, (1, 20)),),
            {"mask": torch.ones(1, 20, dtype=torch.bool)},
        ),
    )  # fmt: skip
for _name, _kwargs in {
    "Edsr": {"n_resblocks": 1, "n_feats": 8},
    "Pan": {"nf": 8, "unf": 8, "nb": 1, "bam": True},
    "A2n": {"nf": 8, "unf": 8, "nb": 1},
    "Carn": {"bam": True},
    "Rcan": {"n_resgroups": 1, "n_resblocks": 1, "n_feats": 8, "reduction": 2},
    "Liif": {},
    "Mdsr": {},
}.items():
    add(
        "super_image",
        _name,
        lambda n=_name, k=_kwargs: (
            of("super_image", f"{n}Model", of("super_image", f"{n}Config", scale=2, **k)),
            (torch.rand(1, 3, 12, 12),),
        ),
        modes=("eval",),
    )
