"""compressai, fvcore, piqa, pytorchvideo: codecs, losses and video models."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from registry import add, of

R = torch.randn


# --- compressai --------------------------------------------------------------------------------

_CA = "compressai"
for _name, _args in {
    "FactorizedPrior": (8, 12),
    "FactorizedPriorReLU": (8, 12),
    "ScaleHyperprior": (8, 12),
    "MeanScaleHyperprior": (8, 12),
    "JointAutoregressiveHierarchicalPriors": (8, 12),
    "Cheng2020Anchor": (8,),
    "Cheng2020Attention": (8,),
    "ScaleSpaceFlow": (),
    "Cheng2020AnchorCheckerboard": (8,),
    "Elic2022Official": (16, 32, [8, 8, 16]),
    "ScaleHyperpriorVbr": (8, 12),
    "MeanScaleHyperpriorVbr": (8, 12),
}.items():
    add(
        _CA,
        _name,
        lambda n=_name, a=_args: (
            of("compressai.models", n, *a)
            if n != "ScaleSpaceFlow"
            else of("compressai.models.video", n),
            (torch.rand(1, 3, 64, 64),)
            if n != "ScaleSpaceFlow"
            else ([torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128)],),
        ),
    )


def _coder(method: str) -> tuple:
    model: Any = of("compressai.models", "MeanScaleHyperprior", 8, 12).eval()
    model.update()
    x = torch.rand(1, 3, 64, 64)
    if method == "compress":
        return model.compress, (x,)
    packed = model.compress(x)
    return model.decompress, (packed["strings"], packed["shape"])


add(_CA, "compress", lambda: _coder("compress"))
add(_CA, "decompress", lambda: _coder("decompress"))
add(
    _CA,
    "EntropyBottleneck",
    lambda: (of("compressai.entropy_models", "EntropyBottleneck", 4), (R(2, 4, 5, 5),)),
)
add(
    _CA,
    "EntropyBottleneck.loss",
    lambda: (of("compressai.entropy_models", "EntropyBottleneck", 4).loss, ()),
    grad=True,
)
add(
    _CA,
    "GaussianConditional",
    lambda: (
        of("compressai.entropy_models", "GaussianConditional", None),
        (R(2, 4, 5, 5), R(2, 4, 5, 5).abs(), R(2, 4, 5, 5)),
    ),
)
add(
    _CA,
    "GaussianConditional.build_indexes",
    lambda: (
        of("compressai.entropy_models", "GaussianConditional", [0.1, 0.5, 1.0]).build_indexes,
        (R(2, 4, 5, 5).abs(),),
    ),
)
for _metric in ("mse", "ms-ssim"):
    add(
        _CA,
        f"RateDistortionLoss.{_metric}",
        lambda m=_metric: (
            of("compressai.losses", "RateDistortionLoss", metric=m),
            (
                {"likelihoods": {"y": torch.rand(1, 4, 8, 8)}, "x_hat": torch.rand(1, 3, 192, 192)},
                torch.rand(1, 3, 192, 192),
            ),
        ),
        modes=("train",),
    )
for _layer in ("GDN", "GDN1"):
    add(_CA, _layer, lambda n=_layer: (of("compressai.layers", n, 4), (R(1, 4, 8, 8),)))
for _name, _shape in {"rgb2ycbcr": (1, 3, 8, 8), "ycbcr2rgb": (1, 3, 8, 8),
                      "yuv_444_to_420": (1, 3, 8, 8)}.items():  # fmt: skip
    add(
        _CA,
        _name,
        lambda n=_name, s=_shape: (
            getattr(import_module("compressai.transforms.functional"), n),
            (torch.rand(*s),),
        ),
    )

# --- fvcore --------------------------------------------------------------------------------------


def _boxes() -> torch.Tensor:
    corner = torch.rand(4, 2)
    return torch.cat([corner, corner + torch.rand(4, 2)], 1)


for _name, _args in {
    "sigmoid_focal_loss": lambda: (R(4, 3), torch.randint(0, 2, (4, 3)).float(), 0.25),
    "sigmoid_focal_loss_star": lambda: (R(4, 3), torch.randint(0, 2, (4, 3)).float(), 0.25),
    "giou_loss": lambda: (_boxes(), _boxes()),
    "smooth_l1_loss": lambda: (R(4, 3), R(4, 3), 0.5),
}.items():
    for _reduction in ("none", "mean"):
        add(
            "fvcore",
            f"{_name}.{_reduction}",
            lambda n=_name, a=_args, r=_reduction: (
                getattr(import_module("fvcore.nn"), n),
                a(),
                {"reduction": r},
            ),
            grad=True,
        )
add(
    "fvcore",
    "SqueezeExcitation",
    lambda: (
        of("fvcore.nn.squeeze_excitation", "SqueezeExcitation", 8, 4),
        (R(1, 8, 4, 4),),
    ),
)


def _precise() -> tuple:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).train()
    batches = [R(2, 3, 6, 6) for _ in range(2)]
    return import_module("fvcore.nn").update_bn_stats, (model, batches, 2)


add("fvcore", "update_bn_stats", _precise)

# --- piqa ----------------------------------------------------------------------------------------

for _name, _kwargs in {
    "PSNR": {},
    "SSIM": {},
    "MS_SSIM": {},
    "GMSD": {},
    "MS_GMSD": {},
    "MDSI": {},
    "HaarPSI": {},
    "VSI": {},
    "FSIM": {},
    "TV": {},
}.items():
    add(
        "piqa",
        _name,
        lambda n=_name, k=_kwargs: (
            of("piqa", n, **k),
            (torch.rand(1, 3, 192, 192),)
            if n == "TV"
            else (torch.rand(1, 3, 192, 192), torch.rand(1, 3, 192, 192)),
        ),
    )
add(
    "piqa",
    "frechet_distance",
    lambda: (
        import_module("piqa.fid").frechet_distance,
        (R(4), torch.eye(4), R(4), torch.eye(4) * 2),
    ),
)

# --- pytorchvideo ----------------------------------------------------------------------------------

_PV = "pytorchvideo"


def _video(*shape: int) -> torch.Tensor:
    return R(1, 3, *shape)


add(
    _PV,
    "resnet",
    lambda: (
        of("pytorchvideo.models", "create_resnet", model_num_class=4, head_pool_kernel_size=(2, 2, 2)),
        (_video(2, 64, 64),),
    ),
)  # fmt: skip
add(
    _PV,
    "x3d",
    lambda: (
        of("pytorchvideo.models.x3d", "create_x3d", input_clip_length=4, input_crop_size=64,
            model_num_class=4),
        (_video(4, 64, 64),),
    ),
)  # fmt: skip
add(
    _PV,
    "slowfast",
    lambda: (
        of("pytorchvideo.models", "create_slowfast", model_num_class=4,
            head_pool_kernel_sizes=((2, 2, 2), (8, 2, 2))),
        ([_video(2, 64, 64), _video(8, 64, 64)],),
    ),
)  # fmt: skip
for _name, _kwargs in {
    "mvit": {},
    "mvit.sep_pos": {"sep_pos_embed": True, "cls_embed_on": False},
    "mvit.droppath": {"droppath_rate_block": 0.2, "dropout_rate_block": 0.1},
}.items():
    add(
        _PV,
        _name,
        lambda k=_kwargs: (
            of("pytorchvideo.models", "create_multiscale_vision_transformers", spatial_size=32,
                temporal_size=4, depth=2, patch_embed_dim=8, num_heads=1, head_num_classes=4,
                embed_dim_mul=[[1, 2.0]], atten_head_mul=[[1, 2.0]],
                pool_q_stride_size=[[1, 1, 2, 2]], pool_kv_stride_adaptive=[1, 2, 2],
                pool_kvq_kernel=[3, 3, 3], **k),
            (_video(4, 32, 32),),
        ),
    )  # fmt: skip
for _name, _args in {
    "LSTM": (8, 4),
    "TransposeTransformerEncoder": (8, 1, 1),
    "TransposeMultiheadAttention": (8, 1),
    "LearnMaskedDefault": (8,),
    "MaskedTemporalPooling": ("avg",),
}.items():
    add(
        _PV,
        _name,
        lambda n=_name, a=_args: (
            of("pytorchvideo.models.masked_multistream", n, *a),
            (R(2, 8), torch.tensor([True, False]))
            if n == "LearnMaskedDefault"
            else (R(2, 5, 8), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])),
        ),
    )
add(
    _PV,
    "SimCLR",
    lambda: (
        of("pytorchvideo.models.simclr", "SimCLR", torch.nn.Linear(4, 4), torch.nn.Linear(8, 4)),
        (R(2, 8), R(2, 8)),
    ),
)
add(
    _PV,
    "BYOL",
    lambda: (
        of("pytorchvideo.models.byol", "BYOL", torch.nn.Linear(8, 4),
            predictor=torch.nn.Linear(4, 4), feature_dim=4, norm=torch.nn.BatchNorm1d,
            projector=torch.nn.Linear(4, 4)),
        (R(4, 8), R(4, 8)),
    ),
    modes=("train",),
)  # fmt: skip
