"""Restoration and quality of images, and faces: spandrel, pyiqa, facexlib, DISTS_pytorch."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import each

R = torch.randn


def _image(size: int = 16, batch: int = 1, channels: int = 3) -> torch.Tensor:
    return torch.rand(batch, channels, size, size)


# --- spandrel ------------------------------------------------------------------------------------


def _arch(path: str, name: str, size: int = 16, **kwargs: object) -> tuple:
    module = import_module(f"spandrel.architectures.{path}")
    return getattr(module, name)(**kwargs), (_image(size),)


each("spandrel", {
    "ATD": lambda: _arch("ATD.__arch.atd_arch", "ATD", embed_dim=12, depths=(2,), num_heads=(2,), window_size=8, category_size=16, num_tokens=8, reducted_dim=4, upscale=2, upsampler="pixelshuffledirect"),
    "DAT": lambda: _arch("DAT.__arch.DAT", "DAT", 20, embed_dim=32, depth=[2], num_heads=[2], split_size=[4, 8], upscale=2),
    "HAT": lambda: _arch("HAT.__arch.HAT", "HAT", embed_dim=12, depths=(2,), num_heads=(2,), window_size=8, compress_ratio=3, squeeze_factor=3, upscale=2, upsampler="pixelshuffle"),
    "Swin2SR": lambda: _arch("Swin2SR.__arch.Swin2SR", "Swin2SR", 20, embed_dim=12, depths=[2], num_heads=[2], window_size=8, upscale=2, upsampler="pixelshuffle"),
    "RGT": lambda: _arch("RGT.__arch.rgt", "RGT", embed_dim=12, depth=[2], num_heads=[2], split_size=[8, 8]),
    "FBCNN": lambda: _arch("FBCNN.__arch.FBCNN", "FBCNN", 20, nc=[4, 4, 4, 512], nb=1),
    "Uformer": lambda: _arch("Uformer.__arch.Uformer", "Uformer", 128, img_size=128, embed_dim=8, depths=[1] * 9, num_heads=[1] * 9),
    "KBNet_l": lambda: _arch("KBNet.__arch.kbnet_l", "KBNet_l", dim=48, num_blocks=[1, 1, 1, 1], num_refinement_blocks=1, heads=[1, 1, 1, 1]),
    "OmniSR": lambda: _arch("OmniSR.__arch.OmniSR", "OmniSR", 20, num_feat=16, up_scale=2),
    "CRAFT": lambda: _arch("CRAFT.__arch.CRAFT", "CRAFT", embed_dim=12, depths=[2], num_heads=[2], upscale=2),
    "RestoreFormer": lambda: _arch("RestoreFormer.__arch.restoreformer_arch", "RestoreFormer", 32, n_embed=16, embed_dim=32, ch=32, ch_mult=(1, 1), num_res_blocks=1, resolution=32, z_channels=32, head_size=2),
    "UpCunet2x": lambda: _arch("RealCUGAN.__arch.upcunet_v3", "UpCunet2x", 21),
    "SeemoRe": lambda: _arch("SeemoRe.__arch.seemore_arch", "SeemoRe", scale=2, num_experts=2, num_layers=1, embedding_dim=8),
    "LaMa": lambda: (_arch("LaMa.__arch.LaMa", "LaMa", in_nc=4)[0], (_image(32), _image(32, 1, 1))),
    "CIDNet": lambda: _arch("HVICIDNet.__arch.cidnet", "CIDNet", channels=[8, 8, 8, 8], heads=[1, 1, 1, 1]),
    "FFTformer": lambda: _arch("FFTformer.__arch.fftformer_arch", "FFTformer", 32, dim=8, num_blocks=[1, 1, 1], num_refinement_blocks=1),
    "RetinexFormer": lambda: _arch("RetinexFormer.__arch.retinexformer_arch", "RetinexFormer", 20, n_feat=8, stage=1),
    "SCUNet": lambda: _arch("SCUNet.__arch.SCUNet", "SCUNet", 64, config=[1] * 7, dim=64),
    "StyleGAN2GeneratorClean": lambda: (
        import_module("spandrel.architectures.GFPGAN.__arch.stylegan2_clean_arch").StyleGAN2GeneratorClean(16, 8, 1, 1, 0.05), ([R(1, 8)],)
    ),
    "IPT": lambda: _arch("IPT.__arch.ipt", "IPT", 12, patch_size=12, n_feats=4, num_heads=2, num_layers=1, patch_dim=3),
    "DITN": lambda: _arch("DITN.__arch.DITN_Real", "DITN_Real", 20, dim=12, ITL_blocks=1, SAL_blocks=1, upscale=2),
    "SAFMN": lambda: _arch("SAFMN.__arch.safmn", "SAFMN", dim=8, n_blocks=1, upscaling_factor=2),
    "SPAN": lambda: _arch("SPAN.__arch.span", "SPAN", num_in_ch=3, num_out_ch=3, feature_channels=8, upscale=2),
    "FDAT": lambda: _arch("FDAT.__arch.fdat", "FDAT", scale=2, embed_dim=16, num_groups=1, depth_per_group=2, num_heads=2),
})  # fmt: skip

# --- pyiqa ---------------------------------------------------------------------------------------


def _full(path: str, name: str, size: int = 64, **kwargs: object) -> tuple:
    """A metric of an image and its reference."""
    metric = getattr(import_module(f"pyiqa.archs.{path}_arch"), name)(**kwargs)
    return metric, (_image(size, 2), _image(size, 2))


def _none(path: str, name: str, size: int = 64, **kwargs: object) -> tuple:
    """A metric without a reference."""
    return getattr(import_module(f"pyiqa.archs.{path}_arch"), name)(**kwargs), (_image(size, 2),)


def _iqa(path: str, name: str, *args: object, **kwargs: object) -> tuple:
    function = getattr(import_module(f"pyiqa.{path}"), name)
    return lambda *a: function(*a, **kwargs), args


each("pyiqa", {
    "SSIM": lambda: _full("ssim", "SSIM"),
    "SSIM.downsample": lambda: _full("ssim", "SSIM", 300, downsample=True, test_y_channel=False),
    "MS_SSIM": lambda: _full("ssim", "MS_SSIM", 192),
    "CW_SSIM": lambda: _full("ssim", "CW_SSIM"),
    "VIF": lambda: _full("vif", "VIF"),
    "GMSD": lambda: _full("gmsd", "GMSD"),
    "NLPD": lambda: _full("nlpd", "NLPD"),
    "MAD": lambda: _full("mad", "MAD"),
    "VSI": lambda: _full("vsi", "VSI"),
    "FSIM": lambda: _full("fsim", "FSIM"),
    "PSNR": lambda: _full("psnr", "PSNR", test_y_channel=True),
    "Entropy": lambda: _none("entropy", "Entropy"),
    "PIQE": lambda: _none("piqe", "PIQE"),
    "natural_scene_statistics": lambda: _iqa("archs.brisque_arch", "natural_scene_statistics", _image(32, 2, 1) * 255),
    "niqe": lambda: _iqa("archs.niqe_arch", "niqe", _image(192, 2, 1) * 255, torch.rand(1, 36), torch.eye(36)),
    "block_dct": lambda: _iqa("archs.nrqm_arch", "block_dct", _image(32, 2, 1)),
    "global_gsm": lambda: _iqa("archs.nrqm_arch", "global_gsm", _image(64, 2, 1)),
    "TReS.Transformer": lambda: (import_module("pyiqa.archs.tres_arch").Transformer(8, 2, 1, 1, 16), (R(1, 8, 4, 4), R(1, 8, 4, 4))),
    "MUSIQ": lambda: (import_module("pyiqa.archs.musiq_arch").MUSIQ(hidden_size=12, mlp_dim=12, num_heads=2, num_layers=1, longer_side_lengths=[64, 96], pretrained=False), (_image(96, 2),)),
    "NLPD.color": lambda: _full("nlpd", "NLPD", channels=3, test_y_channel=False),
    "MSSWD": lambda: _full("msswd", "MS_SWD_learned", pretrained=False),
    "imresize": lambda: _iqa("matlab_utils", "imresize", _image(32), scale=0.5),
    "emd_loss": lambda: (import_module("pyiqa.losses.iqa_losses").EMDLoss(), (torch.rand(4, 5).softmax(1), torch.rand(4, 5).softmax(1))),
    "plcc_loss": lambda: (import_module("pyiqa.losses.iqa_losses").PLCCLoss(), (R(6, 1), R(6, 1))),
    "niqa_loss": lambda: (import_module("pyiqa.losses.iqa_losses").NiNLoss(), (R(6, 1), R(6, 1))),
})  # fmt: skip

# --- facexlib ------------------------------------------------------------------------------------


def _face(path: str, name: str, *args: object, **kwargs: object) -> torch.nn.Module:
    return getattr(import_module(f"facexlib.{path}"), name)(*args, **kwargs)


def _boxes(count: int = 5) -> torch.Tensor:
    corner = torch.rand(count, 2) * 0.5
    return torch.cat([corner, corner + 0.1 + torch.rand(count, 2) * 0.4], 1)


def _face_utils(name: str, *args: object) -> tuple:
    return getattr(import_module("facexlib.detection.retinaface_utils"), name), args


def _match() -> tuple:
    loc, conf, landm = torch.zeros(1, 6, 4), torch.zeros(1, 6).long(), torch.zeros(1, 6, 10)
    return _face_utils(
        "match", 0.35, _boxes(3), _boxes(6), [0.1, 0.2], torch.ones(3), torch.rand(3, 10), loc, conf, landm, 0
    )  # fmt: skip


each("facexlib", {
    "FAN": lambda: (_face("alignment.awing_arch", "FAN", num_modules=1, gray_scale=False, num_landmarks=4, end_relu=False, device="cpu"), (_image(256),)),
    "HyperIQA": lambda: (_face("assessment.hyperiqa_net", "HyperIQA", 16, 112, 224, 112, 56, 28, 14, 7), (_image(224),)),
    "HopeNet": lambda: (_face("headpose.hopenet_arch", "HopeNet", "resnet", [1, 1, 1, 1], 66), (_image(224),)),
    "MODNet": lambda: (_face("matting.modnet", "MODNet", 3, 32, backbone_pretrained=False), (_image(64), False)),
    "BiSeNet": lambda: (_face("parsing.bisenet", "BiSeNet", 4), (_image(64),)),
    "ParseNet": lambda: (_face("parsing.parsenet", "ParseNet", 32, 32, 16, 8, 4, 1, ch_range=[8, 16]), (_image(32),)),
    "arcface": lambda: (_face("recognition.arcface_arch", "Backbone", 50, 0.5, "ir_se"), (_image(112, 2),)),
    "MobileFaceNet": lambda: (_face("recognition.arcface_arch", "MobileFaceNet", 8), (_image(112, 2),)),
    "RetinaFace": lambda: (_face("detection.retinaface", "RetinaFace", "mobile0.25", device=torch.device("cpu")), (_image(64),)),
    "PriorBox": lambda: (lambda: _face("detection.retinaface_utils", "PriorBox", {"min_sizes": [[16, 32], [64, 128]], "steps": [8, 16], "clip": True}, image_size=(32, 32)).forward(), ()),
    "match": _match,
    "jaccard": lambda: _face_utils("jaccard", _boxes(), _boxes()),
    "decode": lambda: _face_utils("decode", R(5, 4), _boxes(), [0.1, 0.2]),
    "batched_decode_landm": lambda: _face_utils("batched_decode_landm", R(2, 5, 10), _boxes()[None], [0.1, 0.2]),
    "nms": lambda: _face_utils("nms", _boxes(), torch.rand(5), 0.5, 4),
    "log_sum_exp": lambda: _face_utils("log_sum_exp", R(5, 4)),
})  # fmt: skip

# --- DISTS_pytorch -------------------------------------------------------------------------------


def _dists() -> torch.nn.Module:
    models = import_module("torchvision.models")
    vgg16 = models.vgg16
    models.vgg16 = lambda pretrained=False, **_: vgg16(weights=None)  # nothing to download
    try:
        return import_module("DISTS_pytorch").DISTS(load_weights=False)
    finally:
        models.vgg16 = vgg16


each("DISTS_pytorch", {
    "DISTS": lambda: (_dists(), (_image(32, 2), _image(32, 2))),
    "DISTS.grad": lambda: (_dists(), (_image(32, 2), _image(32, 2)), {"require_grad": True, "batch_average": True}),
    "L2pooling": lambda: (import_module("DISTS_pytorch.DISTS_pt").L2pooling(channels=4), (R(1, 4, 8, 8),)),
})  # fmt: skip
