"""Detection, segmentation losses, saliency."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add, each
from torch import nn

R = torch.randn


def _yolo(config: str, size: int = 64, task: str = "DetectionModel") -> tuple:
    tasks = import_module("ultralytics.nn.tasks")
    model = getattr(tasks, task)(config, ch=3, nc=3, verbose=False)
    return model, (torch.rand(1, 3, size, size),)


for _config, _task in {
    "yolov8n.yaml": "DetectionModel",
    "yolov5n.yaml": "DetectionModel",
    "yolov10n.yaml": "DetectionModel",
    "yolo11n.yaml": "DetectionModel",
    "yolo12n.yaml": "DetectionModel",
    "yolo26n.yaml": "DetectionModel",
    "yolov9t.yaml": "DetectionModel",
    "yolov3-tiny.yaml": "DetectionModel",
    "yolov8n-seg.yaml": "SegmentationModel",
    "yolo11n-pose.yaml": "PoseModel",
    "yolo11n-obb.yaml": "OBBModel",
    "yolo11n-cls.yaml": "ClassificationModel",
    "yolo26n-seg.yaml": "SegmentationModel",
    "yolov8-rtdetr.yaml": "RTDETRDetectionModel",
}.items():
    add("ultralytics", _config.removesuffix(".yaml"), lambda c=_config, t=_task: _yolo(c, task=t))


def _loss(config: str, task: str, **extra: object) -> tuple:
    model, _ = _yolo(config, task=task)
    model.args = import_module("ultralytics.cfg").get_cfg()
    model.train()
    batch = {
        "img": torch.rand(2, 3, 64, 64),
        "batch_idx": torch.tensor([0.0, 0.0, 1.0]),
        "cls": torch.tensor([[0.0], [1.0], [2.0]]),
        "bboxes": torch.rand(3, 4) * 0.5 + 0.2,
        **extra,
    }
    return model.loss, (batch,)


each("ultralytics", {
    "loss.detect": lambda: _loss("yolov8n.yaml", "DetectionModel"),
    "loss.e2e": lambda: _loss("yolov10n.yaml", "DetectionModel"),
    "loss.segment": lambda: _loss("yolov8n-seg.yaml", "SegmentationModel", masks=torch.randint(0, 2, (2, 16, 16)).float()),
    "loss.pose": lambda: _loss("yolo11n-pose.yaml", "PoseModel", keypoints=torch.rand(3, 17, 3)),
    "loss.obb": lambda: _loss("yolo11n-obb.yaml", "OBBModel", bboxes=torch.rand(3, 5) * 0.5 + 0.2),
    "loss.rtdetr": lambda: _loss("yolov8-rtdetr.yaml", "RTDETRDetectionModel"),
    "nms": lambda: (lambda p: import_module("ultralytics.utils.nms").non_max_suppression(p, conf_thres=0.3), (torch.rand(2, 7, 40),)),
    "nms.multi": lambda: (lambda p: import_module("ultralytics.utils.nms").non_max_suppression(p, multi_label=True, agnostic=True, classes=[0, 1]), (torch.rand(2, 7, 40),)),
    "fast_nms": lambda: (lambda b, s: import_module("ultralytics.utils.nms").TorchNMS.fast_nms(b, s, 0.5), (torch.rand(8, 4), torch.rand(8))),
    "TorchNMS.nms": lambda: (lambda b, s: import_module("ultralytics.utils.nms").TorchNMS.nms(b, s, 0.5), (torch.rand(8, 4), torch.rand(8))),
    "bbox_iou": lambda: (lambda a, b: import_module("ultralytics.utils.metrics").bbox_iou(a, b, CIoU=True), (torch.rand(8, 4), torch.rand(8, 4))),
    "batch_probiou": lambda: (lambda a, b: import_module("ultralytics.utils.metrics").batch_probiou(a, b), (torch.rand(8, 5), torch.rand(8, 5))),
    "scale_boxes": lambda: (lambda b: import_module("ultralytics.utils.ops").scale_boxes((64, 64), b, (100, 80)), (torch.rand(8, 4),)),
    "process_mask": lambda: (lambda p, m, b: import_module("ultralytics.utils.ops").process_mask(p, m, b, (32, 32), upsample=True), (R(4, 8, 8), R(3, 4), torch.rand(3, 4) * 32)),
    "scale_masks": lambda: (lambda m: import_module("ultralytics.utils.ops").scale_masks(m, (40, 48)), (torch.rand(1, 2, 32, 32),)),
    "xyxyxyxy2xywhr": lambda: (lambda x: import_module("ultralytics.utils.ops").xyxyxyxy2xywhr(x), (torch.rand(3, 8),)),
    "xywhr2xyxyxyxy": lambda: (lambda x: import_module("ultralytics.utils.ops").xywhr2xyxyxyxy(x), (torch.rand(3, 5),)),
    "regularize_rboxes": lambda: (lambda x: import_module("ultralytics.utils.ops").regularize_rboxes(x), (torch.rand(3, 5),)),
    "HungarianMatcher": lambda: (import_module("ultralytics.models.utils.ops").HungarianMatcher(), (torch.rand(2, 6, 4), R(2, 6, 3), torch.rand(3, 4), torch.tensor([0, 1, 2]), [2, 1])),
    "ConfusionMatrix": lambda: (
        (lambda m: lambda d, b, c: m.process_batch({"bboxes": d[:, :4], "conf": d[:, 4], "cls": d[:, 5]}, {"bboxes": b, "cls": c}))(import_module("ultralytics.utils.metrics").ConfusionMatrix({0: "a", 1: "b"})),
        (torch.rand(5, 6), torch.rand(3, 4), torch.tensor([0.0, 1.0, 1.0])),
    ),
    "BCEDiceLoss": lambda: (import_module("ultralytics.utils.loss").BCEDiceLoss(), (R(2, 3, 8, 8), torch.rand(2, 3, 8, 8))),
    "FocalLoss": lambda: (import_module("ultralytics.utils.loss").FocalLoss(), (R(8, 3), torch.rand(8, 3))),
    "RLELoss": lambda: (import_module("ultralytics.utils.loss").RLELoss(), (torch.rand(8, 2), torch.rand(8, 2), torch.rand(8, 2))),
}, grad=True)  # fmt: skip


def _segment(*shape: int) -> torch.Tensor:
    return torch.randint(0, 3, shape or (2, 8, 8))


def _toolbelt(name: str, *args: torch.Tensor, **kwargs: object) -> tuple:
    return getattr(import_module("pytorch_toolbelt.losses"), name)(**kwargs), args


def _binary() -> tuple[torch.Tensor, torch.Tensor]:
    return R(2, 1, 8, 8), torch.randint(0, 2, (2, 1, 8, 8)).float()


each("pytorch_toolbelt", {
    "BalancedBCEWithLogitsLoss": lambda: _toolbelt("BalancedBCEWithLogitsLoss", *_binary(), ignore_index=255),
    "DiceLoss": lambda: _toolbelt("DiceLoss", R(2, 3, 8, 8), _segment(), mode="multiclass"),
    "DiceLoss.binary": lambda: _toolbelt("DiceLoss", *_binary(), mode="binary", log_loss=True, ignore_index=255),
    "JaccardLoss": lambda: _toolbelt("JaccardLoss", R(2, 3, 8, 8), _segment(), mode="multiclass", classes=[0, 2]),
    "BinaryFocalLoss": lambda: _toolbelt("BinaryFocalLoss", *_binary(), ignore_index=255, reduced_threshold=0.5),
    "BinaryFocalLoss.normalized": lambda: _toolbelt("BinaryFocalLoss", *_binary(), alpha=0.25, normalized=True),
    "CrossEntropyFocalLoss": lambda: _toolbelt("CrossEntropyFocalLoss", R(2, 3, 8, 8), _segment(), ignore_index=2),
    "FocalCosineLoss": lambda: _toolbelt("FocalCosineLoss", R(4, 3), torch.tensor([0, 1, 2, 1])),
    "BinaryLovaszLoss": lambda: _toolbelt("BinaryLovaszLoss", R(2, 8, 8), torch.randint(0, 2, (2, 8, 8)), per_image=True, ignore_index=255),
    "LovaszLoss": lambda: _toolbelt("LovaszLoss", R(2, 3, 8, 8).softmax(1), _segment(), ignore_index=255),
    "SoftBCEWithLogitsLoss": lambda: _toolbelt("SoftBCEWithLogitsLoss", *_binary(), smooth_factor=0.1),
    "SoftCrossEntropyLoss": lambda: _toolbelt("SoftCrossEntropyLoss", R(2, 3, 8, 8), _segment(), smooth_factor=0.1),
    "BinarySoftF1Loss": lambda: _toolbelt("BinarySoftF1Loss", *_binary(), ignore_index=255),
    "SoftF1Loss": lambda: _toolbelt("SoftF1Loss", R(6, 3), torch.tensor([0, 1, 2, 1, 0, 2]), ignore_index=255),
    "WingLoss": lambda: _toolbelt("WingLoss", R(4, 6), R(4, 6)),
    "LogCoshLoss": lambda: _toolbelt("LogCoshLoss", R(4, 6), R(4, 6)),
    "BiTemperedLogisticLoss": lambda: _toolbelt("BiTemperedLogisticLoss", R(6, 3), torch.tensor([0, 1, 2, 1, 0, 2]), t1=0.8, t2=1.2),
    "QualityFocalLoss": lambda: _toolbelt("QualityFocalLoss", R(4, 6), torch.rand(4, 6)),
    "box_iou": lambda: (lambda a, b: import_module("pytorch_toolbelt.utils.bboxes_utils").box_iou(a, b), (torch.rand(3, 4).numpy(), torch.rand(4, 4).numpy())),
    "tta.d4": lambda: ((lambda m: lambda x: import_module("pytorch_toolbelt.inference.tta").d4_image2mask(m, x))(nn.Conv2d(3, 2, 1)), (R(1, 3, 8, 8),)),
    "tta.tencrop": lambda: ((lambda m: lambda x: import_module("pytorch_toolbelt.inference.tta").tencrop_image2label(m, x, (4, 4)))(nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())), (R(1, 3, 8, 8),)),
    "tta.deaugment": lambda: (lambda x: import_module("pytorch_toolbelt.inference.tta").fliplr_image_deaugment(x, reduction="gmean"), (torch.rand(2, 3, 8, 8),)),
    "MultiscaleTTA": lambda: (import_module("pytorch_toolbelt.inference.tta").MultiscaleTTA(nn.Conv2d(3, 2, 1), [0, -2, 2]), (R(1, 3, 8, 8),)),
    "Ensembler": lambda: (import_module("pytorch_toolbelt.inference").Ensembler([nn.Linear(3, 2), nn.Linear(3, 2)]), (R(2, 3),)),
    "SpatialGate": lambda: (import_module("pytorch_toolbelt.modules").SpatialGate2dV2(8), (R(1, 8, 8, 8),)),
    "ChannelSpatialGate": lambda: (import_module("pytorch_toolbelt.modules").ChannelSpatialGate2d(8), (R(1, 8, 8, 8),)),
    "DropBlock": lambda: (import_module("pytorch_toolbelt.modules").DropBlock2D(0.3, 3), (R(1, 8, 8, 8),)),
    "SRM": lambda: (import_module("pytorch_toolbelt.modules").SRMLayer(8), (R(2, 8, 8, 8),)),
    "GPool": lambda: (import_module("pytorch_toolbelt.modules").GeneralizedMeanPooling2d(), (torch.rand(1, 8, 8, 8),)),
    "RMSPool": lambda: (import_module("pytorch_toolbelt.modules").RMSPool(), (R(1, 8, 8, 8),)),
    "OCNet": lambda: (import_module("pytorch_toolbelt.modules").ObjectContextBlock(8, 8, 4, dropout=0.1), (R(1, 8, 8, 8),)),
    "UnetBlock": lambda: (import_module("pytorch_toolbelt.modules").UnetBlock(3, 8), (R(1, 3, 8, 8),)),
}, grad=True)  # fmt: skip


def _cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.ReLU(),
        nn.Conv2d(4, 5, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(5, 3),
    )


def _cam(name: str) -> tuple:
    package = import_module("pytorch_grad_cam")
    model = _cnn().eval()
    cam = getattr(package, name)(model, [model[2]])
    target = import_module("pytorch_grad_cam.utils.model_targets").ClassifierOutputTarget(1)
    return lambda x: cam(x, [target]), (torch.rand(1, 3, 12, 12),)


for _name in "GradCAM HiResCAM GradCAMElementWise AblationCAM XGradCAM GradCAMPlusPlus ScoreCAM LayerCAM EigenCAM EigenGradCAM KPCA_CAM RandomCAM FullGrad FEM FinerCAM ShapleyCAM".split():
    add("pytorch_grad_cam", _name, lambda n=_name: _cam(n), grad=True)
each("pytorch_grad_cam", {
    "GuidedBackprop": lambda: ((lambda m: lambda x: m(x, target_category=1))(import_module("pytorch_grad_cam").GuidedBackpropReLUModel(_cnn(), device="cpu")), (torch.rand(1, 3, 12, 12),)),
    "target.Softmax": lambda: (import_module("pytorch_grad_cam.utils.model_targets").ClassifierOutputSoftmaxTarget(1), (R(3),)),
    "target.Segmentation": lambda: (
        import_module("pytorch_grad_cam.utils.model_targets").SemanticSegmentationTarget(1, torch.randint(0, 2, (8, 8)).numpy()),
        (R(3, 8, 8),),
    ),
    "target.Boxes": lambda: (
        import_module("pytorch_grad_cam.utils.model_targets").FasterRCNNBoxScoreTarget([1, 2], torch.rand(2, 4), 0.0),
        ({"boxes": torch.rand(3, 4), "labels": torch.tensor([1, 2, 1]), "scores": torch.rand(3)},),
    ),
    "metric.multiply": lambda: (
        (lambda m: lambda x, c: import_module("pytorch_grad_cam.metrics.cam_mult_image").DropInConfidence()(x, c, [import_module("pytorch_grad_cam.utils.model_targets").ClassifierOutputTarget(1)], m))(_cnn()),
        (torch.rand(1, 3, 12, 12), torch.rand(1, 12, 12).numpy()),
    ),
    "reshape.swint": lambda: (import_module("pytorch_grad_cam.utils.reshape_transforms").swinT_reshape_transform, (R(1, 49, 8),)),
    "reshape.vit": lambda: (import_module("pytorch_grad_cam.utils.reshape_transforms").vit_reshape_transform, (R(1, 197, 8),)),
}, grad=True)  # fmt: skip
