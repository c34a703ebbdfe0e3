"""Masks and scans: segment_anything, cellpose, torchxrayvision, batchgeneratorsv2, torchio."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from registry import each, of

R = torch.randn


# --- segment_anything ----------------------------------------------------------------------------

_SA = "segment_anything"


def _encoder(**kwargs: object) -> Any:
    options: dict[str, object] = {
        "img_size": 64,
        "patch_size": 16,
        "embed_dim": 8,
        "depth": 2,
        "num_heads": 2,
        "out_chans": 8,
    }
    return of(f"{_SA}.modeling.image_encoder", "ImageEncoderViT", **(options | kwargs))


def _decoder() -> Any:
    transformer = of(f"{_SA}.modeling.transformer", "TwoWayTransformer", 1, 8, 2, 8)
    return of(
        f"{_SA}.modeling.mask_decoder",
        "MaskDecoder",
        transformer_dim=8,
        transformer=transformer,
        iou_head_hidden_dim=8,
    )


def _prompts() -> Any:
    return of(f"{_SA}.modeling.prompt_encoder", "PromptEncoder", 8, (4, 4), (64, 64), 4)


def _sam() -> Any:
    return of(
        f"{_SA}.modeling.sam",
        "Sam",
        _encoder(window_size=3, use_rel_pos=True, global_attn_indexes=(1,)),
        _prompts(),
        _decoder(),
    )


def _points() -> tuple:
    return torch.rand(2, 3, 2) * 64, torch.ones(2, 3).int()


def _amg(name: str, *args: object) -> tuple:
    return getattr(import_module(f"{_SA}.utils.amg"), name), args


def _mask_data() -> tuple:
    data = import_module(f"{_SA}.utils.amg").MaskData

    def run(masks: torch.Tensor, boxes: torch.Tensor, scores: torch.Tensor) -> object:
        batch = data(masks=masks, boxes=boxes, scores=scores, names=["a", "b", "c"])
        batch.filter(scores > 0.5)
        batch.cat(data(masks=masks, boxes=boxes, scores=scores, names=["a", "b", "c"]))
        return batch["boxes"]

    return run, (torch.rand(3, 4, 4) > 0.5, torch.rand(3, 4), torch.tensor([0.1, 0.7, 0.9]))


each(_SA, {
    "ImageEncoderViT": lambda: (_encoder(), (R(1, 3, 64, 64),)),
    "ImageEncoderViT.windows": lambda: (_encoder(window_size=3, use_rel_pos=True, global_attn_indexes=(1,)), (R(1, 3, 64, 64),)),
    "PromptEncoder.points": lambda: (_prompts(), (_points(), None, None)),
    "PromptEncoder.boxes": lambda: (_prompts(), (None, torch.rand(2, 4) * 64, R(2, 1, 16, 16))),
    "MaskDecoder": lambda: (_decoder(), (R(1, 8, 4, 4), R(1, 8, 4, 4), R(2, 3, 8), R(2, 8, 4, 4), True)),
    "Sam": lambda: (_sam(), ([{"image": torch.rand(3, 48, 64) * 255, "original_size": (96, 128), "point_coords": _points()[0], "point_labels": _points()[1]}], False)),
    "SamOnnxModel": lambda: (of(f"{_SA}.utils.onnx", "SamOnnxModel", _sam(), True, True), (R(1, 8, 4, 4), torch.rand(1, 3, 2) * 64, torch.ones(1, 3), R(1, 1, 16, 16), torch.ones(1), torch.tensor([96, 128]))),
    "batched_mask_to_box": lambda: _amg("batched_mask_to_box", torch.rand(3, 6, 6) > 0.6),
    "mask_to_rle": lambda: _amg("mask_to_rle_pytorch", torch.rand(3, 6, 6) > 0.6),
    "stability_score": lambda: _amg("calculate_stability_score", R(3, 6, 6), 0.0, 1.0),
    "is_box_near_crop_edge": lambda: _amg("is_box_near_crop_edge", torch.rand(3, 4) * 60, [0, 0, 64, 64], [0, 0, 128, 128]),
    "uncrop_masks": lambda: _amg("uncrop_masks", torch.rand(3, 6, 6) > 0.6, [2, 2, 8, 8], 12, 12),
    "MaskData": _mask_data,
    "ResizeLongestSide": lambda: (lambda x, c: (of(f"{_SA}.utils.transforms", "ResizeLongestSide", 32).apply_image_torch(x), of(f"{_SA}.utils.transforms", "ResizeLongestSide", 32).apply_coords_torch(c, (20, 24))), (torch.rand(1, 3, 20, 24), torch.rand(3, 2))),
})  # fmt: skip

# --- cellpose ------------------------------------------------------------------------------------


def _numpy(*shape: int) -> Any:
    return torch.rand(*shape).numpy()


def _cells() -> Any:
    masks = torch.zeros(16, 16).int()
    masks[2:7, 2:7] = 1
    masks[8:14, 7:14] = 2
    return masks.numpy()


def _cp(module: str, name: str, *args: object, **kwargs: object) -> tuple:
    return getattr(import_module(f"cellpose.{module}"), name), args, kwargs


def _found() -> tuple:
    points = torch.cat([torch.full((2, 30), 5.0), torch.full((2, 20), 9.0)], 1) + torch.rand(2, 50)
    inds = (torch.arange(50).numpy() // 16, torch.arange(50).numpy() % 16)
    return _cp("dynamics", "get_masks_torch", points.long(), inds, (16, 16), max_size_fraction=2.0)


each("cellpose", {
    "steps_interp": lambda: _cp("dynamics", "steps_interp", _numpy(2, 8, 8), (torch.arange(8).numpy(), torch.arange(8).numpy()), 2),
    "follow_flows": lambda: _cp("dynamics", "follow_flows", _numpy(2, 8, 8), (torch.arange(8).numpy(), torch.arange(8).numpy()), 2),
    "masks_to_flows": lambda: _cp("dynamics", "masks_to_flows_gpu", _cells(), niter=3),
    "get_masks_torch": _found,
    "max_pool_nd": lambda: _cp("dynamics", "max_pool_nd", R(1, 8, 8)),
    "compute_masks": lambda: _cp("dynamics", "compute_masks", _numpy(2, 16, 16), _numpy(16, 16), niter=2),
    "loss_seg": lambda: _cp("train", "_loss_fn_seg", torch.rand(2, 4, 8, 8), R(2, 3, 8, 8), torch.device("cpu")),
    "loss_class": lambda: _cp("train", "_loss_fn_class", torch.randint(0, 2, (2, 4, 8, 8)).float(), R(2, 5, 8, 8)),
    "gaussian_kernel": lambda: _cp("transforms", "gaussian_kernel", 2.0, 8, 8),
    "smooth_sharpen_img": lambda: _cp("transforms", "smooth_sharpen_img", _numpy(8, 8)),
    "add_noise": lambda: _cp("denoise", "add_noise", torch.rand(2, 1, 32, 32)),
    "add_noise.aniso": lambda: _cp("denoise", "add_noise", torch.rand(2, 1, 32, 32), iso=False, poisson=1.0),
    "normalize99": lambda: _cp("transforms", "normalize99", _numpy(8, 8)),
    "make_tiles": lambda: _cp("transforms", "make_tiles", _numpy(2, 20, 20), bsize=8),
    "average_precision": lambda: _cp("metrics", "average_precision", [_cells()], [_cells()]),
})  # fmt: skip

# --- torchxrayvision -----------------------------------------------------------------------------

_XV = "torchxrayvision"


def _dense(**kwargs: object) -> Any:
    return of(
        f"{_XV}.models",
        "DenseNet",
        growth_rate=4,
        block_config=(1, 1, 1, 1),
        num_init_features=8,
        num_classes=4,
        **kwargs,
    )


def _xray(size: int, scale: float = 500.0) -> torch.Tensor:
    return R(2, 1, size, size) * scale


each(_XV, {
    "DenseNet": lambda: (_dense(), (_xray(224),)),
    "DenseNet.sigmoid": lambda: (_dense(apply_sigmoid=True), (_xray(64),)),
    "DenseNet.thresholds": lambda: (_dense(op_threshs=torch.tensor([0.2, 0.3, float("nan"), 0.5])), (_xray(224, 5000.0),)),
    "ResNetAE50": lambda: (of(f"{_XV}.autoencoders", "ResNetAE50"), (_xray(224),)),
    "op_norm": lambda: (import_module(f"{_XV}.models").op_norm, (torch.rand(2, 4), torch.tensor([0.2, 0.3, 0.4, 0.5]))),
    "fix_resolution": lambda: (lambda x: import_module(f"{_XV}.utils").fix_resolution(x, 32, "model"), (_xray(64),)),
    "warn_normalization": lambda: (lambda x: import_module(f"{_XV}.utils").warn_normalization(x), (_xray(64),)),
})  # fmt: skip

# --- batchgeneratorsv2 ---------------------------------------------------------------------------

_BG = "batchgeneratorsv2.transforms"


def _bg(
    path: str,
    name: str,
    *args: object,
    seg: bool = False,
    size: tuple[int, ...] = (16, 16),
    **kwargs: object,
) -> tuple:
    transform = of(f"{_BG}.{path}", name, *args, **kwargs)
    data: dict[str, torch.Tensor] = {"image": torch.rand(2, *size)}
    if seg:
        data["segmentation"] = torch.randint(0, 3, (1, *size))
    return lambda **d: transform(**d), (), data


each("batchgeneratorsv2", {
    "GaussianNoise": lambda: _bg("intensity.gaussian_noise", "GaussianNoiseTransform"),
    "Gamma": lambda: _bg("intensity.gamma", "GammaTransform", (0.7, 1.5), 0.5, False, 1.0, 1.0),
    "Contrast": lambda: _bg("intensity.contrast", "ContrastTransform", (0.75, 1.25), True, False),
    "Brightness": lambda: _bg("intensity.brightness", "MultiplicativeBrightnessTransform", (0.75, 1.25), False),
    "BrightnessAdditive": lambda: _bg("intensity.brightness", "BrightnessAdditiveTransform", 0.0, 0.1),
    "Invert": lambda: _bg("intensity.inversion", "InvertImageTransform", 1.0),
    "CutOffOutliers": lambda: _bg("intensity.random_clip", "CutOffOutliersTransform"),
    "GaussianBlur": lambda: _bg("noise.gaussian_blur", "GaussianBlurTransform", (0.5, 1.0)),
    "MedianFilter": lambda: _bg("noise.median_filter", "MedianFilterTransform", 3),
    "Sharpening": lambda: _bg("noise.sharpen", "SharpeningTransform"),
    "Rician": lambda: _bg("noise.rician", "RicianNoiseTransform"),
    "BlankRectangle": lambda: _bg("noise.blank_rectangle", "BlankRectangleTransform", (2, 5), 0.0, (1, 3)),
    "Mirror": lambda: _bg("spatial.mirroring", "MirrorTransform", (0, 1), seg=True),
    "Rot90": lambda: _bg("spatial.rot90", "Rot90Transform", 1, allowed_axes={0, 1}, seg=True),
    "Transpose": lambda: _bg("spatial.transpose", "TransposeAxesTransform", {0, 1}, seg=True),
    "LowResolution": lambda: _bg("spatial.low_resolution", "SimulateLowResolutionTransform", (0.5, 1.0), False, False, ()),
    "Spatial": lambda: _bg("spatial.spatial", "SpatialTransform", (8, 8), 4, False, p_rotation=1.0, p_scaling=1.0, p_elastic_deform=1.0, seg=True),
    "Spatial.3d": lambda: _bg("spatial.spatial", "SpatialTransform", (8, 8, 8), 4, True, p_rotation=1.0, p_scaling=1.0, seg=True, size=(12, 12, 12)),
    "LocalGamma": lambda: _bg("local.local_gamma", "LocalGammaTransform", (2, 5)),
    "BrightnessGradient": lambda: _bg("local.brightness_gradient", "BrightnessGradientAdditiveTransform", (2, 5)),
    "RemoveLabel": lambda: _bg("utils.remove_label", "RemoveLabelTransform", 2, 0, seg=True),
    "DownsampleSeg": lambda: _bg("utils.deep_supervision_downsampling", "DownsampleSegForDSTransform", [1.0, 0.5], seg=True),
    "SegToRegions": lambda: _bg("utils.seg_to_regions", "ConvertSegmentationToRegionsTransform", [[1, 2], 2], seg=True),
    "Mask": lambda: _bg("utils.nnunet_masking", "MaskImageTransform", [0, 1], seg=True),
    "Random": lambda: (lambda t: (lambda **d: t(**d), (), {"image": torch.rand(2, 8, 8)}))(
        of(f"{_BG}.utils.random", "RandomTransform", of(f"{_BG}.intensity.gaussian_noise", "GaussianNoiseTransform"), 0.9)
    ),
    "BinaryOperator": lambda: _bg("nnunet.random_binary_operator", "ApplyRandomBinaryOperatorTransform", 1, strel_size=(1, 3)),
})  # fmt: skip
