"""torchvision, open_clip, facenet_pytorch, lpips."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

R = torch.randn


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


def _clip(name: str) -> Callable[[], tuple]:
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
        model = open_clip.CLIP(embed_dim=32, vision_cfg=vision, text_cfg=text)
        size = vision["image_size"]
        tokens = torch.randint(1, 120, (2, 16))
        tokens[:, -1] = 127
        return model, (R(2, 3, size, size), tokens)

    return build


for _name in ("ViT-B-32", "RN50"):
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
