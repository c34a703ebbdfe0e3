"""What people will like, what a series will do, and which inputs a network looked at."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import torch
from registry import add, each
from targets_bayes import _at, _get

R = torch.randn
_MLP = {"dims": [8, 4], "dropout": 0.1, "activation": "relu"}


def _sparse(*names: str, **kwargs: object) -> list:
    return [
        _at("torch_rechub.basic.features.SparseFeature", n, vocab_size=9, embed_dim=8, **kwargs)
        for n in names
    ]


def _dense(*names: str) -> list:
    return [_at("torch_rechub.basic.features.DenseFeature", n) for n in names]


def _sequence(name: str, pooling: str = "mean", shared: str | None = None) -> list:
    return [
        _at(
            "torch_rechub.basic.features.SequenceFeature",
            name,
            vocab_size=9,
            embed_dim=8,
            pooling=pooling,
            shared_with=shared,
            padding_idx=0,
        )
    ]


def _batch() -> dict[str, torch.Tensor]:
    return {
        **{name: torch.randint(1, 9, (4,)) for name in ("a", "b", "c", "item")},
        **{name: torch.randint(0, 9, (4, 6)) for name in ("hist", "neg_hist")},
        "negs": torch.randint(1, 9, (4, 3)), "d": torch.rand(4), "e": torch.rand(4), "weight": torch.rand(4),
    }  # fmt: skip


def _rec(path: str, *args: object, **kwargs: object) -> tuple:
    return _at(f"torch_rechub.models.{path}", *args, **kwargs), (_batch(),)


def _tower() -> dict:
    return {"dims": [8, 8], "activation": "prelu"}


def _history() -> tuple[list, list, list]:
    return _sequence("hist", "concat", "item"), _sparse("item"), _sequence("negs", "concat", "item")


_TASKS = ["classification", "regression"]
_TOWERS = [{"dims": [4]}, {"dims": [4]}]
each("torch_rechub", {
    "DeepFM": lambda: _rec("ranking.DeepFM", _sparse("a", "b") + _dense("d"), _sparse("a", "b"), _MLP),
    "WideDeep": lambda: _rec("ranking.WideDeep", _dense("d", "e"), _sparse("a", "b"), _MLP),
    "DCN": lambda: _rec("ranking.DCN", _sparse("a", "b") + _dense("d"), 2, _MLP),
    "DCNv2": lambda: _rec("ranking.DCNv2", _sparse("a", "b") + _dense("d"), 2, _MLP),
    "EDCN": lambda: _rec("ranking.EDCN", _sparse("a", "b", "c"), 2, _MLP),
    "AFM": lambda: _rec("ranking.AFM", _sparse("a", "b"), 8),
    "FiBiNet": lambda: _rec("ranking.FiBiNet", _sparse("a", "b", "c"), _MLP),
    "AutoInt": lambda: _rec("ranking.AutoInt", _sparse("a", "b"), _dense("d"), mlp_params=_MLP),
    "DeepFFM": lambda: _rec("ranking.DeepFFM", _sparse("a", "b"), _sparse("a", "b"), 8, _MLP),
    "DIN": lambda: _rec("ranking.DIN", _sparse("a", "b"), _sequence("hist", "concat", "item"), _sparse("item"), {"dims": [8]}, {"dims": [8]}),
    "BST": lambda: _rec("ranking.BST", _sparse("a", "b"), _sequence("hist", "concat", "item"), _sparse("item"), _MLP, nhead=2, max_seq_len=7),
    "DIEN": lambda: _rec("ranking.DIEN", _sparse("a", "b"), _sequence("hist", "concat", "item"), _sequence("neg_hist", "concat", "item"), _sparse("item"), {"dims": [8]}),
    "DSSM": lambda: _rec("matching.DSSM", _sparse("a", "b"), _sparse("item"), _tower(), _tower()),
    "FaceBookDSSM": lambda: _rec("matching.FaceBookDSSM", _sparse("a"), _sparse("item"), _sparse("c"), _tower(), _tower()),
    "YoutubeDNN": lambda: _rec("matching.YoutubeDNN", _sparse("a") + _sequence("hist", "mean", "item"), _sparse("item"), _sequence("negs", "concat", "item"), {"dims": [8, 8]}),
    "YoutubeSBC": lambda: _rec("matching.YoutubeSBC", _sparse("a"), _sparse("item"), _dense("weight"), _tower(), _tower(), batch_size=4, n_neg=2),
    "GRU4Rec": lambda: _rec("matching.GRU4Rec", _sparse("a"), *_history(), {"dims": [8, 8]}),
    "MIND": lambda: _rec("matching.MIND", _sparse("a"), *_history(), max_length=6),
    "ComirecSA": lambda: _rec("matching.ComirecSA", _sparse("a"), *_history()),
    "ComirecDR": lambda: _rec("matching.ComirecDR", _sparse("a"), *_history(), max_length=6),
    "NARM": lambda: _rec("matching.NARM", _sequence("hist", "concat")[0], 8, 0.1, 0.1),
    "STAMP": lambda: _rec("matching.STAMP", _sequence("hist", "concat")[0], 0.1, 0.1),
    "SINE": lambda: _rec("matching.SINE", ["hist"], ["item"], ["negs"], 9, 8, 8, 5, 2, 6),
    "SharedBottom": lambda: _rec("multi_task.SharedBottom", _sparse("a", "b"), _TASKS, {"dims": [8]}, _TOWERS),
    "MMOE": lambda: _rec("multi_task.MMOE", _sparse("a", "b"), _TASKS, 3, {"dims": [8]}, _TOWERS),
    "PLE": lambda: _rec("multi_task.PLE", _sparse("a", "b"), _TASKS, 2, 2, 1, {"dims": [8]}, _TOWERS),
    "ESMM": lambda: _rec("multi_task.ESMM", _sparse("a"), _sparse("item"), {"dims": [8]}, {"dims": [8]}),
    "AITM": lambda: _rec("multi_task.AITM", _sparse("a", "b"), 2, {"dims": [8]}, _TOWERS),
    "HSTU": lambda: (_at("torch_rechub.models.generative.HSTUModel", 20, d_model=16, n_heads=2, n_layers=1, dqk=8, dv=8, max_seq_len=8), (torch.randint(0, 20, (2, 8)), torch.randint(0, 900, (2, 8)))),
    "HLLM": lambda: (_at("torch_rechub.models.generative.HLLMModel", R(20, 16), 20, d_model=16, n_heads=2, n_layers=1, max_seq_len=8), (torch.randint(0, 20, (2, 8)), torch.randint(0, 900, (2, 8)))),
    "RQVAE": lambda: (_at("torch_rechub.models.generative.RQVAEModel", 12, [8, 8], 4, [10], sk_epsilons=[0.0, 0.003]), (R(9, 12),)),
    "RQVAE.kmeans": lambda: (_at("torch_rechub.models.generative.RQVAEModel", 12, [4, 4], 4, [10], sk_epsilons=[0.0, 0.0], kmeans_init=True, kmeans_iters=2), (R(9, 12),)),
    "NCELoss": lambda: (_at("torch_rechub.basic.loss_func.NCELoss"), (R(6, 9), torch.randint(0, 9, (6,)))),
    "InBatchNCELoss": lambda: (_at("torch_rechub.basic.loss_func.InBatchNCELoss"), (R(6, 4), R(9, 4), torch.randint(0, 9, (6,)))),
    "HingeLoss": lambda: (_at("torch_rechub.basic.loss_func.HingeLoss"), (R(6), R(6, 3))),
    "BPRLoss": lambda: (_at("torch_rechub.basic.loss_func.BPRLoss"), (R(6), R(6))),
    "CIN": lambda: (_at("torch_rechub.basic.layers.CIN", 3, [4, 4]), (R(4, 3, 8),)),
    "Dice": lambda: (_at("torch_rechub.basic.activation.Dice"), (R(4, 3),)),
})  # fmt: skip


def _forecast(name: str, **kwargs: object) -> tuple:
    model = _at(f"neuralforecast.models.{name}", h=4, input_size=8, max_steps=1, **kwargs)
    many = getattr(model, "MULTIVARIATE", False)
    batch = {
        "insample_y": R(3, 8, kwargs["n_series"] if many else 1), "insample_mask": torch.ones(3, 8),
        "futr_exog": None, "hist_exog": None, "stat_exog": None,
    }  # fmt: skip
    return model, (batch,)


for _name, _given in {
    "NHITS": {"mlp_units": 3 * [[8, 8]]}, "NBEATS": {"mlp_units": 3 * [[8, 8]]}, "NBEATSx": {"mlp_units": 3 * [[8, 8]]},
    "MLP": {"hidden_size": 8}, "DLinear": {}, "NLinear": {}, "TiDE": {"hidden_size": 8, "decoder_output_dim": 4, "temporal_decoder_dim": 8},
    "LSTM": {"encoder_hidden_size": 8, "decoder_hidden_size": 8}, "GRU": {"encoder_hidden_size": 8, "decoder_hidden_size": 8},
    "DilatedRNN": {"encoder_hidden_size": 8, "decoder_hidden_size": 8}, "TCN": {"encoder_hidden_size": 8, "decoder_hidden_size": 8},
    "BiTCN": {"hidden_size": 8}, "KAN": {"hidden_size": 8}, "PatchTST": {"hidden_size": 8, "n_heads": 2, "linear_hidden_size": 8, "patch_len": 4, "stride": 2, "encoder_layers": 1},
    "Informer": {"hidden_size": 8, "n_head": 2, "conv_hidden_size": 8}, "Autoformer": {"hidden_size": 8, "n_head": 2, "conv_hidden_size": 8},
    "FEDformer": {"hidden_size": 8, "n_head": 8, "conv_hidden_size": 8, "modes": 2}, "VanillaTransformer": {"hidden_size": 8, "n_head": 2, "conv_hidden_size": 8},
    "TimesNet": {"hidden_size": 8, "conv_hidden_size": 8, "num_kernels": 2}, "TFT": {"hidden_size": 8, "n_head": 2}, "DeepNPTS": {"hidden_size": 8},
    "iTransformer": {"n_series": 2, "hidden_size": 8, "n_heads": 2, "d_ff": 8}, "TSMixer": {"n_series": 2, "ff_dim": 8}, "SOFTS": {"n_series": 2, "hidden_size": 8, "d_core": 8, "d_ff": 8},
    "StemGNN": {"n_series": 2}, "TimeMixer": {"n_series": 2, "d_model": 8, "d_ff": 8, "down_sampling_layers": 1}, "RMoK": {"n_series": 2},
}.items():  # fmt: skip
    add("neuralforecast", _name, lambda n=_name, k=_given: _forecast(n, **k))


def _loss(name: str, *extra: torch.Tensor, outputs: int | None = None, **kwargs: object) -> tuple:
    loss = _at(f"neuralforecast.losses.pytorch.{name}", **kwargs)
    y = R(3, 4, 1)
    y_hat = R(3, 4, 1) if outputs is None else R(3, 4, 1, outputs)
    return (
        lambda *a: loss(
            y=a[0],
            y_hat=a[1],
            **dict(zip(("y_insample",), a[2:], strict=False)),
            mask=torch.ones_like(a[0]),
        )
    ), (y, y_hat, *extra)


def _distribution(name: str, **kwargs: object) -> tuple:
    loss = _at("neuralforecast.losses.pytorch.DistributionLoss", name, num_samples=8, **kwargs)
    args = R(3, 4, loss.outputsize_multiplier)
    y = (
        torch.rand(3, 4, 1).round()
        if name in ("Poisson", "NegativeBinomial", "Bernoulli")
        else torch.rand(3, 4, 1)
    )

    def run(target: torch.Tensor, raw: torch.Tensor) -> object:
        mapped = loss.domain_map(raw)
        scaled = loss.scale_decouple(
            output=mapped, loc=torch.zeros(3, 1, 1), scale=torch.ones(3, 1, 1)
        )
        return loss(y=target, distr_args=scaled, mask=torch.ones_like(target)), loss.sample(
            distr_args=scaled
        )

    return run, (y, args)


def _mixture(name: str) -> tuple:
    loss = _at(f"neuralforecast.losses.pytorch.{name}", n_components=2, num_samples=8)

    def run(target: torch.Tensor, raw: torch.Tensor) -> object:
        mapped = loss.domain_map(raw)
        return loss(y=target, distr_args=mapped), loss.sample(distr_args=mapped)

    return run, (torch.rand(3, 4, 1).round(), torch.rand(3, 4, loss.outputsize_multiplier))


def _scaler(kind: str) -> tuple:
    norm = _at(
        "neuralforecast.common._scalers.TemporalNorm", scaler_type=kind, dim=1, num_features=2
    )

    def run(x: torch.Tensor, mask: torch.Tensor) -> object:
        z = norm.transform(x=x, mask=mask)
        return norm.inverse_transform(z)

    return run, (R(3, 8, 2), torch.ones(3, 8, 2))


for _name in ("MAE", "MSE", "RMSE", "MAPE", "SMAPE", "HuberLoss", "TukeyLoss"):
    add("neuralforecast", f"loss.{_name}", lambda n=_name: _loss(n))
for _name in ("Normal", "StudentT", "Poisson", "NegativeBinomial", "Bernoulli", "ISQF"):
    add("neuralforecast", f"dist.{_name}", lambda n=_name: _distribution(n))
for _name in ("PMM", "GMM", "NBMM"):
    add("neuralforecast", f"mixture.{_name}", lambda n=_name: _mixture(n))
for _name in ("standard", "robust", "minmax", "invariant"):
    add("neuralforecast", f"scaler.{_name}", lambda n=_name: _scaler(n))
each("neuralforecast", {
    "loss.MASE": lambda: _loss("MASE", R(3, 8, 1), seasonality=2),
    "loss.MQLoss": lambda: _loss("MQLoss", outputs=5),
    "loss.QuantileLoss": lambda: _loss("QuantileLoss", q=0.3),
    "loss.HuberMQLoss": lambda: _loss("HuberMQLoss", outputs=5),
    "loss.IQLoss": lambda: (_at("neuralforecast.losses.pytorch.IQLoss").domain_map, (R(3, 4, 1, 1),)),
})  # fmt: skip


def _convnet() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.AvgPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(64, 3),
    )  # fmt: skip


def _attribute(composite: Callable[[], object], kind: str = "Gradient", **kwargs: object) -> tuple:
    model, rules = _convnet(), composite()

    def run(x: torch.Tensor, target: torch.Tensor) -> object:
        with _get(f"zennit.attribution.{kind}")(
            model=model, composite=rules, **kwargs
        ) as attributor:
            return attributor(x, target)

    return run, (R(2, 3, 8, 8), torch.eye(3)[[0, 2]])


def _stabilize(**kwargs: object) -> tuple:
    return (lambda x: import_module("zennit.core").stabilize(x, **kwargs)), (R(4, 3),)


for _name in (
    "EpsilonPlus",
    "EpsilonAlpha2Beta1",
    "EpsilonPlusFlat",
    "DeconvNet",
    "GuidedBackprop",
    "ExcitationBackprop",
    "BetaSmooth",
):
    add(
        "zennit",
        _name,
        lambda n=_name: _attribute(lambda: _at(f"zennit.composites.{n}")),
        grad=True,
    )
each("zennit", {
    "EpsilonGammaBox": lambda: _attribute(lambda: _at("zennit.composites.EpsilonGammaBox", low=-3.0, high=3.0)),
    "gradient": lambda: _attribute(lambda: None),
    "SmoothGrad": lambda: _attribute(lambda: None, "SmoothGrad", n_iter=3),
    "IntegratedGradients": lambda: _attribute(lambda: None, "IntegratedGradients", n_iter=3),
    "Occlusion": lambda: _attribute(lambda: None, "Occlusion", window=4, stride=4),
    "stabilize": lambda: _stabilize(),
    "stabilize.clip": lambda: _stabilize(clip=True, norm_scale=True),
    "occlude_independent": lambda: (_get("zennit.attribution.occlude_independent"), (R(2, 3, 4, 4), torch.rand(2, 3, 4, 4) > 0.5)),
    "imgify": lambda: (_get("zennit.image.imgify"), (torch.rand(8, 8, 3).numpy(),)),
    "gridify": lambda: (_get("zennit.image.gridify"), (torch.rand(4, 8, 8, 3).numpy(),)),
    "cmap": lambda: (lambda x: _at("zennit.cmap.ColorMap", "000,f00,fff")(x), (torch.rand(4, 4).numpy(),)),
    "Sum": lambda: (_at("zennit.layer.Sum"), (R(2, 3, 2),)),
}, grad=True)  # fmt: skip
