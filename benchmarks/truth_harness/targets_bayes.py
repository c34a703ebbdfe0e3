"""Weights with distributions, what a Laplace approximation makes of them, and inference."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from registry import add, each

R = torch.randn


def _at(path: str, *args: object, **kwargs: object) -> Any:
    """What `package.module.Name` makes of the arguments."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)(*args, **kwargs)


def _get(path: str) -> Callable:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _net(inputs: int = 4, outputs: int = 3) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, 8), torch.nn.ReLU(), torch.nn.Linear(8, outputs)
    )


_BT = "bayesian_torch"


def _bnn(kind: str) -> tuple:
    prior = {
        "prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.0,
        "posterior_rho_init": -3.0, "type": kind, "moped_enable": False, "moped_delta": 0.5,
    }  # fmt: skip
    model = _net()
    _get("bayesian_torch.models.dnn_to_bnn.dnn_to_bnn")(model, prior)
    kl = _get("bayesian_torch.models.dnn_to_bnn.get_kl_loss")
    return (lambda x: (model(x), kl(model))), (R(5, 4),)


each(_BT, {
    "dnn_to_bnn": lambda: _bnn("Reparameterization"),
    "dnn_to_bnn.flipout": lambda: _bnn("Flipout"),
    "LinearFlipout": lambda: (_at("bayesian_torch.layers.LinearFlipout", 4, 3), (R(5, 4),)),
    "LSTMReparameterization": lambda: (_at("bayesian_torch.layers.LSTMReparameterization", 4, 3), (R(2, 5, 4),)),
    "LSTMFlipout": lambda: (_at("bayesian_torch.layers.LSTMFlipout", 4, 3), (R(2, 5, 4),)),
    "Conv2dReparameterization": lambda: (_at("bayesian_torch.layers.Conv2dReparameterization", 3, 4, 3), (R(2, 3, 8, 8),)),
    "Conv2dFlipout": lambda: (_at("bayesian_torch.layers.Conv2dFlipout", 3, 4, 3), (R(2, 3, 8, 8),)),
    "ConvTranspose1dFlipout": lambda: (_at("bayesian_torch.layers.ConvTranspose1dFlipout", 3, 4, 3), (R(2, 3, 8),)),
    "BatchNorm2dLayer": lambda: (_at("bayesian_torch.layers.BatchNorm2dLayer", 3), ((R(2, 3, 8, 8), torch.tensor(0.0)),)),
    "SCNN": lambda: (_at("bayesian_torch.models.bayesian.simple_cnn_variational.SCNN"), (R(2, 1, 28, 28),)),
    "resnet20": lambda: (_at("bayesian_torch.models.bayesian.resnet_variational.resnet20"), (R(2, 3, 32, 32),)),
    "AvULoss": lambda: (_at("bayesian_torch.utils.avuc_loss.AvULoss"), (R(6, 3), torch.tensor([0, 1, 2, 0, 1, 2]), 0.5)),
    "AUAvULoss": lambda: (_at("bayesian_torch.utils.avuc_loss.AUAvULoss"), (R(60, 3), torch.tensor([0, 1, 2, 0, 1, 2] * 10))),
    "predictive_entropy": lambda: (_get("bayesian_torch.utils.util.predictive_entropy"), (torch.rand(3, 4, 5).softmax(-1).numpy(),)),
    "mutual_information": lambda: (_get("bayesian_torch.utils.util.mutual_information"), (torch.rand(3, 4, 5).softmax(-1).numpy(),)),
})  # fmt: skip


def _elbo() -> tuple:
    estimator, linear = (
        _get("blitz.utils.variational_estimator"),
        _get("blitz.modules.BayesianLinear"),
    )

    @estimator
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = linear(4, 8), linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.second(torch.relu(self.first(x)))

    net = Net()
    return (
        lambda x, y: net.sample_elbo(
            inputs=x, labels=y, criterion=torch.nn.MSELoss(), sample_nbr=3
        ),
        (R(5, 4), R(5, 1)),
    )


def _frozen(module: torch.nn.Module) -> torch.nn.Module:
    module.freeze = True
    return module


