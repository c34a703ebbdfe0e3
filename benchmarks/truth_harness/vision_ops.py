"""Stand-ins for torchvision's compiled operators, where its extension does not load.

A torchvision wheel built for CUDA cannot load beside a CPU build of torch, and then not even
`import torchvision` works. Dynamo sees an operator by its schema alone, so the same schema with a
slow kernel in Python gives the same graph breaks.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util

import torch
import torch.nn.functional as F
from torch.library import Library

ROI = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
BACK = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
SIZE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
STRIDE = (
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
    "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask"
)
DEFORM = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"
SCHEMAS = [
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"roi_align({ROI}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_align_backward(Tensor grad, Tensor rois, {BACK}, {SIZE}, int sampling_ratio, "
    "bool aligned) -> Tensor",
    f"roi_pool({ROI}) -> (Tensor, Tensor)",
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {BACK}, {SIZE}) -> Tensor",
    f"ps_roi_align({ROI}, int sampling_ratio) -> (Tensor, Tensor)",
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {BACK}, "
    f"int sampling_ratio, {SIZE}) -> Tensor",
    f"ps_roi_pool({ROI}) -> (Tensor, Tensor)",
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {BACK}, {SIZE})"
    " -> Tensor",
    f"deform_conv2d({DEFORM}, {STRIDE}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, {DEFORM}, {STRIDE})"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
]

_kept: list[Library] = []  # a Library takes its operators away when it is collected


def define_missing() -> None:
    """Define the operators unless torchvision's own extension can be loaded, or is absent."""
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.submodule_search_locations is None:
        return
    found = importlib.machinery.PathFinder.find_spec("_C", list(spec.submodule_search_locations))
    if found is not None and found.origin is not None:
        try:
            torch.ops.load_library(found.origin)
            return
        except OSError:
            pass  # built against libraries that this torch doesn't ship
    library = Library("torchvision", "DEF")
    for schema in SCHEMAS:
        library.define(schema)
    library.impl("nms", nms, "CPU")
    library.impl("roi_align", roi_align, "CPU")
    _kept.append(library)
    # What torchvision itself defines once its extension is loaded.
    extension = importlib.import_module("torchvision.extension")
    extension._has_ops = lambda: True  # pyright: ignore[reportAttributeAccessIssue]


def nms(boxes: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """Greedy suppression of (n, 4) corner boxes; the indices kept, best score first."""
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    left = scores.argsort(descending=True)
    kept = []
    while left.numel():
        best, left = left[0], left[1:]
        kept.append(best)
        low = torch.maximum(boxes[best, :2], boxes[left, :2])
        high = torch.minimum(boxes[best, 2:], boxes[left, 2:])
        shared = (high - low).clamp(min=0).prod(1)
        left = left[shared / (area[best] + area[left] - shared) <= iou_threshold]
    return torch.stack(kept) if kept else scores.new_empty(0, dtype=torch.long)


def roi_align(
    features: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    """One bilinear sample a bin: (n, channels, height, width) of (n, 5) boxes; no gradient."""
    _, _, rows, columns = features.shape
    box = rois[:, 1:] * spatial_scale
    y = (torch.arange(height) + 0.5) / height
    x = (torch.arange(width) + 0.5) / width
    ys = box[:, 1, None] + y * (box[:, 3] - box[:, 1])[:, None]
    xs = box[:, 0, None] + x * (box[:, 2] - box[:, 0])[:, None]
    ys = (ys / rows * 2 - 1)[:, :, None].expand(-1, -1, width)
    xs = (xs / columns * 2 - 1)[:, None, :].expand(-1, height, -1)
    grid = torch.stack([xs, ys], -1)
    return F.grid_sample(features[rois[:, 0].long()], grid, align_corners=False).contiguous()
