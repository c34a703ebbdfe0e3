"""Time series: models, distributions, scalers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add, each

R = torch.randn


def _model(module: str, name: str, *args: torch.Tensor, **kwargs: object) -> tuple:
    return getattr(import_module(f"gluonts.torch.model.{module}.module"), name)(**kwargs), args


_SMALL = {
    "prediction_length": 4, "context_length": 8, "d_model": 8, "nhead": 2, "dim_feedforward": 8, "dropout": 0.1,
    "activation": "relu", "norm_first": False, "num_encoder_layers": 1, "scaling": "mean",
}  # fmt: skip


def _seen(length: int = 8) -> torch.Tensor:
    return torch.ones(2, length)


def _deepar(**kwargs: object) -> tuple:
    model, _ = _model(
        "deepar",
        "DeepARModel",
        freq="D",
        context_length=8,
        prediction_length=4,
        num_parallel_samples=3,
        lags_seq=[1, 2],
        **kwargs,
    )
    past = model._past_length
    return model, (
        torch.zeros(2, 1, dtype=torch.long), R(2, 1), R(2, past, 1), R(2, past), torch.ones(2, past), R(2, 4, 1),
    )  # fmt: skip


def _output(name: str) -> Callable[[], tuple]:
    def build() -> tuple:
        module = import_module("gluonts.torch.distributions")
        extra = {
            "BinnedUniformsOutput": (-3.0, 3.0, 8),
            "SplicedBinnedParetoOutput": (-3.0, 3.0, 8, 0.05),
            "PiecewiseLinearOutput": (4,),
            "ISQFOutput": (3, [0.1, 0.5, 0.9]),
            "TruncatedNormalOutput": (-2.0, 2.0),
            "QuantileOutput": ([0.1, 0.5, 0.9],),
        }
        output = getattr(module, name)(*extra.get(name, ()))
        projection = output.get_args_proj(5)
        positive = name in (
            "GammaOutput",
            "PoissonOutput",
            "NegativeBinomialOutput",
            "GeneralizedParetoOutput",
        )

        def run(hidden: torch.Tensor, target: torch.Tensor) -> object:
            args = projection(hidden)
            if hasattr(output, "distribution"):
                dist = output.distribution(args, scale=torch.ones(3, 1))
                return dist.log_prob(target.abs().ceil() if positive else target.clamp(-1, 1))
            return output.loss(target, args)

        return run, (R(3, 4, 5), R(3, 4))

    return build


for _name in "BinnedUniformsOutput SplicedBinnedParetoOutput PiecewiseLinearOutput ISQFOutput TruncatedNormalOutput QuantileOutput GammaOutput PoissonOutput NegativeBinomialOutput GeneralizedParetoOutput StudentTOutput NormalOutput LaplaceOutput BetaOutput ImplicitQuantileNetworkOutput".split():
    add("gluonts", _name, _output(_name), grad=True)


def _sampled(name: str, *args: torch.Tensor | list) -> tuple:
    dist = getattr(import_module("gluonts.torch.distributions"), name)(*args)
    return lambda: (dist.sample((3,)), dist.mean), ()


each("gluonts", {
    "DeepAR": _deepar,
    "DeepAR.unscaled": lambda: _deepar(scaling=False, num_layers=1),
    "DeepAR.loss": lambda: (lambda m_a: (lambda *a: m_a[0].log_prob(*a) if hasattr(m_a[0], "log_prob") else m_a[0].loss(*a[:5], a[5], R(2, 4), torch.ones(2, 4)), m_a[1]))(_deepar()),
    "DLinear": lambda: _model("d_linear", "DLinearModel", R(2, 8), _seen(), prediction_length=4, context_length=8, hidden_dimension=6, kernel_size=3, scaling="std"),
    "ITransformer": lambda: _model("i_transformer", "ITransformerModel", R(2, 8, 3), torch.ones(2, 8, 3), **_SMALL),
    "PatchTST": lambda: _model("patch_tst", "PatchTSTModel", R(2, 8), _seen(), patch_len=4, stride=2, padding_patch="end", num_feat_dynamic_real=0, **_SMALL),
    "LagTST": lambda: _model("lag_tst", "LagTSTModel", R(2, 12), _seen(12), freq="D", lags_seq=[0, 1, 3], **(_SMALL | {"context_length": 8})),
    "SimpleFeedForward": lambda: _model("simple_feedforward", "SimpleFeedForwardModel", R(2, 8), prediction_length=4, context_length=8, batch_norm=True),
    "TiDE": lambda: _model("tide", "TiDEModel", R(2, 1), torch.zeros(2, 1, dtype=torch.long), R(2, 8, 1), R(2, 8), _seen(), R(2, 4, 1), context_length=8, prediction_length=4, num_feat_dynamic_real=1, num_feat_dynamic_proj=2, num_feat_static_real=1, num_feat_static_cat=1, cardinality=[2], embedding_dimension=[2], feat_proj_hidden_dim=4, encoder_hidden_dim=4, decoder_hidden_dim=4, temporal_hidden_dim=4, distr_hidden_dim=4, decoder_output_dim=4, dropout_rate=0.1, num_layers_encoder=1, num_layers_decoder=1, layer_norm=True, distr_output=import_module("gluonts.torch.distributions").StudentTOutput(), scaling="std"),
    "TFT": lambda: _model("tft", "TemporalFusionTransformerModel", R(2, 8), _seen(), R(2, 1), torch.zeros(2, 1, dtype=torch.long), R(2, 12, 1), torch.zeros(2, 12, 0, dtype=torch.long), torch.zeros(2, 8, 0), torch.zeros(2, 8, 0, dtype=torch.long), context_length=8, prediction_length=4, d_hidden=8, d_var=8),
    "WaveNet": lambda: _model("wavenet", "WaveNet", torch.zeros(2, 1, dtype=torch.long), R(2, 1), R(2, 16), torch.ones(2, 16), R(2, 16, 1), R(2, 4, 1), torch.ones(2, 1), pred_length=4, bin_values=[-1.0, 0.0, 1.0], num_residual_channels=4, num_skip_channels=4, dilation_depth=2, num_stacks=1, num_feat_dynamic_real=1, num_feat_static_real=1, cardinality=[2], embedding_dimension=2, num_parallel_samples=2),
    "MeanScaler": lambda: (import_module("gluonts.torch.scaler").MeanScaler(dim=1, keepdim=True, default_scale=1.0), (R(2, 8), torch.ones(2, 8))),
    "MeanScaler.plain": lambda: (import_module("gluonts.torch.scaler").MeanScaler(dim=1), (R(2, 8), torch.ones(2, 8))),
    "StdScaler": lambda: (import_module("gluonts.torch.scaler").StdScaler(dim=1, keepdim=True), (R(2, 8), torch.ones(2, 8))),
    "FeatureEmbedder": lambda: (import_module("gluonts.torch.modules.feature").FeatureEmbedder([3, 4], [2, 2]), (torch.randint(0, 3, (2, 5, 2)),)),
    "FeatureAssembler": lambda: (import_module("gluonts.torch.modules.feature").FeatureAssembler(5), (R(2, 1), R(2, 5, 2))),
    "lagged": lambda: (lambda p, s: import_module("gluonts.torch.util").lagged_sequence_values([1, 3], p, s, dim=1), (R(2, 8), R(2, 4))),
    "repeat_along_dim": lambda: (lambda x: import_module("gluonts.torch.util").repeat_along_dim(x, 0, 3), (R(2, 4),)),
    "weighted_average": lambda: (lambda x, w: import_module("gluonts.torch.util").weighted_average(x, w, dim=1), (R(2, 4), torch.rand(2, 4))),
    "take_last": lambda: (lambda x: import_module("gluonts.torch.util").take_last(x, 1, 3), (R(2, 4),)),
    "sample.BinnedUniforms": lambda: _sampled("BinnedUniforms", -3.0, 3.0, R(2, 8)),
    "sample.SplicedBinnedPareto": lambda: _sampled("SplicedBinnedPareto", -3.0, 3.0, R(2, 8).softmax(-1), torch.rand(2), torch.rand(2), torch.rand(2), torch.rand(2), torch.tensor(8), torch.tensor(0.05)),
    "sample.PiecewiseLinear": lambda: _sampled("PiecewiseLinear", R(2), torch.rand(2, 4), torch.rand(2, 4).softmax(-1)),
    "sample.TruncatedNormal": lambda: _sampled("TruncatedNormal", R(2), torch.rand(2) + 0.1, -2.0, 2.0),
    "sample.GeneralizedPareto": lambda: _sampled("GeneralizedPareto", torch.rand(2) * 0.4, torch.rand(2) + 0.1),
})  # fmt: skip
