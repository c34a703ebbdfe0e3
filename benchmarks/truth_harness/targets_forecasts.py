"""Time series: chronos, pypots, tsai."""

from __future__ import annotations

from importlib import import_module

import torch
from registry import add, of

R = torch.randn
IDS = torch.randint


# --- chronos ---------------------------------------------------------------------------------

_SIZES = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}


def _t5(**kwargs: object) -> object:
    return of("transformers", "T5Config", **_SIZES, **kwargs)


def _bolt() -> torch.nn.Module:
    config = _t5(decoder_start_token_id=0, pad_token_id=0)
    config.chronos_config = {
        "context_length": 16, "prediction_length": 4, "input_patch_size": 4,
        "input_patch_stride": 4, "quantiles": [0.1, 0.5, 0.9], "use_reg_token": True,
    }  # fmt: skip
    return of("chronos.chronos_bolt", "ChronosBoltModelForForecasting", config)


def _two(**kwargs: object) -> torch.nn.Module:
    forecasting = {
        "context_length": 16, "output_patch_size": 4, "input_patch_size": 4,
        "input_patch_stride": 4, "quantiles": [0.1, 0.5, 0.9], "use_reg_token": True,
        "use_arcsinh": True, "max_output_patches": 2,
    }  # fmt: skip
    config = of(
        "chronos.chronos2.config", "Chronos2CoreConfig", **_SIZES, chronos_config=forecasting,
        **kwargs,
    )  # fmt: skip
    return of("chronos.chronos2.model", "Chronos2Model", config)


def _config() -> object:
    return of(
        "chronos", "ChronosConfig", "MeanScaleUniformBins",
        {"low_limit": -15.0, "high_limit": 15.0}, 16, 4, 40, 2, 0, 1, True, "seq2seq", 2, 1.0,
        50, 1.0,
    )  # fmt: skip


def _chronos() -> torch.nn.Module:
    model = of("transformers", "T5ForConditionalGeneration",
                _t5(vocab_size=40, decoder_start_token_id=0))  # fmt: skip
    return of("chronos.chronos", "ChronosModel", _config(), model)


def _holes() -> torch.Tensor:
    series = R(2, 14)
    series[0, :3] = float("nan")
    return series


for _name, _build in {
    "ChronosBolt": lambda: (_bolt(), (_holes(),)),
    "ChronosBolt.loss": lambda: (_bolt(), (R(2, 16),), {"target": R(2, 4)}),
    "ChronosBolt.predict": lambda: (
        of("chronos.chronos_bolt", "ChronosBoltPipeline", _bolt().eval()).predict,
        (R(2, 16),), {"prediction_length": 6}),
    "Chronos2": lambda: (_two(), (_holes(),), {"num_output_patches": 2}),
    "Chronos2.groups": lambda: (
        _two(), (R(3, 16),),
        {"group_ids": torch.tensor([0, 0, 1]), "future_covariates": R(3, 4),
         "future_target": R(3, 4)}),
    "Chronos2.eager": lambda: (
        _two(attn_implementation="eager"), (R(2, 16),), {"output_attentions": True}),
    "MeanScaleUniformBins.context": lambda: (
        _config().create_tokenizer().context_input_transform, (_holes(),)),
    "MeanScaleUniformBins.label": lambda: (
        _config().create_tokenizer().label_input_transform, (R(2, 4), torch.ones(2))),
    "MeanScaleUniformBins.output": lambda: (
        _config().create_tokenizer().output_transform, (IDS(2, 40, (2, 3, 4)), torch.ones(2))),
    "ChronosModel.encode": lambda: (
        _chronos().eval().encode, (IDS(2, 40, (2, 6)), torch.ones(2, 6, dtype=torch.bool))),
    "ChronosPipeline.predict": lambda: (
        of("chronos.chronos", "ChronosPipeline", _config().create_tokenizer(),
            _chronos().eval()).predict,
        (R(2, 14),), {"prediction_length": 3}),
    "left_pad_and_stack_1D": lambda: (
        import_module("chronos.utils").left_pad_and_stack_1D, ([R(3), R(5)],)),
    "interpolate_quantiles": lambda: (
        import_module("chronos.utils").interpolate_quantiles,
        ([0.2, 0.6], [0.1, 0.5, 0.9], R(2, 4, 3))),
    "weighted_quantile": lambda: (
        import_module("chronos.utils").weighted_quantile,
        ([0.2, 0.6], torch.rand(3), R(2, 4, 3))),
    "InstanceNorm.inverse": lambda: (
        of("chronos.chronos_bolt", "InstanceNorm", use_arcsinh=True).inverse,
        (R(2, 8), (R(2, 1), torch.ones(2, 1)))),
}.items():  # fmt: skip
    add("chronos", _name, _build)

