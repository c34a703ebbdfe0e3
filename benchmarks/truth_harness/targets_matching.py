"""Flow, matching, earth observation, backbones: ptlflow, romatch, torchgeo, pytorchcv and others."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from registry import each, of

R = torch.randn


# --- ptlflow -------------------------------------------------------------------------------------


def _flow(path: str, name: str, size: int = 128, **kwargs: object) -> tuple:
    """An estimator of the motion between two frames."""
    model = of(f"ptlflow.models.{path}", name, **kwargs)
    return model, ({"images": torch.rand(1, 2, 3, size, size)},)


def _pl(path: str, name: str, *args: object, **kwargs: object) -> tuple:
    return getattr(import_module(f"ptlflow.{path}"), name), args, kwargs


each("ptlflow", {
    "RAFTSmall": lambda: _flow("raft.raft", "RAFTSmall", iters=2),
    "RAFTSmall.warm": lambda: (of("ptlflow.models.raft.raft", "RAFTSmall", iters=2), ({"images": torch.rand(1, 2, 3, 128, 128), "prev_preds": {"flow_small": R(1, 2, 16, 16)}},)),
    "GMA": lambda: _flow("gma.gma", "GMA", iters=2),
    "GMFlow": lambda: _flow("gmflow.gmflow", "GMFlow", feature_channels=32, num_transformer_layers=1),
    "UniMatch": lambda: _flow("unimatch.unimatch", "UniMatch", feature_channels=32, num_transformer_layers=1),
    "FastFlowNet": lambda: _flow("fastflownet.fastflownet", "FastFlowNet"),
    "PWCNet": lambda: _flow("pwcnet.pwcnet", "PWCNet"),
    "Flow1D": lambda: _flow("flow1d.flow1d", "Flow1D", iters=2),
    "NeuFlow2": lambda: _flow("neuflow2.neuflow2", "NeuFlow2", iters_s16=1, iters_s8=2),
    "SKFlow": lambda: _flow("skflow.skflow", "SKFlow", iters=2),
    "RPKNet": lambda: _flow("rpknet.rpknet", "RPKNet", iters=2),
    "LiteFlowNet": lambda: _flow("liteflownet.liteflownet", "LiteFlowNet"),
    "CRAFT": lambda: _flow("craft.craft", "CRAFT", iters=2),
    "IRRPWCNet": lambda: _flow("irr.pwcnet", "IRRPWCNet"),
    "flow_to_rgb": lambda: _pl("utils.flowpy_torch", "flow_to_rgb", R(1, 2, 8, 8)),
    "correlation": lambda: _pl("utils.correlation", "iter_spatial_correlation_sample", R(1, 4, 8, 8), R(1, 4, 8, 8), patch_size=3),
    "forward_interpolate": lambda: _pl("utils.utils", "forward_interpolate_batch", R(1, 2, 8, 8)),
    "FlowMetrics": lambda: ((lambda m: lambda p, t: m.update({"flows": p}, {"flows": t, "valids": torch.ones(1, 1, 1, 8, 8)}))(of("ptlflow.utils.flow_metrics", "FlowMetrics")), (R(1, 1, 2, 8, 8), R(1, 1, 2, 8, 8))),
    "InputPadder": lambda: (lambda x: of("ptlflow.utils.utils", "InputPadder", x.shape, 8).fill(x), (R(1, 2, 3, 9, 10),)),
})  # fmt: skip

# --- romatch -------------------------------------------------------------------------------------


def _pose() -> dict[str, torch.Tensor]:
    eye = torch.eye(4)[None].repeat(2, 1, 1)
    intrinsics = torch.tensor([[8.0, 0, 4], [0, 8, 4], [0, 0, 1]])[None].repeat(2, 1, 1)
    depth = torch.rand(2, 8, 8) + 1
    return {
        "im_A_depth": depth,
        "im_B_depth": depth + 0.01,
        "T_1to2": eye,
        "K1": intrinsics,
        "K2": intrinsics,
    }


def _rm(name: str, *args: object, **kwargs: object) -> tuple:
    return getattr(import_module("romatch.utils.utils"), name), args, kwargs


def _matcher(method: str, *args: object) -> tuple:
    matcher = of(
        "romatch.models.matcher",
        "RegressionMatcher",
        torch.nn.Identity(),
        torch.nn.Identity(),
        h=8,
        w=8,
    )
    return getattr(matcher, method), args


each("romatch", {
    "ConvRefiner": lambda: (of("romatch.models.matcher", "ConvRefiner", 2 * 4 + 4 + 9, 21, 3, dw=True, displacement_emb="linear", displacement_emb_dim=4, local_corr_radius=1, corr_in_other=True, hidden_blocks=1), (R(1, 4, 8, 8), R(1, 4, 8, 8), R(1, 2, 8, 8))),
    "GP": lambda: (of("romatch.models.matcher", "GP", import_module("romatch.models.matcher").CosKernel, T=0.2, learn_temperature=True, gp_dim=8, covar_size=3), (R(1, 4, 6, 6), R(1, 4, 6, 6))),
    "DINOv2": lambda: (of("romatch.models.transformer.dinov2", "DinoVisionTransformer", img_size=28, patch_size=14, embed_dim=8, depth=2, num_heads=2, block_chunks=0), (R(1, 3, 28, 28),), {"is_training": True}),
    "DINOv2.layers": lambda: (of("romatch.models.transformer.dinov2", "DinoVisionTransformer", img_size=28, patch_size=14, embed_dim=8, depth=2, num_heads=2, block_chunks=0, drop_path_rate=0.5).get_intermediate_layers, (R(1, 3, 42, 42),), {"n": 2, "reshape": True}),
    "VGG19": lambda: (of("romatch.models.encoders", "VGG19", pretrained=False), (R(1, 3, 32, 32),)),
    "sample": lambda: _matcher("sample", R(8, 8, 4), torch.rand(8, 8), 10),
    "match_keypoints": lambda: _matcher("match_keypoints", torch.rand(5, 2), torch.rand(6, 2), torch.rand(8, 8, 4), torch.rand(8, 8)),
    "get_gt_warp": lambda: (lambda **k: import_module("romatch.utils.utils").get_gt_warp(k["im_A_depth"], k["im_B_depth"], k["T_1to2"], k["K1"], k["K2"], H=6, W=6), (), _pose()),
    "cls_to_flow_refine": lambda: _rm("cls_to_flow_refine", R(1, 16, 4, 4)),
    "cls_to_flow": lambda: _rm("cls_to_flow", R(1, 16, 4, 4), deterministic_sampling=False),
    "epipolar": lambda: _rm("signed_left_to_right_epipolar_distance", R(2, 5, 2), R(2, 5, 2), R(2, 3, 3)),
    "kde": lambda: (import_module("romatch.utils.kde").kde, (R(6, 4),), {"half": False, "down": 2}),
}, grad=True)  # fmt: skip

# --- torchgeo ------------------------------------------------------------------------------------

_TG = "torchgeo.models"


def _sensors() -> dict[str, torch.Tensor]:
    return {"imgs": R(1, 3, 28, 28), "chn_ids": torch.tensor([[664.0, 559.0, 492.0]])}


each("torchgeo", {
    "ConvLSTM": lambda: (of(f"{_TG}.convlstm", "ConvLSTM", 2, [4, 4], 3, 2, batch_first=True), (R(1, 3, 2, 8, 8),)),
    "LTAE": lambda: (of(f"{_TG}.ltae", "LTAE", 8, 2, 4, (8, 4), d_model=8, len_max_seq=6), (R(2, 6, 8),)),
    "CROMA": lambda: (of(f"{_TG}.croma", "CROMA", encoder_dim=32, encoder_depth=2, num_heads=16, image_size=16), (R(1, 2, 16, 16), R(1, 12, 16, 16))),
    "DOFA": lambda: (of(f"{_TG}.dofa", "DOFA", img_size=32, embed_dim=16, depth=1, num_heads=2, num_classes=4), (R(1, 3, 32, 32),), {"wavelengths": [0.66, 0.56, 0.49]}),
    "CopernicusFM": lambda: (of(f"{_TG}.copernicusfm", "CopernicusFM", img_size=32, embed_dim=16, depth=1, num_heads=2, num_classes=4), (R(1, 3, 32, 32), torch.tensor([[10.0, float("nan"), 100.0, 4.0]])), {"wavelengths": [664.0, 559.0, 492.0], "bandwidths": [30.0, 30.0, 30.0], "kernel_size": 16}),
    "Panopticon": lambda: (of(f"{_TG}.panopticon", "Panopticon", attn_dim=384, embed_dim=768, img_size=28), (_sensors(),)),
    "FarSeg": lambda: (of(f"{_TG}.farseg", "FarSeg", "resnet18", 4, False), (R(2, 3, 64, 64),)),
    "ChangeStarFarSeg": lambda: (of(f"{_TG}.changestar", "ChangeStarFarSeg", "resnet18", 1, False), (R(2, 2, 3, 64, 64),)),
    "FCSiamDiff": lambda: (of(f"{_TG}.fcsiam", "FCSiamDiff", "resnet18", encoder_weights=None), (R(2, 2, 3, 64, 64),)),
    "RCF": lambda: (of(f"{_TG}.rcf", "RCF", 3, 4), (R(2, 3, 8, 8),)),
    "FCN": lambda: (of(f"{_TG}.fcn", "FCN", 3, 4, 4), (R(1, 3, 8, 8),)),
    "MixVPR": lambda: (of(f"{_TG}.earthloc", "MixVPR", 8, 4, 4, 4, 1, 1, 2), (R(2, 8, 4, 4),)),
    "QRLoss": lambda: (of("torchgeo.losses", "QRLoss"), (torch.rand(2, 3, 4, 4).softmax(1), torch.rand(2, 3, 4, 4).softmax(1))),
    "AppendNDVI": lambda: (of("torchgeo.transforms", "AppendNDVI", 0, 1), (torch.rand(2, 3, 4, 4),)),
    "RandomGrayscale": lambda: (of("torchgeo.transforms", "RandomGrayscale", torch.tensor([0.3, 0.3, 0.4]), p=1.0), (torch.rand(2, 3, 4, 4),)),
    "SatSlideMix": lambda: (of("torchgeo.transforms", "SatSlideMix", p=1.0), (torch.rand(2, 3, 8, 8),)),
    "Rearrange": lambda: (of("torchgeo.transforms.temporal", "Rearrange", "b t c h w -> b (t c) h w"), (torch.rand(2, 2, 4, 8, 8),)),
})  # fmt: skip

# --- pytorchcv -----------------------------------------------------------------------------------


def _cv(path: str, name: str, *shape: int, **kwargs: object) -> tuple:
    return of(f"pytorchcv.models.{path}", name, **kwargs), (R(*shape),)


each("pytorchcv", {
    "superpointnet": lambda: _cv("superpointnet", "superpointnet", 1, 1, 32, 32),
    "shakedrop": lambda: _cv("shakedropresnet_cifar", "shakedropresnet20_cifar10", 1, 3, 32, 32),
    "shakeshake": lambda: _cv("shakeshakeresnet_cifar", "shakeshakeresnet20_2x16d_cifar10", 1, 3, 32, 32),
    "octresnet": lambda: _cv("octresnet", "octresnet10_ad2", 1, 3, 224, 224),
    "condensenet": lambda: _cv("condensenet", "condensenet74_c4_g4", 1, 3, 224, 224),
    "isqrtcov": lambda: _cv("isqrtcovresnet", "isqrtcovresnet18", 1, 3, 64, 64),
    "fractalnet": lambda: _cv("fractalnet_cifar", "fractalnet_cifar10", 2, 3, 32, 32),
    "raft": lambda: (of("pytorchcv.models.raft", "raft_small"), (R(1, 3, 128, 128), R(1, 3, 128, 128))),
    "revnet": lambda: _cv("revnet", "revnet38", 1, 3, 224, 224),
    "resdrop": lambda: _cv("resdropresnet_cifar", "resdropresnet20_cifar10", 1, 3, 32, 32),
    "wrn1bit": lambda: _cv("wrn1bit_cifar", "wrn20_10_1bit_cifar10", 1, 3, 32, 32),
    "lffd": lambda: _cv("lffd", "lffd20x5s320v2_widerface", 1, 3, 320, 320),
    "pspnet": lambda: _cv("icnet", "icnet_resnetd50b_cityscapes", 1, 3, 96, 96, in_size=(96, 96)),
    "centernet": lambda: _cv("centernet", "centernet_resnet18_voc", 1, 3, 64, 64, in_size=(64, 64)),
    "danet": lambda: _cv("danet", "danet_resnetd50b_cityscapes", 1, 3, 64, 64, in_size=(64, 64)),
})  # fmt: skip

# --- torch_fidelity ------------------------------------------------------------------------------

_TOF = "torch_fidelity"


def _fid(module: str, name: str, *args: object, **kwargs: object) -> tuple:
    return getattr(import_module(f"{_TOF}.{module}"), name), args, kwargs


each(_TOF, {
    "fid_statistics": lambda: _fid("metric_fid", "fid_features_to_statistics", R(8, 4)),
    "isc": lambda: _fid("metric_isc", "isc_features_to_metric", R(20, 4), splits=2),
    "isc.ordered": lambda: _fid("metric_isc", "isc_features_to_metric", R(20, 4), splits=2, shuffle=False),
    "kid": lambda: _fid("metric_kid", "kid_features_to_metric", R(10, 4), R(10, 4), kid_subsets=2, kid_subset_size=5, verbose=False),
    "prc": lambda: _fid("metric_prc", "prc_features_to_metric", R(10, 4), R(10, 4), verbose=False),
    "prc.part": lambda: _fid("metric_prc", "calculate_precision_recall_part", R(10, 4), R(10, 4), batch_size=4),
    "batch_lerp": lambda: _fid("noise", "batch_lerp", R(4, 6), R(4, 6), torch.rand(4, 1)),
    "batch_slerp_any": lambda: _fid("noise", "batch_slerp_any", R(4, 6), R(4, 6), torch.rand(4, 1)),
    "interpolate": lambda: _fid("interpolate_compat_tensorflow", "interpolate_bilinear_2d_like_tensorflow1x", R(1, 3, 8, 8), size=(5, 5), align_corners=False),
    "interpolate.fast": lambda: _fid("interpolate_compat_tensorflow", "interpolate_bilinear_2d_like_tensorflow1x", R(1, 3, 8, 8), size=(5, 5), align_corners=False, method="fast"),
    "InceptionE_1": lambda: (of(f"{_TOF}.feature_extractor_inceptionv3", "InceptionE_1", 8), (R(1, 8, 6, 6),)),
})  # fmt: skip

# --- hiera, efficientnet_pytorch, byol_pytorch ---------------------------------------------------


def _hiera(kind: str = "hiera.hiera.Hiera", **kwargs: object) -> Any:
    module, _, name = kind.rpartition(".")
    options: dict[str, object] = {
        "input_size": (64, 64),
        "embed_dim": 8,
        "stages": (1, 1, 1, 1),
        "num_classes": 4,
        "q_pool": 2,
        "mask_unit_attn": (True, True, False, False),
    }
    return of(module, name, **(options | kwargs))


_MAE = {
    "decoder_embed_dim": 8,
    "decoder_depth": 1,
    "decoder_num_heads": 2,
    "mask_unit_size": (8, 8),
}

each("hiera", {
    "Hiera": lambda: (_hiera(mask_unit_size=(4, 4)), (R(1, 3, 64, 64),)),
    "Hiera.intermediates": lambda: (_hiera(mask_unit_size=(4, 4), drop_path_rate=0.5), (R(1, 3, 64, 64),), {"return_intermediates": True}),
    "Hiera.video": lambda: (_hiera(input_size=(4, 64, 64), q_stride=(1, 2, 2), mask_unit_size=(1, 4, 4), patch_kernel=(3, 7, 7), patch_stride=(2, 4, 4), patch_padding=(1, 3, 3), sep_pos_embed=True), (R(1, 3, 4, 64, 64),)),
    "MAE": lambda: (_hiera("hiera.hiera_mae.MaskedAutoencoderHiera", **_MAE), (R(1, 3, 64, 64),), {"mask_ratio": 0.5}),
    "get_random_mask": lambda: (_hiera(mask_unit_size=(4, 4)).get_random_mask, (R(2, 3, 64, 64), 0.5)),
})  # fmt: skip


def _efficient(name: str = "efficientnet-b0", method: str = "", **kwargs: object) -> tuple:
    model = import_module("efficientnet_pytorch").EfficientNet.from_name(
        name, num_classes=4, **kwargs
    )
    return (getattr(model, method) if method else model), (R(2, 3, 64, 64),)


def _swish() -> tuple:
    model, args = _efficient()
    model.set_swish(memory_efficient=False)
    return model, args


each("efficientnet_pytorch", {
    "b0": lambda: _efficient(),
    "b0.swish": _swish,
    "b0.dynamic": lambda: _efficient(image_size=None),
    "b0.endpoints": lambda: _efficient(method="extract_endpoints"),
    "MemoryEfficientSwish": lambda: (of("efficientnet_pytorch.utils", "MemoryEfficientSwish"), (R(2, 4, requires_grad=True),)),
    "drop_connect": lambda: (import_module("efficientnet_pytorch.utils").drop_connect, (R(2, 3, 4, 4), 0.3, True)),
    "MaxPool2dDynamicSamePadding": lambda: (of("efficientnet_pytorch.utils", "MaxPool2dDynamicSamePadding", 3, 2), (R(1, 3, 7, 7),)),
})  # fmt: skip


def _byol(**kwargs: object) -> tuple:
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(4, 4),
    )
    model = of(
        "byol_pytorch.byol_pytorch",
        "BYOL",
        net,
        16,
        hidden_layer=-1,
        projection_size=8,
        projection_hidden_size=8,
        augment_fn=torch.nn.Identity(),
        **kwargs,
    )
    return model, (R(4, 3, 16, 16),)


def _moved() -> tuple:
    model, args = _byol()
    model(*args)
    return model.update_moving_average, ()


each("byol_pytorch", {
    "BYOL": lambda: _byol(use_simplicial_embeddings=False),
    "BYOL.sem": lambda: _byol(),
    "BYOL.simsiam": lambda: _byol(use_momentum=False, use_simplicial_embeddings=False),
    "BYOL.embedding": lambda: (*_byol(), {"return_embedding": True}),
    "update_moving_average": _moved,
    "SEM": lambda: (of("byol_pytorch.byol_pytorch", "SEM", 16), (R(4, 16),)),
    "kl_loss_fn": lambda: (import_module("byol_pytorch.byol_pytorch").kl_loss_fn, (R(4, 8).softmax(-1), R(4, 8).softmax(-1))),
})  # fmt: skip