each("blitz", {
    "BayesianLinear": lambda: (_at("blitz.modules.BayesianLinear", 4, 3), (R(5, 4),)),
    "BayesianLinear.frozen": lambda: (_frozen(_at("blitz.modules.BayesianLinear", 4, 3)), (R(5, 4),)),
    "BayesianConv1d": lambda: (_at("blitz.modules.BayesianConv1d", 3, 4, 3), (R(2, 3, 8),)),
    "BayesianConv2d": lambda: (_at("blitz.modules.BayesianConv2d", 3, 4, (3, 3)), (R(2, 3, 8, 8),)),
    "BayesianConv3d": lambda: (_at("blitz.modules.BayesianConv3d", 3, 4, (3, 3, 3)), (R(1, 3, 5, 5, 5),)),
    "BayesianLSTM": lambda: (_at("blitz.modules.BayesianLSTM", 4, 3), (R(2, 5, 4),)),
    "BayesianLSTM.peephole": lambda: (_at("blitz.modules.BayesianLSTM", 4, 3, peephole=True), (R(2, 5, 4),)),
    "BayesianLSTM.sharpen": lambda: (_at("blitz.modules.BayesianLSTM", 4, 3, sharpen=True), (R(2, 5, 4),)),
    "BayesianGRU": lambda: (_at("blitz.modules.BayesianGRU", 4, 3), (R(2, 5, 4),)),
    "BayesianEmbedding": lambda: (_at("blitz.modules.BayesianEmbedding", 9, 4), (torch.randint(0, 9, (3, 5)),)),
    "Flipout": lambda: (_at("blitz.utils.Flipout", _get("blitz.modules.BayesianLinear"))(4, 3), (R(5, 4),)),
    "Radial": lambda: (_at("blitz.utils.Radial", _get("blitz.modules.BayesianLinear"))(4, 3), (R(5, 4),)),
    "sample_elbo": _elbo,
})  # fmt: skip


def _laplace(subset: str, structure: str, likelihood: str = "classification", **kwargs: object):
    data = torch.utils.data
    y = torch.randint(0, 3, (12,)) if likelihood == "classification" else R(12, 3)
    loader = data.DataLoader(data.TensorDataset(R(12, 4), y), batch_size=6)
    backend = _get("laplace.curvature.CurvlinopsGGN")
    model = _at(
        "laplace.Laplace", _net(), likelihood, subset_of_weights=subset,
        hessian_structure=structure, backend=backend, **kwargs,
    )  # fmt: skip
    with torch.enable_grad():
        model.fit(loader)
    return model


for _subset, _structure in (
    ("last_layer", "kron"), ("last_layer", "diag"), ("last_layer", "full"), ("all", "kron"), ("all", "diag"), ("all", "full"),
):  # fmt: skip
    add("laplace", f"predict.{_subset}.{_structure}", lambda a=_subset, b=_structure: (
        (lambda m: lambda x: m(x, link_approx="probit"))(_laplace(a, b)), (R(5, 4),)
    ))  # fmt: skip
    add("laplace", f"marglik.{_subset}.{_structure}", lambda a=_subset, b=_structure: (
        _laplace(a, b).log_marginal_likelihood, (torch.tensor(2.0),)
    ))  # fmt: skip
each("laplace", {
    "regression": lambda: (_laplace("all", "diag", "regression"), (R(5, 4),)),
    "joint": lambda: ((lambda m: lambda x: m(x, joint=True))(_laplace("all", "full", "regression")), (R(5, 4),)),
    "bridge": lambda: ((lambda m: lambda x: m(x, link_approx="bridge"))(_laplace("last_layer", "full")), (R(5, 4),)),
    "mc": lambda: ((lambda m: lambda x: m(x, link_approx="mc", n_samples=7))(_laplace("last_layer", "kron")), (R(5, 4),)),
    "nn": lambda: ((lambda m: lambda x: m(x, pred_type="nn", link_approx="mc", n_samples=5))(_laplace("all", "diag")), (R(5, 4),)),
    "samples": lambda: (lambda m: lambda: m.sample(5))(_laplace("all", "kron")) and ((lambda m: lambda n: m.sample(n))(_laplace("all", "kron")), (5,)),
    "predictive_samples": lambda: ((lambda m: lambda x: m.predictive_samples(x, n_samples=5))(_laplace("last_layer", "diag")), (R(5, 4),)),
    "invsqrt_precision": lambda: (_get("laplace.utils.utils.invsqrt_precision"), (torch.eye(4) * 2,)),
    "symeig": lambda: (_get("laplace.utils.utils.symeig"), (torch.eye(4) * 2,)),
    "kron": lambda: (_get("laplace.utils.utils.kron"), (R(2, 3), R(3, 2))),
    "block_diag": lambda: (_get("laplace.utils.utils.block_diag"), ([R(2, 2), R(3, 3)],)),
    "normal_samples": lambda: (_get("laplace.utils.utils.normal_samples"), (R(3, 2), torch.eye(2).expand(3, 2, 2).contiguous(), 4)),
})  # fmt: skip


