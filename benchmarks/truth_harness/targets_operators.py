"""Neural operators and their losses."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import each

R = torch.randn


def _model(name: str, *args: object, **kwargs: object) -> tuple:
    return getattr(import_module("neuralop.models"), name)(**kwargs), args


def _layer(module: str, name: str, *args: object, **kwargs: object) -> tuple:
    return getattr(import_module(f"neuralop.layers.{module}"), name)(**kwargs), args


each("neuralop", {
    "FNO": lambda: _model("FNO", R(1, 2, 16, 16), n_modes=(4, 4), in_channels=2, out_channels=1, hidden_channels=8, n_layers=2),
    "FNO.1d": lambda: _model("FNO", R(1, 2, 16), n_modes=(4,), in_channels=2, out_channels=1, hidden_channels=8, n_layers=2, norm="instance_norm", fno_skip="identity"),
    "FNO.padded": lambda: _model("FNO", R(1, 2, 16, 16), n_modes=(4, 4), in_channels=2, out_channels=1, hidden_channels=8, n_layers=2, domain_padding=0.25, norm="group_norm"),
    "FNO.complex": lambda: _model("FNO", R(1, 2, 16, 16, dtype=torch.complex64), n_modes=(4, 4), in_channels=2, out_channels=1, hidden_channels=8, n_layers=2, complex_data=True, positional_embedding=None),
    "FNO.resolution": lambda: _model("FNO", R(1, 2, 16, 16), n_modes=(4, 4), in_channels=2, out_channels=1, hidden_channels=8, n_layers=2, resolution_scaling_factor=[2.0, 1.0], separable=False, preactivation=True),
    "TFNO": lambda: _model("TFNO", R(1, 2, 16, 16), n_modes=(4, 4), in_channels=2, out_channels=1, hidden_channels=8, n_layers=2, factorization="tucker", rank=0.2),
    "TFNO.cp": lambda: _model("TFNO", R(1, 2, 16, 16), n_modes=(4, 4), in_channels=2, out_channels=1, hidden_channels=8, n_layers=1, factorization="cp", implementation="factorized", rank=0.2),
    "TFNO.tt": lambda: _model("TFNO", R(1, 2, 16, 16), n_modes=(4, 4), in_channels=2, out_channels=1, hidden_channels=8, n_layers=1, factorization="tt", implementation="reconstructed", rank=0.2),
    "UNO": lambda: _model("UNO", R(1, 2, 16, 16), in_channels=2, out_channels=1, hidden_channels=8, n_layers=3, uno_out_channels=[8, 8, 8], uno_n_modes=[[4, 4]] * 3, uno_scalings=[[1.0, 1.0], [0.5, 0.5], [2, 2]]),
    "CODANO": lambda: _model("CODANO", R(1, 2, 16, 16), output_variable_codimension=1, hidden_variable_codimension=2, lifting_channels=4, n_layers=2, attention_scaling_factors=[1, 1], per_layer_scaling_factors=[[1, 1], [1, 1]], n_modes=[[4, 4], [4, 4]], n_heads=[1, 1]),
    "FNOGNO": lambda: (
        import_module("neuralop.models").FNOGNO(in_channels=1, out_channels=1, fno_n_modes=(4, 4, 4), fno_hidden_channels=8, fno_n_layers=1, gno_coord_dim=3, gno_radius=0.6, gno_use_open3d=False),
        (torch.rand(6, 6, 6, 3), torch.rand(5, 3), R(1, 6, 6, 6)),
    ),
    "SpectralConv": lambda: _layer("spectral_convolution", "SpectralConv", R(1, 2, 8, 8), in_channels=2, out_channels=2, n_modes=(4, 4)),
    "FiniteDifferenceConvolution": lambda: _layer("differential_conv", "FiniteDifferenceConvolution", R(1, 2, 8, 8), in_channels=2, out_channels=2, n_dim=2),
    "GridEmbeddingND": lambda: _layer("embeddings", "GridEmbeddingND", R(1, 2, 8, 8), in_channels=2, dim=2),
    "GridEmbedding2D": lambda: _layer("embeddings", "GridEmbedding2D", R(1, 2, 8, 8), in_channels=2),
    "SinusoidalEmbedding": lambda: _layer("embeddings", "SinusoidalEmbedding", R(5, 2), in_channels=2, num_frequencies=3),
    "SinusoidalEmbedding.t": lambda: _layer("embeddings", "SinusoidalEmbedding", R(5, 2), in_channels=2, num_frequencies=3, embedding_type="transformer"),
    "RotaryEmbedding2D": lambda: _layer("embeddings", "RotaryEmbedding2D", torch.rand(5), dim=4),
    "NeighborSearch": lambda: _layer("neighbor_search", "NeighborSearch", torch.rand(6, 3), torch.rand(4, 3), 0.5, use_open3d=False),
    "IntegralTransform": lambda: _layer("integral_transform", "IntegralTransform", torch.rand(6, 3), _neighbors(), torch.rand(4, 3), R(6, 3), channel_mlp_layers=[6, 8, 3], transform_type="linear", use_torch_scatter=False),
    "GNOBlock": lambda: _layer("gno_block", "GNOBlock", torch.rand(6, 3), torch.rand(4, 3), R(6, 3), in_channels=3, out_channels=3, coord_dim=3, radius=0.6, use_open3d_neighbor_search=False, use_torch_scatter_reduce=False, channel_mlp_layers=[8]),
    "DomainPadding": lambda: (_pad_and_back(), (R(1, 2, 8, 8),)),
    "FCLegendre": lambda: (lambda x: import_module("neuralop.layers.fourier_continuation").FCLegendre(2, 4)(x, dim=1), (R(1, 2, 16),)),
    "FCGram": lambda: (lambda x: import_module("neuralop.layers.fourier_continuation").FCGram(2, 4)(x, dim=1), (R(1, 2, 16),)),
    "AttentionKernelIntegral": lambda: (import_module("neuralop.layers.attention_kernel_integral").AttentionKernelIntegral(4, 4, 2, 4), (R(1, 6, 4), torch.rand(1, 6, 2))),
    "resample": lambda: (lambda x: import_module("neuralop.layers.resample").resample(x, [2, 2], [-2, -1]), (R(1, 2, 8, 8),)),
    "AdaIN": lambda: _layer("normalization_layers", "InstanceNorm", R(2, 3, 8)),
    "LpLoss": lambda: (import_module("neuralop.losses").LpLoss(d=2, p=2), (R(2, 1, 8, 8), R(2, 1, 8, 8))),
    "LpLoss.abs": lambda: (lambda x, y: import_module("neuralop.losses").LpLoss(d=2, p=2).abs(x, y), (R(2, 1, 8, 8), R(2, 1, 8, 8))),
    "H1Loss": lambda: (import_module("neuralop.losses").H1Loss(d=2), (R(2, 1, 8, 8), R(2, 1, 8, 8))),
    "H1Loss.1d": lambda: (import_module("neuralop.losses").H1Loss(d=1), (R(2, 1, 8), R(2, 1, 8))),
    "BurgersEqnLoss": lambda: (import_module("neuralop.losses").BurgersEqnLoss(visc=0.1, method="fdm"), (R(2, 1, 8, 8), )),
    "FiniteDiff": lambda: (lambda u: import_module("neuralop.losses").FiniteDiff(dim=2).dx(u), (R(8, 8),)),
    "FourierDiff": lambda: (lambda u: import_module("neuralop.losses").FourierDiff(dim=1, L=1.0).dx(u), (R(16),)),
    "non_uniform_fd": lambda: (lambda p, v: import_module("neuralop.losses").non_uniform_fd(p, v, num_neighbors=4, derivative_indices=[0]), (torch.rand(12, 2), R(12))),
    "Relobralo": lambda: ((lambda m: lambda a, b: m({"a": a, "b": b}, step=3))(import_module("neuralop.losses").Relobralo([torch.nn.Parameter(R(2))], 2)), (torch.rand(()), torch.rand(()))),
    "SoftAdapt": lambda: ((lambda m: lambda a, b: m({"a": a, "b": b}, step=3))(import_module("neuralop.losses").SoftAdapt([torch.nn.Parameter(R(2))], 2)), (torch.rand(()), torch.rand(()))),
    "UnitGaussianNormalizer": lambda: ((lambda n, x: (n.fit(x), (lambda y: n.inverse_transform(n.transform(y)), (x,)))[1])(import_module("neuralop.data.transforms.normalizers").UnitGaussianNormalizer(dim=[0, 2, 3]), R(4, 2, 8, 8))),
    "UnitGaussianNormalizer.partial": lambda: ((lambda n: lambda x: n.partial_fit(x, batch_size=2))(import_module("neuralop.data.transforms.normalizers").UnitGaussianNormalizer(dim=[0, 2, 3])), (R(4, 2, 8, 8),)),
    "AdamW": lambda: _adamw(),
})  # fmt: skip


def _neighbors() -> dict:
    return import_module("neuralop.layers.neighbor_search").NeighborSearch(use_open3d=False)(
        torch.rand(6, 3), torch.rand(4, 3), 0.9
    )


def _pad_and_back() -> object:
    pad = import_module("neuralop.layers.padding").DomainPadding(0.25)
    return lambda x: pad.unpad(pad.pad(x) * 2)


def _adamw() -> tuple:
    params = [torch.nn.Parameter(R(6, 4)), torch.nn.Parameter(R(4, dtype=torch.complex64))]
    for param in params:
        param.grad = R(param.shape, dtype=param.dtype)
    optimizer = import_module("neuralop.training.adamw").AdamW(params, lr=1e-3, weight_decay=0.1)
    return lambda: optimizer.step(), ()
