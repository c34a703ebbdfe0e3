"""vector_quantize_pytorch."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add

R = torch.randn


def _vq(
    name: str, args: Callable[[], tuple] = lambda: (R(2, 12, 16),), **kwargs: object
) -> Callable[[], tuple]:
    return lambda: (getattr(import_module("vector_quantize_pytorch"), name)(**kwargs), args())


_MASK = torch.arange(12)[None] < torch.tensor([12, 7])[:, None]
for _name, _class, _kwargs in [
    ("plain", "VectorQuantize", {}),
    ("kmeans", "VectorQuantize", {"kmeans_init": True, "kmeans_iters": 2}),
    ("cosine", "VectorQuantize", {"use_cosine_sim": True}),
    ("dead", "VectorQuantize", {"threshold_ema_dead_code": 2}),
    ("projected", "VectorQuantize", {"codebook_dim": 4}),
    ("heads", "VectorQuantize", {"heads": 2, "separate_codebook_per_head": True}),
    ("gumbel", "VectorQuantize", {"stochastic_sample_codes": True, "sample_codebook_temp": 1.0}),
    ("learnable", "VectorQuantize", {"learnable_codebook": True, "ema_update": False}),
    ("orthogonal", "VectorQuantize", {"orthogonal_reg_weight": 1.0, "orthogonal_reg_max_codes": 8}),
    ("diversity", "VectorQuantize", {"codebook_diversity_loss_weight": 1.0}),
    ("rotation", "VectorQuantize", {"rotation_trick": True}),
    ("affine", "VectorQuantize", {"affine_param": True}),
    ("residual", "ResidualVQ", {"num_quantizers": 2}),
    ("residual-dropout", "ResidualVQ", {"num_quantizers": 3, "quantize_dropout": True}),
    (
        "residual-kmeans",
        "ResidualVQ",
        {"num_quantizers": 2, "kmeans_init": True, "kmeans_iters": 2, "shared_codebook": True},
    ),
    ("residual-beam", "ResidualVQ", {"num_quantizers": 2, "beam_size": 2}),
    ("grouped", "GroupedResidualVQ", {"num_quantizers": 2, "groups": 2}),
    ("sim", "SimVQ", {}),
    ("residual-sim", "ResidualSimVQ", {"num_quantizers": 2}),
]:
    _size = {"codebook_size": 16, "dim": 16}
    add("vector_quantize_pytorch", f"{_class}.{_name}", _vq(_class, **_size, **_kwargs))
add(
    "vector_quantize_pytorch",
    "VectorQuantize.mask",
    lambda: (
        import_module("vector_quantize_pytorch").VectorQuantize(dim=16, codebook_size=16),
        (R(2, 12, 16),),
        {"mask": _MASK},
    ),
)
add(
    "vector_quantize_pytorch",
    "VectorQuantize.mask+lens",
    lambda: (
        import_module("vector_quantize_pytorch").VectorQuantize(
            dim=16, codebook_size=16, kmeans_init=True
        ),
        (R(2, 12, 16),),
        {"lens": torch.tensor([12, 7])},
    ),
)
for _name, _class, _kwargs in [
    ("plain", "LFQ", {"codebook_size": 16, "dim": 16}),
    ("sampled", "LFQ", {"codebook_size": 16, "dim": 16, "frac_per_sample_entropy": 0.5}),
    ("spherical", "LFQ", {"codebook_size": 16, "dim": 16, "spherical": True}),
    (
        "residual",
        "ResidualLFQ",
        {"codebook_size": 16, "dim": 16, "num_quantizers": 2, "quantize_dropout": True},
    ),
    ("plain", "FSQ", {"levels": [4, 3], "dim": 16}),
    ("noise", "FSQ", {"levels": [4, 3], "dim": 16, "noise_dropout": 0.5}),
    ("symmetric", "FSQ", {"levels": [4, 3], "dim": 16, "preserve_symmetry": True}),
    (
        "residual",
        "ResidualFSQ",
        {"levels": [4, 3], "dim": 16, "num_quantizers": 2, "quantize_dropout": True},
    ),
    (
        "grouped",
        "GroupedResidualFSQ",
        {"levels": [4, 3], "dim": 16, "num_quantizers": 2, "groups": 2},
    ),
    (
        "plain",
        "RandomProjectionQuantizer",
        {"dim": 16, "codebook_size": 8, "codebook_dim": 4, "num_codebooks": 2},
    ),
]:
    add("vector_quantize_pytorch", f"{_class}.{_name}", _vq(_class, **_kwargs))
add(
    "vector_quantize_pytorch",
    "LatentQuantize",
    _vq("LatentQuantize", lambda: (R(2, 8, 4, 4),), levels=[4, 4], dim=8),
)
add("vector_quantize_pytorch", "BinaryMapper", _vq("BinaryMapper", lambda: (R(2, 8, 4),), bits=4))