def _sbi(builder: str, *, discrete: bool = False, **kwargs: object) -> Any:
    theta = R(40, 3)
    if discrete:
        theta = torch.cat([theta, torch.randint(0, 3, (40, 1)).float()], 1)
    return _at(f"sbi.neural_nets.net_builders.{builder}", theta, R(40, 4), **kwargs)


def _density(builder: str, *, discrete: bool = False, **kwargs: object) -> tuple:
    estimator = _sbi(builder, discrete=discrete, **kwargs)
    theta = R(5, 3)
    if discrete:
        theta = torch.cat([theta, torch.randint(0, 3, (5, 1)).float()], 1)
    return estimator.loss, (theta, R(5, 4))


def _sample(builder: str, **kwargs: object) -> tuple:
    estimator = _sbi(builder, **kwargs)
    return (lambda x: estimator.sample((4,), x)), (R(2, 4),)


for _flow in ("maf", "nsf", "maf_rqs", "made", "mdn", "zuko_maf", "zuko_nsf", "zuko_nice"):
    _module = "mdn" if _flow == "mdn" else "flow"
    add("sbi", f"loss.{_flow}", lambda f=f"{_module}.build_{_flow}": _density(f, hidden_features=8))
    add(
        "sbi", f"sample.{_flow}", lambda f=f"{_module}.build_{_flow}": _sample(f, hidden_features=8)
    )
each("sbi", {
    "mnpe": lambda: _density("mixed_nets.build_mnpe", discrete=True, hidden_features=8),
    "flow_matching": lambda: _density("vector_field_nets.build_flow_matching_estimator", hidden_features=8, num_layers=2),
    "score_matching": lambda: _density("vector_field_nets.build_score_matching_estimator", hidden_features=8, num_layers=2),
    "score_matching.ve": lambda: _density("vector_field_nets.build_score_matching_estimator", sde_type="ve", hidden_features=8, num_layers=2),
    "classifier": lambda: (_sbi("classifier.build_mlp_classifier", hidden_features=8), (R(5, 3), R(5, 4))),
    "classifier.resnet": lambda: (_sbi("classifier.build_resnet_classifier", hidden_features=8), (R(5, 3), R(5, 4))),
    "CNNEmbedding": lambda: (_at("sbi.neural_nets.embedding_nets.CNNEmbedding", (32,)), (R(2, 1, 32),)),
    "CausalCNNEmbedding": lambda: (_at("sbi.neural_nets.embedding_nets.CausalCNNEmbedding", (256,), num_conv_layers=2), (R(2, 1, 256),)),
    "PermutationInvariant": lambda: (_at("sbi.neural_nets.embedding_nets.PermutationInvariantEmbedding", _net(4, 6), 6), (R(2, 5, 4),)),
    "LRUEmbedding": lambda: (_at("sbi.neural_nets.embedding_nets.LRUEmbedding", 4, 6), (R(2, 7, 4),)),
    "SpectralConvEmbedding": lambda: (_at("sbi.neural_nets.embedding_nets.SpectralConvEmbedding", 1, modes=4), (R(2, 1, 16),)),
    "mmd": lambda: (_get("sbi.utils.metrics.unbiased_mmd_squared"), (R(8, 3), R(8, 3))),
    "biased_mmd": lambda: (_get("sbi.utils.metrics.biased_mmd"), (R(8, 3), R(8, 3))),
    "wasserstein": lambda: (_get("sbi.utils.metrics.wasserstein_2_squared"), (R(2, 8, 3), R(2, 8, 3))),
    "rbf_mmd": lambda: (_get("sbi.diagnostics.misspecification.compute_rbf_mmd_median_heuristic"), (R(8, 3), R(8, 3))),
    "BoxUniform": lambda: (lambda x: _at("sbi.utils.BoxUniform", -torch.ones(3), torch.ones(3)).log_prob(x), (torch.rand(4, 3),)),
    "handle_invalid_x": lambda: (_get("sbi.utils.sbiutils.handle_invalid_x"), (R(6, 3),)),
    "check_tarp": lambda: (_get("sbi.diagnostics.tarp.check_tarp"), (torch.linspace(0, 1, 9), torch.linspace(0, 1, 9))),
    "gaussian_kde": lambda: (_get("sbi.utils.torchutils.gaussian_kde_log_eval"), (R(8, 2), R(8, 2))),
    "compute_corrcoeff": lambda: (_get("sbi.utils.conditional_density_utils.compute_corrcoeff"), (torch.rand(6, 6), torch.tensor([[-1.0, 1.0], [-1.0, 1.0]]))),
    "MDN.mixture": lambda: (_sbi("mdn.build_mdn", hidden_features=8).get_uncorrected_mog, (R(2, 4),)),
})  # fmt: skip


