"""timm, torchvision, open_clip, vit_pytorch, lightly, facenet_pytorch, lpips."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

R = torch.randn

# --- timm ---------------------------------------------------------------------------------------

TIMM_MODELS = """
resnet18 resnetv2_50 resnest14d res2net50_26w_4s efficientnet_b0 tf_efficientnetv2_b0
mobilenetv3_small_050 mobilenetv4_conv_small_035 ghostnet_050 repvgg_a0 convnext_atto
convnextv2_atto densenet121 dla34 dpn48b hrnet_w18_small regnetx_002 selecsls42 vovnet39a
xception41 inception_v4 nfnet_f0 cspresnet50 rexnet_100 tinynet_e edgenext_xx_small
mobilevit_xxs mobilevitv2_050 fastvit_t8 efficientvit_b0 efficientvit_m0 efficientformer_l1
efficientformerv2_s0 levit_128s poolformer_s12 caformer_s18 pvt_v2_b0 twins_svt_small
swin_tiny_patch4_window7_224 swinv2_tiny_window8_256 maxvit_nano_rw_256 coatnet_nano_rw_224
coat_tiny crossvit_tiny_240 cait_xxs24_224 deit_tiny_patch16_224 deit_tiny_distilled_patch16_224
vit_tiny_patch16_224 vit_relpos_small_patch16_224 vit_small_patch16_rope_224
eva02_tiny_patch14_224 beit_base_patch16_224 mixer_s32_224 resmlp_12_224 gmlp_ti16_224
convmixer_768_32 volo_d1_224 xcit_nano_12_p16_224 visformer_tiny tnt_s_patch16_224 pit_ti_224
nest_tiny focalnet_tiny_srf davit_tiny hiera_tiny_224 mvitv2_tiny inception_next_tiny starnet_s1
repvit_m0_9 tiny_vit_5m_224 nextvit_small sequencer2d_s rdnet_tiny mambaout_femto botnet26t_256
halonet26t lambda_resnet26t eca_botnext26ts_256 skresnet18 gernet_s hardcorenas_a fbnetc_100
hgnet_tiny shvit_s1 swiftformer_xs ghostnetv3_050 naflexvit_base_patch16_gap samvit_base_patch16
vitamin_small_224 gcvit_xxtiny csatv2 convit_tiny
""".split()


def _timm_model(name: str) -> Callable[[], tuple]:
    def build() -> tuple:
        timm = import_module("timm")
        model = timm.create_model(name, pretrained=False, num_classes=10)
        size = model.default_cfg.get("input_size", (3, 224, 224))[1]
        fixed = model.default_cfg.get("fixed_input_size")
        return model, (R(2, 3, size if fixed or size < 160 else 160, size if fixed else 160),)

    return build


def _timm_attr(
    module: str, name: str, make: Callable[[Callable], Callable], args: Callable[[], tuple]
):
    def build() -> tuple:
        return make(getattr(import_module(module), name)), args()

    return build


def _classes() -> tuple:
    return R(8, 5), torch.randint(0, 5, (8,))


def _multilabel() -> tuple:
    return R(8, 5), torch.randint(0, 2, (8, 5)).float()


for _name in TIMM_MODELS:
    add("timm", _name, _timm_model(_name), modes=("eval",))
for _name in "resnet18 vit_tiny_patch16_224 efficientnet_b0 swin_tiny_patch4_window7_224".split():
    add("timm", _name + "+train", _timm_model(_name), modes=("train",))
for _name in """AsymmetricLossMultiLabel ZlprLoss TwoWayLoss BinaryCrossEntropy
    PolyBinaryCrossEntropy""".split():
    add(
        "timm",
        _name,
        _timm_attr("timm.loss", _name, lambda c: c(), _multilabel),
        modes=("eval",),
        grad=True,
    )
for _name in "AsymmetricLossSingleLabel LabelSmoothingCrossEntropy PolyCrossEntropy".split():
    add(
        "timm",
        _name,
        _timm_attr("timm.loss", _name, lambda c: c(), _classes),
        modes=("eval",),
        grad=True,
    )
add(
    "timm",
    "BinaryCrossEntropy+dense",
    _timm_attr(
        "timm.loss",
        "BinaryCrossEntropy",
        lambda c: c(target_threshold=0.2, sum_classes=True),
        _classes,
    ),
    modes=("eval",),
)
add(
    "timm",
    "JsdCrossEntropy",
    _timm_attr(
        "timm.loss", "JsdCrossEntropy", lambda c: c(), lambda: (R(9, 5), torch.randint(0, 5, (9,)))
    ),
    modes=("eval",),
)
for _mode in "batch pair elem".split():

    def _make(c: Callable, mode: str = _mode) -> Callable:
        return c(mixup_alpha=0.8, cutmix_alpha=1.0, mode=mode, num_classes=5)

    add(
        "timm",
        f"Mixup.{_mode}",
        _timm_attr(
            "timm.data",
            "Mixup",
            _make,
            lambda: (torch.rand(4, 3, 16, 16), torch.randint(0, 5, (4,))),
        ),
    )
add(
    "timm",
    "RandomErasing",
    _timm_attr(
        "timm.data.random_erasing",
        "RandomErasing",
        lambda c: c(probability=1.0, mode="pixel", device="cpu"),
        lambda: (torch.rand(2, 3, 24, 24),),
    ),
)
for _name in """BlurPool2d SelectAdaptivePool2d PatchDropout DropBlock2d DropPath SplitAttn EcaModule GatherExcite
    GlobalContext HaloAttn LambdaLayer BottleneckAttn NonLocalAttn BatchNonLocalAttn CbamModule SEModule
    RotAttentionPool2d AttentionPool2d CondConv2d MixedConv2d""".split():

    def _layer(c: Callable, name: str = _name) -> Callable:
        if name in (
            "BlurPool2d",
            "EcaModule",
            "GatherExcite",
            "GlobalContext",
            "NonLocalAttn",
            "BatchNonLocalAttn",
            "CbamModule",
            "SEModule",
        ):
            return c(16)
        if name in ("SplitAttn", "CondConv2d", "MixedConv2d"):
            return c(16, 16, 3)
        if name in ("HaloAttn", "LambdaLayer", "BottleneckAttn"):
            return c(
                16,
                feat_size=(8, 8),
                **(
                    {"block_size": 4, "halo_size": 1, "num_heads": 2, "dim_head": 8}
                    if name == "HaloAttn"
                    else {"dim_head": 8, "num_heads": 2}
                ),
            )
        if name.endswith("Pool2d") and name != "SelectAdaptivePool2d":
            return c(16, 16, 8, num_heads=2)
        return c(0.5) if name in ("PatchDropout", "DropPath", "DropBlock2d") else c()

    add(
        "timm",
        f"layers.{_name}",
        _timm_attr(
            "timm.layers",
            _name,
            _layer,
            lambda n=_name: (R(2, 9, 16),) if n == "PatchDropout" else (R(2, 16, 8, 8),),
        ),
    )


# --- optimizers' steps of timm ------------------------------------------------------------------


def optimizer_step(make: Callable[[list], torch.optim.Optimizer]) -> Callable[[], tuple]:
    """Two steps on a matrix and a vector; gradients are already there."""

    def build() -> tuple:
        params = [torch.nn.Parameter(R(6, 4)), torch.nn.Parameter(R(4))]
        for param in params:
            param.grad = R(param.shape)
        optimizer = make(params)

        def step() -> torch.Tensor:
            optimizer.step()
            return params[0].detach() * 2

        step()
        return step, ()

    return build


def _timm_optimizer(name: str) -> Callable[[], tuple]:
    def make(params: list) -> torch.optim.Optimizer:
        optim = import_module("timm.optim")
        info = optim.get_optimizer_class(name, bind_defaults=True)
        return info(params, lr=0.01)

    return optimizer_step(make)


for _name in """adabelief adafactor adafactorbv adahessian adamp adan adopt cadamw clamb clion kron lamb laprop
    larc lars lion madgrad mars muon nadamw novograd radamlegacy rmsproptf sgdp sgdw adamuon""".split():
    add("timm", f"optim.{_name}", _timm_optimizer(_name))

# --- torchvision --------------------------------------------------------------------------------


def _tv_model(
    path: str, name: str, size: int, count: int = 1, listed: bool = False, **kwargs: object
):
    def build() -> tuple:
        model = getattr(import_module(f"torchvision.models{path}"), name)(weights=None, **kwargs)
        images = torch.rand(count, 3, size, size)
        return model, ([*images],) if listed else (images,)

    return build


def _tv_detector_train(name: str, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        model, args = _tv_model(".detection", name, 96, 2, True, **kwargs)()
        boxes = torch.tensor([[10.0, 10.0, 60.0, 60.0], [20.0, 30.0, 80.0, 90.0]])
        target = {"boxes": boxes, "labels": torch.tensor([1, 2])}
        return model, (*args, [target, target])

    return build


_SMALL = {"weights_backbone": None, "num_classes": 3, "min_size": 96, "max_size": 96}
for _name, _kwargs in {
    "fasterrcnn_mobilenet_v3_large_320_fpn": _SMALL,
    "retinanet_resnet50_fpn": _SMALL,
    "fcos_resnet50_fpn": _SMALL,
    "ssdlite320_mobilenet_v3_large": {"weights_backbone": None, "num_classes": 3},
    "ssd300_vgg16": {"weights_backbone": None, "num_classes": 3},
    "maskrcnn_resnet50_fpn": _SMALL,
    "keypointrcnn_resnet50_fpn": {**_SMALL, "num_classes": 2},
}.items():
    add(
        "torchvision",
        _name,
        _tv_model(".detection", _name, 96, 2, True, **_kwargs),
        modes=("eval",),
    )
    if _name.startswith(("faster", "retina", "fcos", "ssd")):
        add("torchvision", _name + "+loss", _tv_detector_train(_name, **_kwargs), modes=("train",))
for _name in """googlenet inception_v3 mobilenet_v2 shufflenet_v2_x0_5 squeezenet1_0 mnasnet0_5 swin_v2_t vit_b_32
    maxvit_t regnet_y_400mf""".split():
    add(
        "torchvision",
        _name,
        _tv_model("", _name, 224 if _name in ("vit_b_32", "maxvit_t") else 80, 2),
        modes=("eval",),
    )
for _name in "deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large".split():
    add(
        "torchvision",
        _name,
        _tv_model(".segmentation", _name, 64, 2, weights_backbone=None),
        modes=("eval",),
    )
add(
    "torchvision",
    "raft_small",
    lambda: (
        import_module("torchvision.models.optical_flow").raft_small(),
        (torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128)),
        {"num_flow_updates": 2},
    ),
    modes=("eval",),
)
add(
    "torchvision",
    "r3d_18",
    lambda: (import_module("torchvision.models.video").r3d_18(), (torch.rand(1, 3, 4, 32, 32),)),
    modes=("eval",),
)


def _boxes(n: int) -> torch.Tensor:
    low = torch.rand(n, 2) * 10
    return torch.cat([low, low + 1 + torch.rand(n, 2) * 10], 1)


for _name, _args in {
    "batched_nms": lambda: (_boxes(9), torch.rand(9), torch.randint(0, 3, (9,)), 0.5),
    "nms": lambda: (_boxes(9), torch.rand(9), 0.5),
    "remove_small_boxes": lambda: (_boxes(9), 4.0),
    "clip_boxes_to_image": lambda: (_boxes(9), (10, 10)),
    "masks_to_boxes": lambda: (torch.rand(3, 8, 8) > 0.5,),
    "box_iou": lambda: (_boxes(3), _boxes(4)),
    "generalized_box_iou_loss": lambda: (_boxes(4), _boxes(4)),
    "distance_box_iou_loss": lambda: (_boxes(4), _boxes(4)),
    "complete_box_iou_loss": lambda: (_boxes(4), _boxes(4)),
    "sigmoid_focal_loss": lambda: (R(8), torch.randint(0, 2, (8,)).float()),
    "stochastic_depth": lambda: (R(8, 4), 0.5, "row"),
    "drop_block2d": lambda: (R(2, 3, 8, 8), 0.5, 3),
    "box_convert": lambda: (_boxes(4), "xyxy", "cxcywh"),
}.items():
    add(
        "torchvision",
        f"ops.{_name}",
        lambda n=_name, a=_args: (getattr(import_module("torchvision.ops"), n), a()),
    )

for _name, _kwargs in {
    "RandomHorizontalFlip": {},
    "RandomResizedCrop": {"size": 16},
    "RandomCrop": {"size": 16},
    "RandomErasing": {"p": 1.0},
    "ColorJitter": {"brightness": 0.5, "hue": 0.1, "contrast": 0.3, "saturation": 0.2},
    "GaussianBlur": {"kernel_size": 3},
    "RandomRotation": {"degrees": 30},
    "RandomAffine": {"degrees": 20, "translate": (0.1, 0.1), "shear": 5},
    "RandomPerspective": {"p": 1.0},
    "RandomInvert": {"p": 1.0},
    "RandomPosterize": {"bits": 2, "p": 1.0},
    "RandomSolarize": {"threshold": 0.5, "p": 1.0},
    "RandomAutocontrast": {"p": 1.0},
    "RandomEqualize": {"p": 1.0},
    "RandomAdjustSharpness": {"sharpness_factor": 2, "p": 1.0},
    "RandomGrayscale": {"p": 1.0},
    "RandAugment": {},
    "AutoAugment": {},
    "TrivialAugmentWide": {},
    "AugMix": {},
    "Resize": {"size": 16},
    "CenterCrop": {"size": 16},
    "Normalize": {"mean": [0.5] * 3, "std": [0.2] * 3},
    "ElasticTransform": {},
    "Pad": {"padding": 2},
    "FiveCrop": {"size": 8},
}.items():
    for _v in ("v2", "v1"):

        def _transform(n: str = _name, k: dict = _kwargs, v: str = _v) -> tuple:
            module = import_module("torchvision.transforms" + (".v2" if v == "v2" else ""))
            ints = n in (
                "RandAugment",
                "AutoAugment",
                "TrivialAugmentWide",
                "AugMix",
                "RandomPosterize",
                "RandomEqualize",
            )
            image = (
                torch.randint(0, 255, (3, 24, 24), dtype=torch.uint8)
                if ints
                else torch.rand(3, 24, 24)
            )
            return getattr(module, n)(**k), (image,)

        add("torchvision", f"{_v}.{_name}", _transform, modes=("eval",))
for _name, _kwargs in {"MixUp": {"num_classes": 4}, "CutMix": {"num_classes": 4}}.items():
    add(
        "torchvision",
        f"v2.{_name}",
        lambda n=_name, k=_kwargs: (
            getattr(import_module("torchvision.transforms.v2"), n)(**k),
            (torch.rand(4, 3, 8, 8), torch.randint(0, 4, (4,))),
        ),
        modes=("eval",),
    )


def _tv_boxes(name: str, **kwargs: object) -> Callable[[], tuple]:
    def build() -> tuple:
        v2, tv = import_module("torchvision.transforms.v2"), import_module("torchvision.tv_tensors")
        boxes = tv.BoundingBoxes(_boxes(4), format="XYXY", canvas_size=(24, 24))
        sample = {
            "image": tv.Image(torch.rand(3, 24, 24)),
            "boxes": boxes,
            "labels": torch.arange(4),
        }
        return getattr(v2, name)(**kwargs), (sample,)

    return build


add("torchvision", "v2.RandomIoUCrop+boxes", _tv_boxes("RandomIoUCrop"), modes=("eval",))
add(
    "torchvision",
    "v2.SanitizeBoundingBoxes+boxes",
    _tv_boxes("SanitizeBoundingBoxes"),
    modes=("eval",),
)
add(
    "torchvision",
    "v2.RandomHorizontalFlip+boxes",
    _tv_boxes("RandomHorizontalFlip", p=1.0),
    modes=("eval",),
)

# --- open_clip, facenet, lpips ------------------------------------------------------------------


def _clip(name: str, **extra: object) -> Callable[[], tuple]:
    def build() -> tuple:
        open_clip = import_module("open_clip")
        config = open_clip.get_model_config(name)
        vision = (
            {"layers": 2, "width": 64, "patch_size": 16, "image_size": 32, "head_width": 32}
            if "layers" in config["vision_cfg"]
            and not isinstance(config["vision_cfg"]["layers"], list)
            else {**config["vision_cfg"], "width": 16, "layers": [1, 1, 1, 1], "image_size": 64}
        )
        text = {"context_length": 16, "vocab_size": 128, "width": 64, "heads": 2, "layers": 2}
        kwargs = {"embed_dim": 32, "vision_cfg": vision, "text_cfg": text, **extra}
        if "multimodal_cfg" in config:
            kwargs["multimodal_cfg"] = {
                "context_length": 16,
                "vocab_size": 128,
                "width": 64,
                "heads": 2,
                "layers": 1,
            }
            model = open_clip.CoCa(**kwargs)
        else:
            model = open_clip.CLIP(**kwargs)
        size = vision["image_size"]
        tokens = torch.randint(1, 120, (2, 16))
        tokens[:, -1] = 127
        return model, (R(2, 3, size, size), tokens)

    return build


for _name in ("ViT-B-32", "RN50", "coca_ViT-B-32"):
    add("open_clip", _name, _clip(_name))


def _clip_loss(name: str, args: Callable[[], tuple], **kwargs: object) -> Callable[[], tuple]:
    return lambda: (getattr(import_module("open_clip.loss"), name)(**kwargs), args())


def _pairs() -> tuple:
    return torch.nn.functional.normalize(R(6, 8), dim=1), torch.nn.functional.normalize(
        R(6, 8), dim=1
    )


add(
    "open_clip",
    "ClipLoss",
    _clip_loss("ClipLoss", lambda: (*_pairs(), torch.tensor(10.0))),
    modes=("eval",),
    grad=True,
)
add(
    "open_clip",
    "SigLipLoss",
    _clip_loss("SigLipLoss", lambda: (*_pairs(), torch.tensor(10.0), torch.tensor(-5.0))),
    modes=("eval",),
    grad=True,
)
add(
    "open_clip",
    "DistillClipLoss",
    _clip_loss(
        "DistillClipLoss", lambda: (*_pairs(), torch.tensor(9.0), *_pairs(), torch.tensor(9.0))
    ),
    modes=("eval",),
    grad=True,
)
add(
    "facenet_pytorch",
    "InceptionResnetV1",
    lambda: (
        import_module("facenet_pytorch").InceptionResnetV1(classify=True, num_classes=5),
        (R(2, 3, 96, 96),),
    ),
    modes=("eval",),
)
add(
    "facenet_pytorch",
    "MTCNN.detect",
    lambda: (
        import_module("facenet_pytorch").MTCNN(thresholds=[0.0, 0.0, 0.0], min_face_size=20).detect,
        (torch.randint(0, 255, (1, 64, 64, 3), dtype=torch.uint8),),
    ),
)
add(
    "facenet_pytorch",
    "MTCNN.extract",
    lambda: (
        import_module("facenet_pytorch").MTCNN(thresholds=[0.0, 0.0, 0.0], min_face_size=20),
        (torch.randint(0, 255, (64, 64, 3), dtype=torch.uint8),),
    ),
    modes=("eval",),
)
for _net in ("alex", "squeeze"):
    add(
        "lpips",
        _net,
        lambda n=_net: (
            import_module("lpips").LPIPS(net=n, pretrained=False, pnet_rand=True, verbose=False),
            (R(1, 3, 64, 64), R(1, 3, 64, 64)),
            {"normalize": True},
        ),
        modes=("eval",),
    )
for _name in ("L2", "DSSIM"):
    add(
        "lpips",
        _name,
        lambda n=_name: (
            getattr(import_module("lpips"), n)(use_gpu=False, colorspace="RGB"),
            (R(1, 3, 64, 64), R(1, 3, 64, 64)),
        ),
        modes=("eval",),
    )