# --- pypots ----------------------------------------------------------------------------------


def _gaps(**more: object) -> dict:
    mask = (torch.rand(2, 8, 3) > 0.3).float()
    values = R(2, 8, 3) * mask
    one = {"X": values, "missing_mask": mask, "deltas": torch.rand(2, 8, 3)}
    return one | {
        "X_ori": R(2, 8, 3), "indicating_mask": 1 - mask, "forward": one, "backward": one,
        "cond_mask": mask, "observed_tp": torch.arange(8.0).expand(2, 8),
        "empirical_mean": R(2, 3), "X_filledLOCF": R(2, 8, 3), "y": torch.tensor([0, 1]),
        "timestamps": torch.arange(8.0).expand(2, 8), "lengths": torch.tensor([8, 8]),
        "static": None,
    } | more  # fmt: skip


def _turned(gaps: dict) -> dict:
    """CSDI takes features before steps."""
    names = ("X", "X_ori", "cond_mask", "indicating_mask")
    return gaps | {name: gaps[name].mT.contiguous() for name in names}


_LAYERS = {"n_layers": 1, "d_model": 8, "n_heads": 2, "d_ffn": 8}
for _name, (_where, _kwargs) in {
    "SAITS": ("imputation", _LAYERS | {"d_k": 4, "d_v": 4}),
    "BRITS": ("imputation", {"rnn_hidden_size": 8}),
    "MRNN": ("imputation", {"rnn_hidden_size": 8}),
    "CSDI": ("imputation", {"n_layers": 1, "n_heads": 2, "n_channels": 8, "d_time_embedding": 8,
                            "d_feature_embedding": 4, "d_diffusion_embedding": 8,
                            "n_diffusion_steps": 3}),
    "USGAN": ("imputation", {"rnn_hidden_size": 8}),
    "GPVAE": ("imputation", {"latent_size": 4, "encoder_sizes": (8,), "decoder_sizes": (8,)}),
    "TimesNet": ("imputation", {"n_layers": 1, "top_k": 2, "d_model": 8, "d_ffn": 8,
                                "n_kernels": 2}),
    "StemGNN": ("imputation", {"n_layers": 1, "n_stacks": 2, "d_model": 8}),
    "Autoformer": ("imputation", _LAYERS | {"factor": 1, "moving_avg_window_size": 3}),
    "Informer": ("imputation", _LAYERS | {"factor": 1}),
    "TOTEM": ("imputation", {"d_block_hidden": 8, "n_residual_layers": 1,
                             "d_residual_hidden": 4, "d_embedding": 4, "n_embeddings": 8}),
    "ETSformer": ("imputation", {"n_encoder_layers": 1, "n_decoder_layers": 1, "d_model": 8,
                                 "n_heads": 2, "d_ffn": 8, "top_k": 1}),
    "SCINet": ("imputation", {"n_stacks": 1, "n_levels": 2, "n_groups": 1,
                              "n_decoder_layers": 1, "d_hidden": 4}),
    "Reformer": ("imputation", _LAYERS | {"bucket_size": 2, "n_hashes": 1, "causal": True}),
    "SeFT": ("classification", _LAYERS | {"n_classes": 2, "n_seeds": 2}),
    "GRUD": ("classification", {"n_classes": 2, "rnn_hidden_size": 8}),
    "VaDER": ("clustering", {"n_clusters": 2, "rnn_hidden_size": 8, "d_mu_stddev": 4}),
    "CRLI": ("clustering", {"n_clusters": 2, "n_generator_layers": 1, "rnn_hidden_size": 8}),
    "TS2Vec": ("representation", {"n_output_dims": 8, "d_hidden": 8, "n_layers": 2}),
}.items():  # fmt: skip
    add(
        "pypots",
        _name,
        lambda n=_name, w=_where, k=_kwargs: (
            of(f"pypots.{w}", n, n_steps=8, n_features=3, device="cpu", verbose=False, **k).model,
            (_turned(_gaps()) if n == "CSDI" else _gaps(),),
            {"calc_criterion": True} if w != "clustering" and n != "USGAN" else {},
        ),
        modes=("eval", "train") if _name in ("SAITS", "CSDI", "GPVAE") else ("train",),
    )
for _name in ("calc_mae", "calc_rmse", "calc_mre"):
    add(
        "pypots",
        _name,
        lambda n=_name: (
            getattr(import_module("pypots.nn.functional"), n),
            (R(2, 8, 3), R(2, 8, 3), torch.ones(2, 8, 3)),
        ),
    )
