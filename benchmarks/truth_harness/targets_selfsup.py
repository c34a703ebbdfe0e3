"""lightly: losses, heads, masking."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add

R = torch.randn


def _views(n: int = 2, size: tuple = (6, 8)) -> tuple:
    return tuple(R(*size) for _ in range(n))


for _name, _kwargs, _args in [
    ("NTXentLoss", {}, _views),
    ("NTXentLoss", {"memory_bank_size": (16, 8)}, _views),
    ("BarlowTwinsLoss", {}, _views),
    ("NegativeCosineSimilarity", {}, _views),
    ("DCLLoss", {}, _views),
    ("DCLWLoss", {}, _views),
    ("VICRegLoss", {}, _views),
    ("TiCoLoss", {}, _views),
    ("MMCRLoss", {}, lambda: (R(6, 2, 8), R(6, 2, 8))),
    ("EMPSSLLoss", {}, lambda: ([R(6, 8), R(6, 8)],)),
    ("KoLeoLoss", {}, lambda: (R(6, 8),)),
    ("DirectCLRLoss", {"loss_dim": 4}, _views),
    ("WMSELoss", {"w_size": 4, "embedding_dim": 2}, lambda: (R(16, 2), R(16, 2))),
    (
        "DINOLoss",
        {"output_dim": 8},
        lambda: (
            [R(4, 8)] * 2,
            [R(4, 8)] * 4,
        ),
    ),
    ("DINOLoss", {"output_dim": 8}, lambda: ([R(4, 8)] * 2, [R(4, 8)] * 4, None, None, 5)),
    ("SwaVLoss", {}, lambda: ([R(6, 8)] * 2, [R(6, 8)] * 2)),
    ("SwaVLoss", {"sinkhorn_iterations": 2}, lambda: ([R(6, 8)] * 2, [R(6, 8)] * 2, R(6, 8))),
    ("MSNLoss", {}, lambda: (R(8, 8), R(4, 8), R(5, 8))),
    ("PMSNLoss", {}, lambda: (R(8, 8), R(4, 8), R(5, 8))),
    ("FroSSLLoss", {}, _views),
    ("MACLLoss", {}, _views),
    ("IBOTPatchLoss", {"output_dim": 8}, lambda: (R(5, 8), R(5, 8), torch.rand(2, 3, 3) > 0.5)),
    (
        "DetConSLoss",
        {},
        lambda: (R(2, 3, 8), R(2, 3, 8), torch.randint(0, 3, (2, 3)), torch.randint(0, 3, (2, 3))),
    ),
    (
        "VICRegLLoss",
        {},
        lambda: (
            [(R(4, 8), R(4, 3, 3, 8))] * 2,
            [(R(4, 8), R(4, 3, 3, 8))] * 2,
            [torch.rand(4, 3, 3, 2)] * 2,
            [torch.rand(4, 3, 3, 2)] * 2,
        ),
    ),
    ("LeJEPALoss", {}, lambda: (R(4, 6, 8), R(4, 6, 8))),
    ("SIGReg", {}, lambda: (R(6, 8),)),
    ("VISRegLoss", {}, _views),
    ("PatchKernelAlignmentLoss", {}, lambda: (R(2, 6, 8), R(2, 6, 8))),
]:
    _id = (
        _name
        + "".join(
            f"+{key}" for key in _kwargs if key in ("memory_bank_size", "sinkhorn_iterations")
        )
        + ("+epoch" if _name == "DINOLoss" and len(_args()) > 2 else "")
    )
    add(
        "lightly",
        _id,
        lambda n=_name, k=_kwargs, a=_args: (getattr(import_module("lightly.loss"), n)(**k), a()),
        modes=("train",),
    )
for _name, _args in {
    "DINOProjectionHead": lambda m: (m.DINOProjectionHead(8, 8, 4, 8), (R(4, 8),)),
    "SwaVPrototypes": lambda m: (m.SwaVPrototypes(8, 6, 1), (R(4, 8),)),
    "SMoGPrototypes": lambda m: (m.SMoGPrototypes(R(5, 8), 0.9), (R(4, 8), R(5, 8))),
    "NNMemoryBankModule": lambda m: (m.NNMemoryBankModule((16, 8)), (R(4, 8),), {"update": True}),
    "MaskedVisionTransformerTorchvision": lambda m: (
        m.MaskedVisionTransformerTorchvision(
            import_module("torchvision.models").vit_b_32(image_size=64)
        ),
        (R(2, 3, 64, 64),),
        {"idx_keep": torch.tensor([[0, 1, 2], [0, 2, 4]])},
    ),
}.items():
    add("lightly", f"modules.{_name}", lambda a=_args: a(import_module("lightly.models.modules")))
for _name, _args in {
    "random_token_mask": lambda: ((2, 9),),
    "random_block_mask": lambda: ((2, 8, 8),),
    "random_prefix_mask": lambda: ((2, 9), 5),
    "nearest_neighbors": lambda: (R(2, 4, 6), R(2, 5, 6), 3),
    "most_similar_index": lambda: (R(2, 4, 6), R(2, 5, 6)),
    "select_most_similar": lambda: (R(2, 4, 6), R(2, 5, 6), R(2, 5, 3)),
    "batch_shuffle": lambda: (R(6, 4),),
    "patchify": lambda: (R(2, 3, 8, 8), 4),
    "get_at_index": lambda: (R(2, 6, 3), torch.tensor([[0, 1], [2, 3]])),
    "set_at_index": lambda: (R(2, 6, 3), torch.tensor([[0, 1], [2, 3]]), R(2, 2, 3)),
    "pool_masked": lambda: (R(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))),
    "mask_at_index": lambda: (R(2, 6, 3), torch.tensor([[0, 1], [2, 3]]), R(1, 1, 3)),
    "normalize_mean_var": lambda: (R(2, 6),),
}.items():
    add(
        "lightly",
        f"utils.{_name}",
        lambda n=_name, a=_args: (getattr(import_module("lightly.models.utils"), n), a()),
    )