def _metric(path: str, inputs: tuple, *args: object, **kwargs: object) -> tuple:
    metric = _at(f"torch_uncertainty.metrics.{path}", *args, **kwargs)

    def run(*values: torch.Tensor) -> object:
        metric.update(*values)
        return metric.compute()

    return run, inputs


def _probs(*shape: int) -> torch.Tensor:
    return R(*shape).softmax(-1)


def _labels() -> torch.Tensor:
    return torch.randint(0, 3, (12,))


_TU = "torch_uncertainty"
each(_TU, {
    "BrierScore": lambda: _metric("BrierScore", (_probs(12, 3), _labels()), num_classes=3),
    "CategoricalNLL": lambda: _metric("CategoricalNLL", (_probs(12, 3), _labels())),
    "CoverageRate": lambda: _metric("classification.CoverageRate", (_probs(12, 3).round().bool(), _labels()), num_classes=3),
    "Disagreement": lambda: _metric("Disagreement", (_probs(12, 4, 3),)),
    "Entropy": lambda: _metric("Entropy", (_probs(12, 3),)),
    "FPR95": lambda: _metric("FPR95", (torch.rand(12), torch.tensor([0, 1] * 6)), pos_label=1),
    "MutualInformation": lambda: _metric("MutualInformation", (_probs(12, 4, 3),)),
    "VariationRatio": lambda: _metric("VariationRatio", (_probs(12, 4, 3),)),
    "AURC": lambda: _metric("AURC", (_probs(12, 3), _labels())),
    "AUGRC": lambda: _metric("AUGRC", (_probs(12, 3), _labels())),
    "CovAt5Risk": lambda: _metric("CovAt5Risk", (_probs(12, 3), _labels())),
    "RiskAt80Cov": lambda: _metric("RiskAt80Cov", (_probs(12, 3), _labels())),
    "AUSE": lambda: _metric("AUSE", (torch.rand(12), torch.rand(12))),
    "CalibrationError": lambda: _metric("CalibrationError", (_probs(12, 3), _labels()), task="multiclass", num_classes=3),
    "AdaptiveCalibrationError": lambda: _metric("AdaptiveCalibrationError", (_probs(12, 3), _labels()), task="multiclass", num_classes=3),
    "SmoothCalibrationError": lambda: _metric("classification.calibration.smooth_calibration_error.SmoothCalibrationError", (torch.rand(12), torch.tensor([0, 1] * 6))),
    "ClasswiseCalibrationError": lambda: _metric("classification.calibration.classwise_calibration_error.ClasswiseCalibrationError", (_probs(12, 3), _labels()), num_classes=3),
    "SILog": lambda: _metric("SILog", (torch.rand(12), torch.rand(12))),
    "ThresholdAccuracy": lambda: _metric("ThresholdAccuracy", (torch.rand(12), torch.rand(12)), power=1),
    "IntervalScore": lambda: _metric("regression.interval.IntervalScore", (torch.rand(12), torch.rand(12) + 1, torch.rand(12)), coverage=0.9),
    "DECLoss": lambda: (_at("torch_uncertainty.losses.DECLoss", annealing_step=5, reg_weight=None), (torch.rand(12, 3), _labels(), 3)),
    "ConfidencePenaltyLoss": lambda: (_at("torch_uncertainty.losses.ConfidencePenaltyLoss"), (R(12, 3), _labels())),
    "ConflictualLoss": lambda: (_at("torch_uncertainty.losses.ConflictualLoss"), (R(12, 3), _labels())),
    "FocalLoss": lambda: (_at("torch_uncertainty.losses.FocalLoss", gamma=2.0), (R(12, 3), _labels())),
    "BetaNLL": lambda: (_at("torch_uncertainty.losses.BetaNLL"), (R(12), R(12), torch.rand(12) + 0.1)),
    "MixupMPLoss": lambda: (_at("torch_uncertainty.losses.MixupMPLoss"), (R(12, 3), R(12, 3).softmax(-1))),
    "PackedLinear": lambda: (_at("torch_uncertainty.layers.PackedLinear", 8, 8, alpha=2, num_estimators=4), (R(5, 16),)),
    "PackedConv2d": lambda: (_at("torch_uncertainty.layers.PackedConv2d", 8, 8, 3, alpha=2, num_estimators=4), (R(2, 16, 8, 8),)),
    "PackedAttention": lambda: (_at("torch_uncertainty.layers.PackedMultiheadAttention", 16, 4, alpha=2, num_estimators=2, batch_first=True), (R(2, 5, 32), R(2, 5, 32), R(2, 5, 32))),
    "BatchLinear": lambda: (_at("torch_uncertainty.layers.BatchLinear", 4, 3, num_estimators=2), (R(6, 4),)),
    "MaskedLinear": lambda: (_at("torch_uncertainty.layers.MaskedLinear", 16, 6, num_estimators=2, scale=2.0), (R(6, 16),)),
    "BayesLinear": lambda: (_at("torch_uncertainty.layers.BayesLinear", 4, 3), (R(6, 4),)),
    "BayesConv2d": lambda: (_at("torch_uncertainty.layers.BayesConv2d", 3, 4, 3), (R(2, 3, 8, 8),)),
    "LPBNNLinear": lambda: (_at("torch_uncertainty.layers.bayesian.lpbnn.LPBNNLinear", 4, 3, num_estimators=2), (R(6, 4),)),
    "FilterResponseNorm2d": lambda: (_at("torch_uncertainty.layers.FilterResponseNorm2d", 3), (R(2, 3, 4, 4),)),
    "MCBatchNorm2d": lambda: (_at("torch_uncertainty.layers.mc_batch_norm.MCBatchNorm2d", 3, num_estimators=2), (R(2, 3, 4, 4),)),
    "NormalLinear": lambda: (_at("torch_uncertainty.layers.distributions.NormalLinear", torch.nn.Linear, event_dim=2, in_features=4), (R(6, 4),)),
    "ELBOLoss": lambda: (_at("torch_uncertainty.losses.ELBOLoss", torch.nn.Sequential(_at("torch_uncertainty.layers.BayesLinear", 4, 3)), torch.nn.CrossEntropyLoss(), 0.1, 2), (R(12, 4), _labels())),
    "MIMOBatchFormat": lambda: (_at("torch_uncertainty.transforms.MIMOBatchFormat", 2, rho=0.5), ((R(4, 3, 4, 4), torch.tensor([0, 1, 2, 0])),)),
    "Mixup": lambda: (_at("torch_uncertainty.transforms.Mixup", alpha=1.0, num_classes=3), (R(4, 3, 4, 4), torch.tensor([0, 1, 2, 0]))),
    "RegMixup": lambda: (_at("torch_uncertainty.transforms.RegMixup", alpha=1.0, num_classes=3), (R(4, 3, 4, 4), torch.tensor([0, 1, 2, 0]))),
    "WarpingMixup": lambda: (_at("torch_uncertainty.transforms.WarpingMixup", num_classes=3), (R(4, 3, 4, 4), torch.tensor([0, 1, 2, 0]), R(4, 5))),
    "Cutout": lambda: (_at("torch_uncertainty.transforms.Cutout", 2), (torch.rand(3, 8, 8),)),
})  # fmt: skip