add(
    "pypots",
    "calc_quantile_crps",
    lambda: (
        import_module("pypots.nn.functional").calc_quantile_crps,
        (R(2, 5, 8, 3), R(2, 8, 3), torch.ones(2, 8, 3)),
    ),
)

# --- tsai ------------------------------------------------------------------------------------

_TSAI = "tsai.models"
for _name, (_module, _kwargs) in {
    "TST": ("TST", {"n_layers": 1, "d_model": 8, "n_heads": 2, "d_ff": 8}),
    "TSTPlus": ("TSTPlus", {"n_layers": 2, "d_model": 8, "n_heads": 2, "d_ff": 8}),
    "TSiTPlus": ("TSiTPlus", {"d_model": 8, "depth": 1, "n_heads": 2, "verbose": False,
                              "drop_path_rate": 0.1, "lsa": True}),
    "TSPerceiver": ("TSPerceiver", {"n_latents": 4, "d_latent": 8, "n_layers": 1,
                                    "self_n_heads": 2}),
    "TSSequencerPlus": ("TSSequencerPlus", {"d_model": 8, "depth": 1, "verbose": False}),
    "gMLP": ("gMLP", {"d_model": 8, "d_ffn": 16, "depth": 1}),
    "OmniScaleCNN": ("OmniScaleCNN", {"layers": [64, 128]}),
    "XCMPlus": ("XCMPlus", {"nf": 4}),
    "LSTMPlus": ("RNNPlus", {"hidden_size": [8]}),
    "MLSTM_FCNPlus": ("RNN_FCNPlus", {"hidden_size": 8, "conv_layers": [8, 8, 8], "se": 2}),
    "MiniRocket": ("MINIROCKET_Pytorch", {"num_features": 168}),
    "MultiRocketPlus": ("MultiRocketPlus", {"num_features": 2000}),
    "HydraPlus": ("HydraPlus", {"k": 2, "g": 2}),
    "XceptionTimePlus": ("XceptionTimePlus", {"nf": 4}),
    "InceptionTimePlus": ("InceptionTimePlus", {"nf": 4, "depth": 3}),
    "ConvTranPlus": ("ConvTranPlus", {"d_model": 16, "dim_ff": 8}),
}.items():  # fmt: skip
    add(
        "tsai",
        _name,
        lambda n=_name, m=_module, k=_kwargs: (
            of(f"{_TSAI}.{m}", n, 3, 2, 32, **k),
            (R(4, 3, 32),),
        ),
        modes=("train",),
    )
add(
    "tsai",
    "ROCKET",
    lambda: (of(f"{_TSAI}.ROCKET_Pytorch", "ROCKET", 3, 32, n_kernels=6), (R(2, 3, 32),)),
    modes=("eval",),
)
add(
    "tsai",
    "PatchTST",
    lambda: (
        of(f"{_TSAI}.PatchTST", "PatchTST", 3, 3, 32, pred_dim=4, n_layers=1, n_heads=2,
            d_model=8, d_ff=8, patch_len=8, stride=4, decomposition=True, kernel_size=5),
        (R(2, 3, 32),),
    ),
    modes=("train",),
)  # fmt: skip


def _nans() -> torch.Tensor:
    target = R(2, 6)
    target[0, :2] = float("nan")
    return target


for _name, _build in {
    "HuberLoss": lambda: (of("tsai.losses", "HuberLoss"), (R(2, 6), R(2, 6))),
    "MaskedLossWrapper": lambda: (
        of("tsai.losses", "MaskedLossWrapper", torch.nn.MSELoss()), (R(2, 6), _nans())),
    "CenterLoss": lambda: (of("tsai.losses", "CenterLoss", 4), (R(3, 4), IDS(0, 4, (3,)))),
    "FocalLoss": lambda: (of("tsai.losses", "FocalLoss"), (R(3, 4), IDS(0, 4, (3,)))),
    "TweedieLoss": lambda: (of("tsai.losses", "TweedieLoss"), (R(5), torch.rand(5))),
    "accuracy_multi": lambda: (
        import_module("tsai.metrics").accuracy_multi, (R(3, 4), IDS(0, 2, (3, 4)))),
    "Fbeta_multi": lambda: (
        import_module("tsai.metrics").Fbeta_multi, (R(3, 4), IDS(0, 2, (3, 4)))),
    "mape": lambda: (import_module("tsai.metrics").mape, (R(3, 4), R(3, 4))),
}.items():  # fmt: skip
    add("tsai", _name, _build, modes=("train",) if "Loss" in _name else ("eval", "train"))
